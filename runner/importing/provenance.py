"""Determines the revision and the time of a result from its file, the command line, or the file's name."""

import re
from datetime import datetime

from msgspec import Struct

from runner.importing.file_names import find_revision, find_time
from runner.importing.imported_run import ImportDefaults, require_value
from runner.importing.source import Source

_EXTENSION = re.compile(r"\.[A-Za-z]\w*$")
"""The extension of a file's name. The last part of a version, which may also follow a dot, begins with a digit."""


class Placement(Struct, frozen=True):
    """The revision and the time of a result, and whether the time is known or only that of the file."""

    revision: str
    time: datetime
    time_is_known: bool


def locate_result(
    source: Source, defaults: ImportDefaults, location: str, revision: str = "", time: datetime | None = None
) -> Placement:
    """Return the revision and the time of a result.

    Each of them is taken from the content of the file, else from the command line, else from the names of the file and
    its folders. If these contain no time, it is that of the commit, or else the modification time of the file.

    Parameters
    ----------
    location
        The location of the result in the file, for messages.
    revision, time
        The value in the file; empty or None if the file has none.

    Raises
    ------
    FaultwatchError
        The revision is unknown.
    """
    names = (source.name, *source.folders)
    revision = require_value(
        revision or defaults.revision or _find_named_revision(names, defaults), "revision", location
    )
    time = time or defaults.started_at or find_time(names)
    if time is None:
        commit = defaults.find_commit(revision)
        time = commit.committed_at if commit else None
    return Placement(revision, time or source.modified_at, time is not None)


def _find_named_revision(names: tuple[str, ...], defaults: ImportDefaults) -> str:
    """Return the revision that the name of the file or of a folder states; empty if there is none.

    A revision is a hash, or a name in the repository. The name of the file, which comes first, may have an extension.
    """
    for name in names:
        commit_hash = find_revision((name,))
        if commit_hash:
            return commit_hash
        file_name = name.rpartition("/")[2].removesuffix(".gz")
        possible_names = [file_name, _EXTENSION.sub("", file_name)] if name == names[0] else [name]
        for possible_name in possible_names:
            if possible_name and defaults.find_commit(possible_name):
                return possible_name
    return ""
