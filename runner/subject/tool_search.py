"""Finds a tool that a build lacks elsewhere on this host, so that a message can name the cause.

A build gets a ``PATH`` of its own, the same on every host. Tools that a user has installed, such as those of rustup,
lie outside of it.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from runner.execution.sandbox import Sandbox

_USUAL = (
    *("~/.cargo/bin", "~/.local/bin", "~/go/bin", "~/bin", "/usr/local/go/bin", "/usr/local/cargo/bin"),
    *("/opt/go/bin", "/opt/cmake/bin", "/usr/lib/ccache", "/snap/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"),
)
_MISSING = (
    re.compile(r"^(?:\S+: (?:line )?(?:\d+: )?)?([\w.+-]{1,60}): (?:command )?not found$"),
    re.compile(r"^(?:\S*/)?env: [‘'\"]?([\w.+-]{1,60})[’'\"]?: No such file or directory$"),
    re.compile(r"^make(?:\[\d+\])?: ([\w.+-]{1,60}): No such file or directory$"),
)
"""Lines with which shells, ``env`` and make say that a program is missing."""


def whereabouts(tool: str, build_path: str, variables: Mapping[str, str] = os.environ) -> Path | None:
    """Return where a tool is that the build's ``PATH`` lacks: on the caller's ``PATH``, or in a usual folder.

    Returns None if the build finds the tool, or if the tool is nowhere.
    """
    if shutil.which(tool, path=build_path):
        return None
    usual = (str(Path(folder).expanduser()) for folder in _USUAL)
    file = shutil.which(tool, path=os.pathsep.join((variables.get("PATH", ""), *usual)))
    return Path(file) if file else None


def advice(tool: str, build_path: str) -> str:
    """Return where a missing tool is and what makes it available to the build, as a sentence; empty if unknown."""
    file = whereabouts(tool, build_path)
    if file is None:
        return ""
    return (
        f"{tool} is at {file}, outside of the build's PATH ({build_path}): "
        f'write PATH = "{file.parent}:{build_path}" under [build.environment]'
    )


def hidden_folders(tool: str, environment: Mapping[str, str], sandbox: Sandbox, tree: Path, log: str = "") -> str:
    """Return what a build needs and its sandbox hides, or what it needs and lacks, as a sentence; empty if nothing.

    Parameters
    ----------
    tool
        A program that the build uses.
    environment
        The variables of the build. Those that name a folder outside of its tree need it.
    log
        What the build printed. It lacks a folder that does not exist only if it says so.
    """
    needed = {name: Path(text) for name, text in environment.items() if text.startswith("/") and ":" not in text}
    if "/" not in tool and (file := shutil.which(tool, path=environment["PATH"])):
        folder = Path(file).parent
        needed = {tool: folder.parent if folder.name == "bin" else folder, **needed}
    hidden = {
        name: folder
        for name, folder in needed.items()
        if folder.is_dir() and not folder.is_relative_to(tree) and not sandbox.shows(folder)
    }
    if not hidden:
        missing = [
            f"{folder} ({name})"
            for name, folder in needed.items()
            if not folder.is_relative_to(tree) and any(str(one) in log for one in _absent(folder))
        ]
        return f"this host lacks {', '.join(missing)}, which a build in the sandbox cannot make" if missing else ""
    named = ", ".join(f"{folder} ({name})" for name, folder in hidden.items())
    value = ":".join(dict.fromkeys(map(str, (*sandbox.readable, *hidden.values()))))
    return f"the sandbox does not show {named}: set FAULTWATCH_SANDBOX_READ={value} on this host"


def _absent(folder: Path) -> list[Path]:
    """Return a folder and those above it, as far as they do not exist."""
    return [one for one in (folder, *folder.parents) if not one.exists()]


def missing_tool(log: str) -> str:
    """Return the program that a build's log reports as missing; empty if there is none."""
    for line in reversed(log.splitlines()[-50:]):
        for pattern in _MISSING:
            if match := pattern.match(line.strip()):
                return match[1]
    return ""
