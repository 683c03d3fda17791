"""Reads and verifies the tokens that callers present.

A token is ``fw_ID_SECRET``: the id is used to look it up, and the secret proves it. The service stores only the SHA-256
of the secret; a slow hash would add nothing, because nobody can guess 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

PREFIX = "fw"
"""A prefix by which scanners find tokens that leaked into repositories and logs."""
DEFAULT_TOKEN_DAYS = 90
"""The lifetime of a token for which no other lifetime is chosen."""
_DIGEST_OF_NOBODY = hashlib.sha256(b"nobody").hexdigest()
_TOKEN_TEXT = re.compile(rf"{PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")


@dataclass(frozen=True, slots=True)
class PresentedToken:
    """A token as a caller presents it."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        """The token as text."""
        return f"{PREFIX}_{self.id}_{self.secret}"

    @property
    def digest(self) -> str:
        """The SHA-256 of the secret, which the service stores."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def matches_digest(self, digest: str) -> bool:
        """Return whether the secret matches a stored digest, in constant time."""
        return hmac.compare_digest(self.digest, digest)


def is_proven(presented_token: PresentedToken | None, digest: str | None) -> bool:
    """Return whether a token matches a stored digest; it takes equally long if the token or the digest is missing."""
    token = presented_token or PresentedToken("", "")
    return token.matches_digest(digest or _DIGEST_OF_NOBODY) and presented_token is not None and digest is not None


def redact_tokens(text: str) -> str:
    """Return a text without the secrets of the tokens in it."""
    return _TOKEN_TEXT.sub(rf"{PREFIX}_\1_…", text)


def parse_token(text: str) -> PresentedToken | None:
    """Parse a token; None if the text is not a token."""
    match = _TOKEN_TEXT.fullmatch(text)
    return PresentedToken(match[1], match[2]) if match else None
