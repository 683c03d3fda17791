"""Checks that a forge has sent a webhook: GitHub and Forgejo sign the body, GitLab sends the secret itself.

A signature is the HMAC-SHA256 of the body, in hexadecimal digits. All comparisons take constant time.
"""

from __future__ import annotations

import hashlib
import hmac


def sign_body(secret: bytes, body: bytes, prefix: str = "sha256=") -> str:
    """Return the signature of a body in GitHub's format; Forgejo's has no prefix."""
    return f"{prefix}{hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def is_signed(secret: bytes, body: bytes, header: str, prefix: str = "sha256=") -> bool:
    """Return whether a header is the signature of a body."""
    return is_secret(sign_body(secret, body, prefix).encode(), header)


def is_secret(secret: bytes, header: str) -> bool:
    """Return whether a header is the secret itself."""
    return hmac.compare_digest(secret, header.encode(errors="surrogateescape"))
