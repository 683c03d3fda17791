"""Removes passwords, tokens and keys from text before it is stored or shown."""

import re
from collections.abc import Mapping

PLACEHOLDER = "(hidden)"
_MIN_SECRET_CHARACTERS = 6
"""The length of the shortest secret that is removed from a program's output: shorter values can occur in any text."""

_SECRET_NAME = re.compile(
    r"(?i)token|passw(?:or)?d|passphrase|secret|credential|api_?key"
    r"|(?!pwd$)(?:^|[_.-])(?:key|pass|pwd|pat|auth|cookie)s?(?:[_.-]|$)"
)
"""Names of variables with secrets. ``PWD`` itself is the working directory, which many messages contain."""
_PASSWORD_IN_ADDRESS = re.compile(r"(?<=://)[^/\s]+(?=@)")
_SECRET_IN_QUERY = re.compile(r"(?i)([?&](?=[^=&?\s]*(?:token|passw|secret|key|auth|signature))[^=&?\s]+=)[^&\s]+")
"""A name that indicates a secret, with its value. A name ends at the next delimiter, and its words are only looked up,
so the search takes a time in proportion to the text, whatever a program prints."""


def hide_secret(name: str, value: str) -> str:
    """Return the value, or a placeholder if the name indicates a secret; passwords in addresses are removed too.

    The placeholder is not a hash, because a short secret can be guessed from its hash.
    """
    if not value:
        return value
    return PLACEHOLDER if _SECRET_NAME.search(name) else hide_password(value)


def hide_password(text: str) -> str:
    """Return the text with user names, passwords and tokens in addresses hidden."""
    return _SECRET_IN_QUERY.sub(rf"\1{PLACEHOLDER}", _PASSWORD_IN_ADDRESS.sub(PLACEHOLDER, text))


def hide_secrets(text: str, variables: Mapping[str, str]) -> str:
    """Return a program's output without the values of its secret variables: many programs print their variables."""
    secrets = [
        value for name, value in variables.items() if _SECRET_NAME.search(name) and len(value) >= _MIN_SECRET_CHARACTERS
    ]
    # The longest first, because one secret can be a part of another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, PLACEHOLDER)
    return hide_password(text)
