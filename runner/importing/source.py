"""The text of one file to import, and access to the files and folders beside it. Reads nothing itself."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from runner.errors import FaultwatchError

T = TypeVar("T")
MAX_MILLISECONDS = 253_402_300_800_000
"""The beginning of the year 10,000, in milliseconds since 1970: Python has no such date."""
MAX_VALUE = 2**64
"""The bound of the values that a report may contain; NaN is not below it either."""
_MAX_MESSAGE_CHARACTERS = 500


class Source(Struct, frozen=True, dict=True):
    """One file.

    Attributes
    ----------
    name
        The file's name, or its path below the folder that is imported.
    modified_at
        The modification time of the file.
    folders
        The names of the folders that it lies in, the nearest first.
    list_sibling_folders
        Returns the names of the folders beside its own.
    read_neighbour
        Returns the text of a file by its path relative to this file's folder, or None if there is none.
    """

    text: str
    name: str
    modified_at: datetime
    folders: tuple[str, ...] = ()
    list_sibling_folders: Callable[[], tuple[str, ...]] = field(default=lambda: ())
    read_neighbour: Callable[[str], str | None] = field(default=lambda _: None)

    @cached_property
    def json(self) -> Any:
        """The document, or None if the text is not JSON."""
        return parse_json(self.text)

    def has_keys(self, *keys: str) -> bool:
        """Return whether the document is an object with these keys."""
        return isinstance(self.json, dict) and all(key in self.json for key in keys)


class Part(BaseModel):
    """Base of the models of foreign files: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


def parse_json(text: str) -> Any:
    """Return a document, or None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def check_document(model: type[T] | TypeAdapter[T], document: Any, name: str, expected_kind: str) -> T:
    """Return a document as a model.

    Parameters
    ----------
    name, expected_kind
        What the document is called in a message, and what it should be, as in ``an asv file``.

    Raises
    ------
    FaultwatchError
        A field is missing or has another type; the message names the first.
    """
    adapter: TypeAdapter[T] = model if isinstance(model, TypeAdapter) else TypeAdapter(model)
    try:
        return adapter.validate_python(document)
    except ValidationError as error:
        raise FaultwatchError(f"{name} is not {expected_kind}: {describe_first_mistake(error)}") from None


def describe_first_mistake(error: ValidationError) -> str:
    """Return the first field that a model refuses, and the reason, in one line."""
    mistake = error.errors()[0]
    return f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"


def shorten_message(text: str) -> str:
    """Return a message without the line breaks of the file that it quotes, and of at most 500 characters."""
    return " ".join(text.split())[:_MAX_MESSAGE_CHARACTERS]
