"""Chooses among several versions of a tool, because users install their own in addition to the system's version.

The version on the user's ``PATH`` comes first, unless the project requires a newer one.
"""

import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from runner.subject.tool_search import list_usual_folders

VERSION_ARGUMENT = {"cargo": "--version", "go": "version"}
"""The tools that may be installed in several versions, with the argument that makes each print its version."""
_VERSION = re.compile(r"(\d+(?:\.\d+)+)")
_MAX_DIGITS = 18
"""How many digits of a number are used: Python refuses to convert thousands of digits, which a project may name."""
_TIMEOUT_SECONDS = 20
"""How many seconds a tool may take to print its version."""


class Toolchain(Struct, frozen=True):
    """A tool on this host.

    Attributes
    ----------
    version
        The version that the tool prints; empty if it prints none.
    """

    tool: str
    file: Path
    version: str

    def __str__(self) -> str:
        return f"{self.tool} {self.version or '(unknown version)'} at {self.file}"

    def is_at_least(self, min_version: str) -> bool:
        """Return whether the version is not older than a required one; True if that is empty."""
        return parse_version_numbers(self.version) >= parse_version_numbers(min_version)


def list_toolchains(tool: str, build_path: str) -> list[Toolchain]:
    """Return the versions of a tool on this host: on the user's ``PATH``, then on the build's, then in other places."""
    files: list[str] = []
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), *build_path.split(os.pathsep), *list_usual_folders()):
        file = shutil.which(tool, path=folder) if folder else None
        if file and not any(Path(file).samefile(other) for other in files):
            files.append(file)
    return [Toolchain(tool, Path(file), _read_version(tool, file)) for file in files]


def choose_toolchain(toolchains: Iterable[Toolchain], min_version: str = "") -> Toolchain | None:
    """Return the first version that suffices, otherwise the newest; None if there are no versions."""
    candidates = list(toolchains)
    sufficient_toolchain = next((toolchain for toolchain in candidates if toolchain.is_at_least(min_version)), None)
    return sufficient_toolchain or max(
        candidates, key=lambda toolchain: parse_version_numbers(toolchain.version), default=None
    )


def parse_version_numbers(version: str) -> tuple[int, ...]:
    """Parse a version into numbers that can be compared. Only the first few digits of each number are used."""
    return tuple(int(part[:_MAX_DIGITS]) for part in version.split(".") if part.isdecimal())


def find_rustup_home(tool: Path, home: Path) -> Path | None:
    """Return the folder of rustup's toolchains; None if rustup did not install the tool.

    This is the configured folder, else the one beside the tool, else the one in a home. Of the homes, the first one
    with toolchains counts, because rustup makes an empty folder in any ``HOME`` in which it starts.
    """
    folder = tool.parent
    if not (folder / "rustup").exists() and not tool.is_relative_to(home / ".cargo"):
        return None
    folders_in_homes = [parent / ".rustup" for parent in (home, *_list_own_homes())]
    candidates = [
        folder.parent.parent / ".rustup",
        *(candidate for candidate in folders_in_homes if (candidate / "toolchains").is_dir()),
        folders_in_homes[0],
    ]
    configured_folder = os.environ.get("RUSTUP_HOME")
    if configured_folder:
        candidates.insert(0, Path(configured_folder))
    return next((candidate for candidate in candidates if candidate.is_dir()), None)


def _list_own_homes() -> list[Path]:
    """Return the home of the user in the password database, which ``HOME`` need not name; none if it is unknown."""
    try:
        return [Path(pwd.getpwuid(os.getuid()).pw_dir)]
    except KeyError:
        return []


@lru_cache
def _read_version(tool: str, file: str) -> str:
    """Return the version that a tool prints; empty if it prints none."""
    # Do not let it switch to, or download, another version that some project requires.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "RUSTUP_AUTO_INSTALL": "0"}
    rustup = find_rustup_home(Path(file), Path.home())
    if rustup:
        environment["RUSTUP_HOME"] = str(rustup)
    try:
        result = subprocess.run(
            [file, VERSION_ARGUMENT.get(tool, "--version")],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION.search(result.stdout) if result.returncode == 0 else None
    return match[1] if match else ""
