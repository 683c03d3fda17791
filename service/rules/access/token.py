"""Tokens: what a caller shows, and what the service keeps of it. Pure.

``fw_ID_SECRET``: the id finds the token, the secret proves it. The service keeps the secret's SHA-256 alone: a slow
hash would add nothing, since nobody guesses 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

PREFIX = "fw"
"""Lets scanners of repositories and logs find a token that got there."""
_TEXT = re.compile(rf"{PREFIX}_([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")


@dataclass(frozen=True, slots=True)
class PresentedToken:
    """A token as a caller shows it."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        """The token, written out."""
        return f"{PREFIX}_{self.id}_{self.secret}"

    @property
    def digest(self) -> str:
        """What the service keeps of the secret."""
        return hashlib.sha256(self.secret.encode()).hexdigest()

    def proves(self, digest: str) -> bool:
        """Whether the secret is the one of which this was kept; takes as long whatever the answer is."""
        return hmac.compare_digest(self.digest, digest)


def parse_token(text: str) -> PresentedToken | None:
    """Return the token that a text is, if it is one."""
    found = _TEXT.fullmatch(text)
    return PresentedToken(found[1], found[2]) if found else None
