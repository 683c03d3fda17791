"""Finds headers that a package of this host keeps in a folder of their own, such as ``lua5.4/lua.h``."""

from pathlib import Path

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal
from runner.subject.missing_packages import find_missing_header

_SYSTEM_HEADERS = Path("/usr/include")
_VARIABLE = "CPATH"
"""The variable that lists additional folders in which GCC and Clang look for headers."""


def add_header_folder(build: BuildProposal, log: str) -> BuildProposal | None:
    """Add the folder of a header that a build did not find to its search path; return None if there is no such folder.

    Among several folders, the alphabetically last is chosen, because it probably contains the newest version.
    """
    header = find_missing_header(log)
    if not header or _VARIABLE in build.environment or ".." in header:
        return None
    folders = [folder for folder in sorted(_SYSTEM_HEADERS.glob("*/")) if (folder / header).is_file()]
    return replace(build, environment={**build.environment, _VARIABLE: str(folders[-1])}) if folders else None
