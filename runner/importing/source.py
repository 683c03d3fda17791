"""The text of one file to import, and callables that give access to the files and folders beside it."""

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
"""The beginning of the year 10,000, in milliseconds since 1970: Python's dates end before it."""
MAX_VALUE = 2**64
"""The exclusive upper bound of the values in a report. Comparing with ``<`` excludes NaN too."""
_MAX_MESSAGE_CHARACTERS = 500


class Source(Struct, frozen=True, dict=True):
    """One file to import.

    Attributes
    ----------
    name
        The file's name, or its path below the folder that is imported.
    modified_at
        The modification time of the file.
    folders
        The names of the folders above the file, the innermost first.
    list_sibling_folders
        Returns the names of the folders beside the innermost folder, including it.
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
    """Base class of the models of other tools' files: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


def parse_json(text: str) -> Any:
    """Return a document, or None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: too deeply nested
        return None


def check_document(model: type[T] | TypeAdapter[T], document: Any, name: str, expected_kind: str) -> T:
    """Return a document as an instance of a model.

    Parameters
    ----------
    name
        The name of the document, for messages.
    expected_kind
        What the document should be, for messages, such as ``an asv file``.

    Raises
    ------
    FaultwatchError
        A field is missing or has another type; the message names the first such field.
    """
    adapter: TypeAdapter[T] = model if isinstance(model, TypeAdapter) else TypeAdapter(model)
    try:
        return adapter.validate_python(document)
    except ValidationError as error:
        raise FaultwatchError(f"{name} is not {expected_kind}: {describe_first_mistake(error)}") from None


def describe_first_mistake(error: ValidationError) -> str:
    """Return the first field that a model rejects, and the reason, as one line."""
    mistake = error.errors()[0]
    return f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"


def shorten_message(text: str) -> str:
    """Return a message as one line of at most 500 characters, because it may quote a file."""
    return " ".join(text.split())[:_MAX_MESSAGE_CHARACTERS]
