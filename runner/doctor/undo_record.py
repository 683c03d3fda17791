"""Stores the settings from before the first fix, in a folder that may belong to an ordinary user.

Root reads and writes the file. Content that another user may have written is therefore not trusted: links are not
followed, the caller must own the file, and only settings that a fix may change are restored.
"""

import fnmatch
import json
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.errors import FaultwatchError
from runner.system.regular_file import open_regular

_MAX_BYTES = 1 << 20
_VALUE = re.compile(r"[A-Za-z0-9_.,:-]{1,4096}")
_MAX_QUOTED_CHARACTERS = 40


def read_record(file: Path) -> dict[str, Any]:
    """Read the record of values to restore.

    Raises
    ------
    FileNotFoundError
        There is no file.
    FaultwatchError
        Somebody else wrote it.
    OSError, ValueError
        It cannot be read.
    """
    with open_regular(file, may_be_link=False) as stream:
        if os.fstat(stream.fileno()).st_uid != os.geteuid():
            raise FaultwatchError(f"{file} was not written by this user", "remove it if you do not know who created it")
        document = json.loads(stream.read(_MAX_BYTES))
    if not isinstance(document, dict):
        raise ValueError("it does not contain a JSON object")
    return document


def write_record(file: Path, document: Mapping[str, object]) -> None:
    """Write the record atomically: after a crash, the previous record is intact."""
    temporary_file = file.with_suffix(".partial")
    with suppress(FileNotFoundError):
        temporary_file.unlink()
    descriptor = os.open(temporary_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(document, stream, indent=2)
        stream.flush()
        os.fsync(stream.fileno())
    temporary_file.replace(file)


def select_restorable_settings(settings: Mapping[object, object], tunable: Collection[str]) -> dict[str, str]:
    """Return the settings of a record, after checking that a fix may change each of them and that each value is plain.

    Parameters
    ----------
    tunable
        Patterns of the files that a fix may change; ``*`` stands for a part of one name.

    Raises
    ------
    ValueError
        The record contains another setting, or a value that no setting has.
    """
    for name, value in settings.items():
        if not _is_tunable(str(name), tunable):
            raise ValueError(f"no fix changes {name}")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise ValueError(f"{name} never had the value {str(value)[:_MAX_QUOTED_CHARACTERS]!r}")
    return {str(name): str(value) for name, value in settings.items()}


def _is_tunable(name: str, patterns: Collection[str]) -> bool:
    """Return whether a name is that of a file that fixes may change."""
    parts = name.split("/")
    pattern_parts = (pattern.split("/") for pattern in patterns)
    return ".." not in parts and any(
        len(parts) == len(names) and all(map(fnmatch.fnmatchcase, parts, names)) for names in pattern_parts
    )
