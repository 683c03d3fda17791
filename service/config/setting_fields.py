"""Declares settings as fields. A field alone defines a setting: its variable, type, default and meaning.

The fields are used to read the settings (:mod:`service.config.settings_from_environment`), and by
``faultwatch-service config``, the page of settings, the reference and error messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.fields import FieldInfo
from pydantic_settings import NoDecode

from service.errors import ServiceError

SECRET = "set, and never shown"  # noqa: S105 - shown in place of one


@dataclass(frozen=True, slots=True)
class SecretFile:
    """Marks a setting whose variable names the file that contains its value.

    Attributes
    ----------
    what
        What the file contains, for messages.
    min_length
        The number of characters below which the value could be guessed; 0 for no minimum.
    is_token
        Whether the value is a token for a header, and therefore a single word.
    is_optional
        Whether the variable may be unset.
    """

    what: str = ""
    min_length: int = 0
    is_token: bool = False
    is_optional: bool = False

    def read(self, file: Path | None, variable: str) -> str | None:
        """Return the stripped content of the file that a variable names; None if the optional variable is unset.

        Raises
        ------
        ServiceError
            If a required variable is unset, or the file cannot be read, or its content is not valid.
        """
        if file is None and self.is_optional:
            return None
        secret = _read_file(file, variable)
        if self.is_token and not (secret and secret.isascii() and secret.isprintable()):
            raise ServiceError(
                "The file is empty or contains characters that a token or secret cannot have",
                variable,
                "Write only the token or secret to the file, on one line.",
            )
        if len(secret.encode()) < self.min_length:
            remedy = f"Use at least {self.min_length} characters: `openssl rand -hex 32` prints a suitable value."
            raise ServiceError(f"{self.what} is too short", variable, remedy)
        return secret


def _read_file(file: Path | None, variable: str) -> str:
    """Return the content of a file that a setting names."""
    reason = "it is not set"
    if file is not None:
        try:
            return expand_user(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            reason = error.strerror or ""
        except UnicodeDecodeError:
            reason = "it is not text"
        except ValueError as error:
            reason = str(error)
    remedy = "Set the variable to the path of the file."
    raise ServiceError("The file that a setting names cannot be read", f"{variable}: {reason}", remedy)


def _split_words(text: object) -> object:
    return tuple(text.replace(",", " ").split()) if isinstance(text, str) else text


def _parse_yes_or_no(text: object) -> object:
    """Return True for ``yes`` and False for ``no``."""
    if isinstance(text, str):
        if text not in {"yes", "no"}:
            raise ValueError("write yes or no")
        return text == "yes"
    return text


def _parse_seconds(text: object) -> object:
    """Return a number of seconds as a duration."""
    try:
        return timedelta(seconds=int(text)) if isinstance(text, str) else text
    except OverflowError as error:
        raise ValueError("too many seconds") from error


def expand_user(path: Path) -> Path:
    """Return a path with the home folder in place of ``~``; raise ValueError if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError("there is no such user") from error


def _check_address(address: str) -> str:
    """Return the address of a server without a trailing slash; raise if it is not valid, or contains a password."""
    parts = urlsplit(address)
    if address and not (
        parts.scheme in {"http", "https"}
        and parts.hostname
        and parts.port != 0
        and not (parts.username or parts.password or parts.query or parts.fragment)
        and address.isprintable()  # urlsplit leaves out line ends, such as those of a file with variables
        and " " not in address
    ):
        raise ValueError("not an address")
    return address.rstrip("/")


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_words)]
"""Words that are separated by commas or spaces."""
YesOrNo = Annotated[bool, BeforeValidator(_parse_yes_or_no)]
Seconds = Annotated[timedelta, BeforeValidator(_parse_seconds)]
"""A whole number of seconds."""
BaseAddress = Annotated[str, AfterValidator(_check_address)]
"""The address of a server, to which paths are appended."""
ADDRESS_UNIT = "`http://HOST` or `https://HOST`, without a user or a password"
"""The valid values of a setting of this type, in words."""


def declare_setting(
    variable: str,
    title: str,
    default: Any = ...,
    *,
    default_text: str = "",
    unit: str = "",
    unset_text: str = "none",
    format_shown: Callable[[Any], str] | None = None,
    default_factory: Callable[..., Any] | None = None,
    repr: bool = True,
) -> Any:
    """Declare a setting as a field. The docstring of the field is its meaning: one or two sentences, in Markdown.

    Parameters
    ----------
    variable
        The environment variable of the setting.
    title
        A title of one or two words, for the page of settings.
    default, default_factory
        The value if the variable is not set, or a function that returns it; without either, the variable is required.
    default_text
        The default in words, if it is not a fixed value.
    unit
        The unit of the value, and its valid values; empty for any text.
    unset_text
        The text that is shown if the value is None or empty.
    format_shown
        A function that returns the text to show instead of the value; it takes all settings of the class.
    repr
        Whether the ``repr`` of the settings contains the value; False for a secret.
    """
    extra: dict[str, Any] = {
        "default_text": default_text,
        "unit": unit,
        "unset_text": unset_text,
        "format_shown": format_shown,
    }
    value: dict[str, Any] = {"default": default} if default_factory is None else {"default_factory": default_factory}
    return Field(validation_alias=variable, title=title, json_schema_extra=extra, repr=repr, **value)


def find_secret_file(field: FieldInfo) -> SecretFile | None:
    """Return the mark of a field whose variable names a file with a secret; None for other fields."""
    return next((mark for mark in field.metadata if isinstance(mark, SecretFile)), None)
