"""Reads settings from environment variables: the base class of all settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from runner.contract.docstrings import collect_field_docstrings
from service.config.setting_fields import SECRET, find_secret_file
from service.errors import ServiceError


@dataclass(frozen=True, slots=True)
class Variable:
    """The description of an environment variable, from its field.

    Attributes
    ----------
    name
        The name of the variable.
    title
        A title of one or two words.
    meaning
        The meaning in one or two sentences, in Markdown.
    default
        The default, in Markdown.
    unit
        The unit of the value, and its valid values; empty for any text.
    """

    name: str
    title: str
    meaning: str
    default: str
    unit: str


class Settings(BaseSettings):
    """Settings of one purpose, passed as arguments or read by :meth:`read`, but never read implicitly."""

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
        """Use only arguments as a source of values."""
        return (init_settings,)

    @classmethod
    def read(cls, environment: Mapping[str, str], **other_fields: Any) -> Self:
        """Read the settings from environment variables. An empty variable counts as unset.

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
            cls(**values, **other_fields)  # Report an invalid value before an unreadable file.
        except ValidationError as error:
            name = str(error.errors(include_url=False)[0]["loc"][0])
            unit = next(variable.unit for variable in cls.list_variables() if variable.name == name)
            valid = unit.replace("`", "") or "a valid value"
            value = environment.get(name, "")
            prefix = name if "@" in value else f"{name}={value}"  # An address may contain a password.
            raise ServiceError("A setting is not valid", prefix, f"Set it to {valid}, or unset it.") from None
        return cls(**values | dict(cls._read_secrets(environment)), **other_fields)

    @classmethod
    def list_fields(cls) -> Iterator[tuple[str, FieldInfo]]:
        """Yield the fields that have a variable, with their names."""
        return ((name, field) for name, field in cls.model_fields.items() if field.validation_alias)

    @classmethod
    def list_variables(cls) -> Iterator[Variable]:
        """Yield the descriptions of the fields' variables."""
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
        """Yield the variables that name files with secrets, with the content of the file."""
        for _, field in cls.list_fields():
            file, variable = find_secret_file(field), str(field.validation_alias)
            if file is not None:
                path = environment.get(variable)
                yield variable, file.read(Path(path) if path else None, variable)

    def format_value(self, name: str) -> str:
        """Return the value of a field as text; instead of a secret, return a fixed text."""
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


class _Environment(EnvSettingsSource):
    """Reads the variables of a class of settings. Secrets are left empty, because their files are read later."""

    def __init__(self, settings: type[Settings], environment: Mapping[str, str]) -> None:
        super().__init__(settings, case_sensitive=True, env_ignore_empty=True)
        names = [variable.name for variable in settings.list_variables()]
        # Keep only these variables, because pydantic-settings would also read variables with the names of fields.
        self.env_vars = {name: environment[name] for name in names if environment.get(name)}

    def prepare_field_value(self, field_name: str, field: FieldInfo, value: Any, value_is_complex: bool) -> Any:
        """Return the value of a variable for validation; empty for a file with a secret, which is not read here."""
        if find_secret_file(field) is not None:
            return ""
        return super().prepare_field_value(field_name, field, value, value_is_complex)


def _format_text(value: object) -> str:
    """Return a value in the form in which a variable contains it; an empty text for None."""
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
