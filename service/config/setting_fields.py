"""The base of all settings. A field is the only place of a setting: its variable, type, default and meaning.

Reading, ``faultwatch-service config``, the page of settings, the reference and the messages of errors use these fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from runner.contract.docstrings import collect_field_docstrings
from service.errors import ServiceError

SECRET = "set, and never shown"  # noqa: S105 - shown in place of one


@dataclass(frozen=True, slots=True)
class SecretFile:
    """Marks a setting whose variable names the file that holds its value.

    Attributes
    ----------
    what
        What the file holds, for messages.
    min_length
        Characters that it needs so that it is not guessed; 0 for any number.
    is_token
        Whether it is a word that is sent in a header.
    is_optional
        Whether the variable may be unset.
    """

    what: str = ""
    min_length: int = 0
    is_token: bool = False
    is_optional: bool = False

    def read(self, file: Path | None, variable: str) -> str | None:
        """Return the content of the file that a variable names, without white space around it.

        Raises
        ------
        ServiceError
            If no file is named, it cannot be read, or its content is not valid.
        """
        if file is None and self.is_optional:
            return None
        secret = _read_file(file, variable)
        if self.is_token and not (secret and secret.isascii() and secret.isprintable()):
            raise ServiceError(
                "The token file is empty or contains characters that a token cannot have",
                variable,
                "Write only the token to the file, on one line.",
            )
        if len(secret.encode()) < self.min_length:
            remedy = f"Use at least {self.min_length} characters: `openssl rand -hex 32` generates some."
            raise ServiceError(f"{self.what} is too short", variable, remedy)
        return secret


def _read_file(file: Path | None, variable: str) -> str:
    """Return the content of a file that a setting names."""
    reason = "it is not set"
    if file is not None:
        try:
            return file.expanduser().read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            reason = (error.strerror or "") if isinstance(error, OSError) else "it is not text"
    remedy = "Set the variable to the path of the file."
    raise ServiceError("A settings file cannot be read", f"{variable}: {reason}", remedy)


def _split_words(text: object) -> object:
    return tuple(text.replace(",", " ").split()) if isinstance(text, str) else text


def _parse_yes_or_no(text: object) -> object:
    """Return the truth value of ``yes`` or ``no``."""
    if isinstance(text, str):
        if text not in {"yes", "no"}:
            raise ValueError("write yes or no")
        return text == "yes"
    return text


def _parse_seconds(text: object) -> object:
    return timedelta(seconds=int(text)) if isinstance(text, str) else text


def _check_address(address: str) -> str:
    """Return the address of a server without a slash at its end; refuse other texts, and an address with a password."""
    parts = urlsplit(address)
    if address and not (
        parts.scheme in {"http", "https"}
        and parts.hostname
        and parts.port != 0
        and not (parts.username or parts.password or parts.query or parts.fragment)
    ):
        raise ValueError("not an address")
    return address.rstrip("/")


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_words)]
"""Separated by commas or spaces."""
YesOrNo = Annotated[bool, BeforeValidator(_parse_yes_or_no)]
Seconds = Annotated[timedelta, BeforeValidator(_parse_seconds)]
"""A whole number of seconds."""
BaseAddress = Annotated[str, AfterValidator(_check_address)]
"""An address to which paths are added."""
ADDRESS_UNIT = "`http://HOST` or `https://HOST`, without a user or a password"
"""The valid values of such a setting, in words."""


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
    """Declare a setting. Its docstring is its meaning: one or two sentences, in Markdown.

    Parameters
    ----------
    variable
        The environment variable that sets it.
    title
        A word or two for the page of settings.
    default, default_factory
        The value if the variable is not set, or what makes it; without both, the variable is required.
    default_text
        The default in words, where it is not a value.
    unit
        Unit of the value, and what it may be; empty for any text.
    unset_text
        Shown where the value is None or empty.
    format_shown
        Returns the text that is shown instead of the value of the field, given all settings of its class.
    repr
        Whether the text of all settings contains the value; False for a secret.
    """
    extra: dict[str, Any] = {
        "default_text": default_text,
        "unit": unit,
        "unset_text": unset_text,
        "format_shown": format_shown,
    }
    value: dict[str, Any] = {"default": default} if default_factory is None else {"default_factory": default_factory}
    return Field(validation_alias=variable, title=title, json_schema_extra=extra, repr=repr, **value)


@dataclass(frozen=True, slots=True)
class Variable:
    """What the fields say about an environment variable.

    Attributes
    ----------
    name
        Of the variable.
    title
        In a word or two.
    meaning
        One or two sentences, in Markdown.
    default
        What holds if the variable is not set, in Markdown.
    unit
        Unit of the value, and what it may be; empty for any text.
    """

    name: str
    title: str
    meaning: str
    default: str
    unit: str


class Settings(BaseSettings):
    """Settings of one purpose. They come from arguments or from :meth:`read`, never from the process by themselves."""

    model_config = SettingsConfigDict(
        case_sensitive=True,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
    )

    heading: ClassVar[str]
    """Title of the table of these settings."""
    guide: ClassVar[str]
    """The title of the guide that describes the settings."""
    disabled_text: ClassVar[str] = ""
    """The text that is shown if the settings are not set."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take arguments alone."""
        return (init_settings,)

    @classmethod
    def read(cls, environment: Mapping[str, str], **other_fields: Any) -> Self:
        """Read the variables. An empty variable counts as one that is not set.

        Parameters
        ----------
        other_fields
            Values of the fields that have no variable.

        Raises
        ------
        ServiceError
            If a value is not valid. The message names the variable, and contains no value that may be a secret.
        """
        values = _Environment(cls, environment)()
        try:
            cls(**values, **other_fields)  # a wrong value is reported before a file that cannot be read
        except ValidationError as error:
            name = str(error.errors(include_url=False)[0]["loc"][0])
            unit = next(variable.unit for variable in cls.list_variables() if variable.name == name)
            valid = unit.replace("`", "") or "a valid value"
            value = environment.get(name, "")
            prefix = name if "@" in value else f"{name}={value}"  # an address may have a password
            raise ServiceError("A setting is not valid", prefix, f"Set it to {valid}, or unset it.") from None
        return cls(**values | dict(cls._read_secrets(environment)), **other_fields)

    @classmethod
    def list_fields(cls) -> Iterator[tuple[str, FieldInfo]]:
        """Return the fields that have a variable, with their names."""
        return ((name, field) for name, field in cls.model_fields.items() if field.validation_alias)

    @classmethod
    def list_variables(cls) -> Iterator[Variable]:
        """Return the variables of the fields, with their titles, meanings and defaults."""
        meanings = collect_field_docstrings(cls)
        for name, field in cls.list_fields():
            extra = _get_extra(field)
            yield Variable(
                str(field.validation_alias),
                field.title or "",
                meanings.get(name, ""),
                extra["default_text"] or f"`{_format_text(field.default)}`",
                extra["unit"],
            )

    @classmethod
    def _read_secrets(cls, environment: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
        """Yield the variables that name files with secrets, with their content."""
        for _, field in cls.list_fields():
            file, variable = find_secret_file(field), str(field.validation_alias)
            if file is not None:
                path = environment.get(variable)
                yield variable, file.read(Path(path) if path else None, variable)

    def format_value(self, name: str) -> str:
        """Return the value of a field as text; a secret is never shown."""
        field, value = type(self).model_fields[name], getattr(self, name)
        extra = _get_extra(field)
        if extra["format_shown"] is not None:
            return str(extra["format_shown"](self))
        if find_secret_file(field) is not None:
            return SECRET
        return _format_text(value) or str(extra["unset_text"])

    def has_default(self, name: str) -> bool:
        """Return whether a field has its default value."""
        default = type(self).model_fields[name].get_default(call_default_factory=True, validated_data=self.__dict__)
        return bool(getattr(self, name) == default)


def find_secret_file(field: FieldInfo) -> SecretFile | None:
    """Return the secret file of a field whose variable names one; None for another field."""
    return next((mark for mark in field.metadata if isinstance(mark, SecretFile)), None)


class _Environment(EnvSettingsSource):
    """Reads the variables of a class of settings. Secrets are empty until their files are read."""

    def __init__(self, settings: type[Settings], environment: Mapping[str, str]) -> None:
        super().__init__(settings, case_sensitive=True, env_ignore_empty=True)
        names = [variable.name for variable in settings.list_variables()]
        # Only these: pydantic-settings would also read variables with the names of fields.
        self.env_vars = {name: environment[name] for name in names if environment.get(name)}

    def prepare_field_value(self, field_name: str, field: FieldInfo, value: Any, value_is_complex: bool) -> Any:
        if find_secret_file(field) is not None:
            return ""
        return super().prepare_field_value(field_name, field, value, value_is_complex)


def _format_text(value: object) -> str:
    """Return a value as it is written in a variable; an empty text for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.0f}"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _get_extra(field: FieldInfo) -> dict[str, Any]:
    assert isinstance(field.json_schema_extra, dict)
    return field.json_schema_extra
