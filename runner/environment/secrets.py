"""Keep passwords, tokens and keys out of what is stored and shown."""

import re

HIDDEN = "(hidden)"

_SECRET_NAME = re.compile(
    r"(?i)token|passw(?:or)?d|passphrase|secret|credential|api_?key|(?:^|[_.-])(?:key|pass|pwd|pat|auth|cookie)s?(?:[_.-]|$)"
)
_PASSWORD_IN_ADDRESS = re.compile(r"(?<=://)[^/\s]+(?=@)")
_SECRET_IN_QUERY = re.compile(r"(?i)([?&][^=&\s]*(?:token|passw|secret|key|auth|signature)[^=&\s]*=)[^&\s]+")


def without_secret(name: str, value: str) -> str:
    """Return the value, or a placeholder where the name says that it is a secret; passwords in addresses go too.

    The placeholder says nothing about the value, not even a hash: short secrets can be guessed from one.
    """
    if not value:
        return value
    return HIDDEN if _SECRET_NAME.search(name) else without_password(value)


def without_password(text: str) -> str:
    """Return text in which user names, passwords and tokens in addresses are hidden."""
    return _SECRET_IN_QUERY.sub(rf"\1{HIDDEN}", _PASSWORD_IN_ADDRESS.sub(HIDDEN, text))
