"""Searches the rest of this host for a tool that a build lacks, so that a message can explain the failure.

A build gets its own ``PATH``, which is the same on every host. It does not contain tools that a user has installed,
such as those of rustup.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

_USUAL_FOLDERS = (
    *("~/.cargo/bin", "~/.local/bin", "~/go/bin", "~/bin", "/usr/local/go/bin", "/usr/local/cargo/bin"),
    *("/opt/go/bin", "/opt/cmake/bin", "/usr/lib/ccache", "/snap/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"),
)
_MISSING_TOOL_PATTERNS = (
    re.compile(r"^(?:\S+: (?:line )?(?:\d+: )?)?([\w.+-]{1,60}): (?:command )?not found$"),
    re.compile(r"^(?:\S*/)?env: [‘'\"]?([\w.+-]{1,60})[’'\"]?: No such file or directory$"),
    re.compile(r"^make(?:\[\d+\])?: ([\w.+-]{1,60}): No such file or directory$"),
    re.compile(r"^Can't exec \"([\w.+-]{1,60})\": No such file or directory\b"),
)
"""Lines that shells, ``env``, make and the Perl scripts of Autotools print about a missing program."""
_SEARCHED_LINES = 50
"""How many lines at the end of a log are searched for such a line: a build ends soon after it."""


def list_usual_folders() -> list[str]:
    """Return the folders in which users often install tools, and which need not be in a ``PATH``."""
    return [str(Path(folder).expanduser()) for folder in _USUAL_FOLDERS]


def find_tool_outside(tool: str, build_path: str, variables: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path of a tool that is not on the build's ``PATH``, but on the caller's or in a usual folder.

    None if the build finds the tool, or if it is not found anywhere.
    """
    if shutil.which(tool, path=build_path):
        return None
    file = shutil.which(tool, path=os.pathsep.join((variables.get("PATH", ""), *list_usual_folders())))
    return Path(file) if file else None


def suggest_path(tool: str, build_path: str) -> str:
    """Return where a missing tool is, and how to make it available to the build, as a sentence; empty if unknown."""
    file = find_tool_outside(tool, build_path)
    if file is None:
        return ""
    return (
        f"{tool} is at {file}, outside the build's PATH ({build_path}): "
        f'write PATH = "{file.parent}:{build_path}" under [build.environment]'
    )


def find_missing_tool(log: str) -> str:
    """Return the last program that the end of a build's log reports as missing; empty if it reports none."""
    for line in reversed(log.splitlines()[-_SEARCHED_LINES:]):
        for pattern in _MISSING_TOOL_PATTERNS:
            match = pattern.match(line.strip())
            if match:
                return match[1]
    return ""
