"""Keep passwords, tokens and keys out of what is stored and shown."""

import re
from collections.abc import Mapping

HIDDEN = "(hidden)"
_SHORTEST = 6
"""Characters of a value that is looked for in a program's output; shorter ones are found in anything."""

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


def without_secrets(text: str, variables: Mapping[str, str]) -> str:
    """Return what a program printed without the values of its secret variables: many print all that they were given."""
    # The longest first: one secret may be a part of another.
    for value in sorted(variables.values(), key=len, reverse=True):
        if len(value) >= _SHORTEST and any(_SECRET_NAME.search(name) for name in variables if variables[name] == value):
            text = text.replace(value, HIDDEN)
    return without_password(text)
