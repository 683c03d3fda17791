"""Checks the signatures of webhooks: HMAC-SHA256 of the body, in hexadecimal digits."""

from __future__ import annotations

import hashlib
import hmac


def sign_body(secret: bytes, body: bytes, prefix: str = "sha256=") -> str:
    """Return the signature of a body, as GitHub writes it; Forgejo writes it without the prefix."""
    return f"{prefix}{hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def is_signed(secret: bytes, body: bytes, signature: str, prefix: str = "sha256=") -> bool:
    """Return whether a signature is that of a body, in constant time."""
    return is_equal(sign_body(secret, body, prefix).encode(), signature)


def is_equal(secret: bytes, header: str) -> bool:
    """Return whether a header has a secret, in constant time."""
    return hmac.compare_digest(secret, header.encode(errors="surrogateescape"))
