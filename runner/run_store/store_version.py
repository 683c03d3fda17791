"""The version of a store, in the file that marks a folder or a branch as a store; a newer version is refused."""

import json

from runner.contract.report import SCHEMA_VERSION
from runner.errors import FaultwatchError

MARKER = "faultwatch-store.json"
"""The file that marks a folder or a branch as a store, and contains the version of the store."""
_VERSION_KEY = "version"
STORE_VERSION = SCHEMA_VERSION
"""The version of a store, which is that of the reports in it."""


def format_marker() -> bytes:
    """Return the content of the marker file of a store."""
    return json.dumps({_VERSION_KEY: STORE_VERSION}).encode() + b"\n"


def check_marker(content: bytes, store_description: str) -> None:
    """Check the content of a store's marker file.

    Raises
    ------
    FaultwatchError
        A newer version wrote the store, or the marker is damaged.
    """
    try:
        version = json.loads(content)[_VERSION_KEY]
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if type(version) is not int or version < 1:  # JSON's true is an int too
        raise FaultwatchError(
            f"{store_description}: {MARKER} is damaged",
            f"restore the file with this content: {format_marker().decode()}",
        )
    if version > STORE_VERSION:
        raise FaultwatchError(
            f"{store_description} was written by a newer Faultwatch: its format is {version}, and this version reads "
            f"formats up to {STORE_VERSION}",
            "install the version that wrote it",
        )
