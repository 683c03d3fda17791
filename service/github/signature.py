"""Checks the signature of GitHub's webhooks. Pure."""

from __future__ import annotations

import hashlib
import hmac


def signed(secret: bytes, body: bytes) -> str:
    """Return the signature of a body."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def is_signed(secret: bytes, body: bytes, signature: str) -> bool:
    """Return whether a signature is that of a body, in constant time."""
    return hmac.compare_digest(signature.encode(), signed(secret, body).encode())
