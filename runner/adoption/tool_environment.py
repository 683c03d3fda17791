"""Sets variables of a proposed build, such as ``PATH``, so that it finds tools in unusual folders of the user."""

import shutil
from pathlib import Path

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal
from runner.adoption.toolchains import (
    VERSION_ARGUMENT,
    Toolchain,
    choose_toolchain,
    find_rustup_home,
    list_toolchains,
)
from runner.execution.process_variables import BASE_VARIABLES
from runner.subject.missing_packages import MissingPart
from runner.subject.tool_search import find_tool_outside


def add_tool_paths(build: BuildProposal, home: Path | None = None) -> BuildProposal:
    """Extend the ``PATH`` of a build with the folders of its tools that are missing from it, or too old there."""
    home = home or Path.home()
    path = _get_path(build)
    environment = dict(build.environment)
    for tool in build.tools:
        file = _find_better_tool(build, tool, path.replace("{home}", str(home)))
        if file is None:
            continue
        path = f"{_make_folder_portable(file.parent, home)}:{path}"
        environment["PATH"] = path
        rustup = find_rustup_home(file, home)
        if rustup:
            # Without this variable, rustup would look for its toolchains in HOME, which is the folder of the build.
            environment["RUSTUP_HOME"] = _make_folder_portable(rustup, home)
    return replace(build, environment=environment)


def add_found_tool(build: BuildProposal, part: MissingPart, home: Path | None = None) -> BuildProposal | None:
    """Return a failed build with the tool that it lacks, which is in a folder outside its ``PATH``.

    None if this host has no such tool, or none that is better than the one on the build's ``PATH``.
    """
    if not part.tool:
        return None
    min_versions = {**build.min_versions, part.tool: part.version} if part.version else build.min_versions
    tools = tuple(dict.fromkeys((*build.tools, part.tool)))
    extended_build = add_tool_paths(replace(build, tools=tools, min_versions=min_versions), home)
    # Another order of the same folders is no progress.
    has_more_folders = set(_get_path(extended_build).split(":")) != set(_get_path(build).split(":"))
    return extended_build if has_more_folders else None


def describe_tools(build: BuildProposal) -> tuple[str, str]:
    """Return remarks on the versions of a build's tool: the one that is used and others, and why it is too old.

    Both are about the first tool of the build that this host has in some version. The first is empty if there is a
    single version, and it suffices; the second is empty if the version suffices.
    """
    path = _get_path(build).replace("{home}", str(Path.home()))
    for tool in build.tools:
        installed_toolchains = list_toolchains(tool, path) if tool in VERSION_ARGUMENT else []
        toolchain = choose_toolchain(installed_toolchains, build.min_versions.get(tool, ""))
        if toolchain is None:
            continue
        alternatives = [alternative for alternative in installed_toolchains if alternative is not toolchain]
        description = str(toolchain)
        if alternatives:
            description += f"; also {', '.join(map(_describe_alternative, alternatives))}"
        min_version = build.min_versions.get(tool, "")
        shortfall = ""
        if not toolchain.is_at_least(min_version):
            shortfall = f"the project requires {tool} {min_version}, but this host has {toolchain}"
        needs_remark = bool(alternatives or shortfall)
        return description if needs_remark else "", shortfall
    return "", ""


def _describe_alternative(alternative: Toolchain) -> str:
    """Return the version of a tool and its path, without the tool's name."""
    return f"{alternative.version or '(unknown version)'} at {alternative.file}"


def _get_path(build: BuildProposal) -> str:
    """Return the ``PATH`` of a build, which may contain ``{home}``."""
    return build.environment.get("PATH", BASE_VARIABLES["PATH"])


def _find_better_tool(build: BuildProposal, tool: str, path: str) -> Path | None:
    """Return a tool that the ``PATH`` of a build lacks, or a better version than there; None if there is neither."""
    if tool not in VERSION_ARGUMENT and tool not in build.min_versions:  # No version is better than another.
        return find_tool_outside(tool, path)
    toolchain = choose_toolchain(list_toolchains(tool, path), build.min_versions.get(tool, ""))
    if toolchain is None:
        return None
    present_file = shutil.which(tool, path=path)
    is_present = present_file is not None and toolchain.file.samefile(present_file)
    return None if is_present else toolchain.file


def _make_folder_portable(folder: Path, home: Path) -> str:
    """Return a folder as it is written into a workload file: relative to ``{home}``, so that others can use it too."""
    return f"{{home}}/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
