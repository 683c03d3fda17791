"""Checks the signatures of webhooks: HMAC-SHA256 of the body, in hexadecimal digits."""

from __future__ import annotations

import hashlib
import hmac


def sign_body(secret: bytes, body: bytes, prefix: str = "sha256=") -> str:
    """Return the signature of a body in GitHub's format; Forgejo's has no prefix."""
    return f"{prefix}{hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def is_signed(secret: bytes, body: bytes, signature: str, prefix: str = "sha256=") -> bool:
    """Return whether a signature matches a body, compared in constant time."""
    return is_equal(sign_body(secret, body, prefix).encode(), signature)


def is_equal(secret: bytes, header: str) -> bool:
    """Return whether a header equals a secret, compared in constant time."""
    return hmac.compare_digest(secret, header.encode(errors="surrogateescape"))
