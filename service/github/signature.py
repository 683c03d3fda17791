"""How GitHub signs what it delivers. Pure."""

from __future__ import annotations

import hashlib
import hmac


def signed(secret: bytes, body: bytes) -> str:
    """Return the signature of a body."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"


def is_signed(secret: bytes, body: bytes, signature: str) -> bool:
    """Whether this is the signature of a body; takes as long whatever the answer is."""
    return hmac.compare_digest(signature.encode(), signed(secret, body).encode())
