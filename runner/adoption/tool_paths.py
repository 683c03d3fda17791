"""Sets the ``PATH`` of a proposed build so that it finds tools that a user has installed outside the usual folders."""

import os
import shutil
from pathlib import Path

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal
from runner.adoption.toolchains import VERSION_ARGUMENT, Toolchain, choose_toolchain, list_toolchains
from runner.execution.process_variables import BASE_VARIABLES
from runner.subject.tool_search import find_tool_outside


def add_tool_paths(build: BuildProposal, home: Path | None = None) -> BuildProposal:
    """Return the build with the folders of those of its tools that this host has in its ``PATH``."""
    home = home or Path.home()
    path = _get_path(build)
    environment = dict(build.environment)
    for tool in build.tools:
        file = _find_better_tool(build, tool, path.replace("{home}", str(home)))
        if file is None:
            continue
        path = f"{_make_portable(file.parent, home)}:{path}"
        environment["PATH"] = path
        if rustup := _find_rustup_home(file, home):
            # Without it, rustup looks in HOME, which is the folder of the build.
            environment["RUSTUP_HOME"] = _make_portable(rustup, home)
    return replace(build, environment=environment)


def describe_tools(build: BuildProposal) -> tuple[str, str]:
    """Return a remark on the tool's version that builds a project, and a remark on what is missing; each may be empty.

    A tool of which the host has a single, sufficient version needs no remark.
    """
    path = _get_path(build).replace("{home}", str(Path.home()))
    for tool in build.tools:
        installed = list_toolchains(tool, path) if tool in VERSION_ARGUMENT else []
        toolchain = choose_toolchain(installed, build.min_versions.get(tool, ""))
        if toolchain is None:
            continue
        alternatives = [alternative for alternative in installed if alternative is not toolchain]
        description = f"{toolchain}" + (
            f"; also {', '.join(map(_describe_toolchain, alternatives))}" if alternatives else ""
        )
        min_version = build.min_versions.get(tool, "")
        shortfall = (
            ""
            if toolchain.is_at_least(min_version)
            else f"the project requires {tool} {min_version}, but this host has {toolchain}"
        )
        return (description if alternatives or shortfall else ""), shortfall
    return "", ""


def _describe_toolchain(alternative: Toolchain) -> str:
    return f"{alternative.version or '(unknown version)'} at {alternative.file}"


def _get_path(build: BuildProposal) -> str:
    return build.environment.get("PATH", BASE_VARIABLES["PATH"])


def _find_better_tool(build: BuildProposal, tool: str, path: str) -> Path | None:
    """Return a tool that the ``PATH`` of a build lacks, or a better version than its own; None if there is neither."""
    if tool not in VERSION_ARGUMENT:
        return find_tool_outside(tool, path)
    toolchain = choose_toolchain(list_toolchains(tool, path), build.min_versions.get(tool, ""))
    present_file = shutil.which(tool, path=path)
    return None if toolchain is None or (present_file and toolchain.file.samefile(present_file)) else toolchain.file


def _find_rustup_home(tool: Path, home: Path) -> Path | None:
    """Return the folder of rustup's toolchains; None if rustup did not install the tool."""
    folder = tool.parent
    if not (folder / "rustup").exists() and not tool.is_relative_to(home / ".cargo"):
        return None
    usual_folders = (folder.parent.parent / ".rustup", home / ".rustup")
    configured = os.environ.get("RUSTUP_HOME")
    return next(
        (
            candidate
            for candidate in (*((Path(configured),) if configured else ()), *usual_folders)
            if candidate.is_dir()
        ),
        None,
    )


def _make_portable(folder: Path, home: Path) -> str:
    return f"{{home}}/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
