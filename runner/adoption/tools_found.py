"""Adds to a proposed build what it needs to find the tools that a user has installed outside of the usual folders."""

import dataclasses
import os
import shutil
from pathlib import Path

from runner.adoption.proposal import BuildProposal
from runner.execution.start_block import BASE_VARIABLES
from runner.subject.tool_search import whereabouts

_OWN_TOOLCHAINS = ("cargo", "go")
"""Tools that users install beside an older one of the system: theirs is the one that they build with."""


def with_tools(build: BuildProposal, home: Path | None = None) -> BuildProposal:
    """Return a build whose ``PATH`` has the folders of its tools, as far as this host has them."""
    home = home or Path.home()
    path = build.environment.get("PATH", BASE_VARIABLES["PATH"])
    more = dict(build.environment)
    for tool in build.tools:
        file = _better(tool, path.replace("{home}", str(home)))
        if file is None:
            continue
        path = f"{_portable(file.parent, home)}:{path}"
        more["PATH"] = path
        if toolchains := _rustup_home(file, home):
            # Without it, rustup looks in HOME, which is the folder of the build.
            more["RUSTUP_HOME"] = _portable(toolchains, home)
    return dataclasses.replace(build, environment=more)


def _better(tool: str, path: str) -> Path | None:
    """Return a tool that the ``PATH`` of a build lacks, or that the user prefers to the one there."""
    own = shutil.which(tool) if tool in _OWN_TOOLCHAINS else None
    if own and own != shutil.which(tool, path=path):
        return Path(own)
    return whereabouts(tool, path)


def _rustup_home(tool: Path, home: Path) -> Path | None:
    """Return the folder of the toolchains of which a tool starts one; None if rustup did not install the tool."""
    folder = tool.parent
    if not (folder / "rustup").exists() and not tool.is_relative_to(home / ".cargo"):
        return None
    usual = (folder.parent.parent / ".rustup", home / ".rustup")
    named = os.environ.get("RUSTUP_HOME")
    return next((place for place in (*((Path(named),) if named else ()), *usual) if place.is_dir()), None)


def _portable(folder: Path, home: Path) -> str:
    return f"{{home}}/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
