"""Reads TOML into strict models, and describes a mistake in one line with the file, the key and a likely correction."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from runner.errors import FaultwatchError
from runner.system.regular_file import read_regular

MAX_BYTES = 256 * 1024
"""The largest size of a file in bytes. It is limited, because the file may come from a pull request."""
_MAX_NESTING = 100
"""How deep tables and lists may be nested: functions call themselves for each level."""
_TYPE_NAME = re.compile(r"(?:function-\w+|tuple)\[")
"""The last part of a location if a key allows several types: pydantic's name of the type that does not fit."""


class Table(BaseModel):
    """Base class of the tables in a file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def read_toml(file: Path, file_kind: str, remedy: str) -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    file_kind
        The kind of file, such as ``workload file``.
    remedy
        What to do if the file is missing.

    Raises
    ------
    FaultwatchError
        The file is missing, cannot be read or is not TOML.
    """
    try:
        content = tomllib.loads(read_regular(file, MAX_BYTES).decode("utf-8"))
    except FileNotFoundError:
        raise FaultwatchError(f"{file}: no such {file_kind}", remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise FaultwatchError(
            f"{file}: cannot be read: {error}", "make it readable by this user, and save it as UTF-8 text"
        ) from None
    except (ValueError, RecursionError) as error:  # ValueError includes a number with thousands of digits.
        raise FaultwatchError(f"{file}: not valid TOML: {error}") from None
    if _measure_nesting(content) > _MAX_NESTING:
        raise FaultwatchError(f"{file}: tables or lists are nested more than {_MAX_NESTING} levels deep")
    location = next(_find_null_bytes(content), None)
    if location is not None:
        raise FaultwatchError(
            f"{file}: {_format_location(location)}: contains a null byte, which is not allowed in any value"
        )
    return content


def _measure_nesting(content: dict[str, Any]) -> int:
    """Return how deep the tables and lists of a document are nested, without recursion."""
    depth = 0
    level: list[Any] = [content]
    while level:
        depth += 1
        items = (item for value in level for item in (value.values() if isinstance(value, dict) else value))
        level = [item for item in items if isinstance(item, dict | list)]
    return depth


def _find_null_bytes(value: Any, location: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the locations of the texts that contain a null byte."""
    match value:
        case str() if "\0" in value:
            yield location
        case dict():
            for key, item in value.items():
                yield from _find_null_bytes(key, (*location, repr(key)))
                yield from _find_null_bytes(item, (*location, key))
        case list():
            for item in value:
                yield from _find_null_bytes(item, location)


def _format_location(key_path: Sequence[str | int]) -> str:
    """Return the location of a key as its table and its name."""
    *tables, key = (str(part) for part in key_path)
    return f"[{'.'.join(tables)}] {key}" if tables else key


def describe_first_mistake(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the most specific mistake, with its location in the file."""
    # If a key is mistyped, the correct key is missing too; report the mistyped one.
    mistake = min(error.errors(), key=lambda entry: entry["type"] != "extra_forbidden")
    key_path = mistake["loc"]
    if key_path and _TYPE_NAME.match(str(key_path[-1])):
        key_path = key_path[:-1]
    key = str(key_path[-1]) if key_path else ""
    location = _format_location(key_path) if key_path else ""
    if mistake["type"] == "extra_forbidden":
        keys = _list_keys(key_path[:-1], model)
        similar_keys = difflib.get_close_matches(key, keys, n=1)
        hint = f"did you mean {similar_keys[0]!r}?" if similar_keys else f"known keys: {', '.join(sorted(keys))}"
        return f"{location}: unknown key; {hint}"
    if mistake["type"] == "missing":
        return f"{location}: this key is required"
    message = mistake["msg"].removeprefix("Value error, ")
    # The message of a mistake that concerns several tables contains their names.
    return f"{location}: {message}" if location else message


def _list_keys(table_path: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """Return the allowed keys of a table in the file; empty if all keys are allowed."""
    current_model: type[BaseModel] | None = model
    for part in table_path:
        # A part that is not a field is the name or the number of a table within a table of tables.
        if current_model is not None and part in current_model.model_fields:
            current_model = _find_model(current_model.model_fields[str(part)].annotation)
    if current_model is None:
        return []
    return [name for name, field in current_model.model_fields.items() if not field.exclude]


def _find_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model in the type of a field, such as ``X`` in ``X | None`` or ``dict[str, X]``; None if none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = map(_find_model, get_args(annotation))
    return next((model for model in models if model), None)
