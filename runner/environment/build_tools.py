"""Reads which tools a build finds on this host: the versions of compilers, and the identities of other tools.

The tools are settings of a case. They depend on the workload and the host, but never on a revision.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from runner.environment import compilers
from runner.environment.executed_programs import find_executed_programs
from runner.environment.program_identity import find_program, identify_program
from runner.execution.process_variables import BASE_VARIABLES
from runner.system.regular_file import read_regular
from runner.system.tree import SettingValues

TOOLS = (
    *("ar", "as", "cargo", "clang", "clang++", "cmake", "flang", "g++", "gcc", "go", "ld.gold", "ld.lld", "ld.mold"),
    *("make", "meson", "nasm", "ninja", "perl", "pkg-config", "python3", "rustc", "strip"),
)
"""Tools that builds may use although the workload does not name them."""
_MAX_SETTINGS_BYTES = 1 << 16
_MAX_NAME_CHARACTERS = 200
"""The longest name of a setting that the contract allows."""


def read_build_settings(
    command: Sequence[str], needs: Iterable[str], path: str, environment: Mapping[str, str] = MappingProxyType({})
) -> SettingValues:
    """Return the tools that a build finds on its ``PATH``: versions of compilers, and identities of the other tools.

    A program that is found only through this ``PATH`` is not executed, because it may be untrusted.

    Parameters
    ----------
    command
        The build command. All programs that it executes are tools, including those in a script for the shell.
    needs
        The programs that the workload says it needs.
    environment
        The variables that the workload sets for the build; some name a tool, such as ``CC``.
    """
    executed_programs = find_executed_programs(command, environment, lambda word: find_program(word, path) is not None)
    names = sorted({*TOOLS, *needs, *executed_programs})
    return {
        **{f"compiler.{role}": _describe_compiler(name, path) for role, name in compilers.TOOLS.items()},
        **{f"tool.{name}"[:_MAX_NAME_CHARACTERS]: _describe_tool(name, path) for name in names},
    }


def _describe_compiler(name: str, path: str) -> str | None:
    """Return the version of a compiler, or the identity of its file if it is not the one on the standard ``PATH``.

    None if the compiler is not found, or its version or identity is unknown.
    """
    file = find_program(name, path)
    if file is None:
        return None
    if file == find_program(name, BASE_VARIABLES["PATH"]):
        return compilers.read_version(name)
    return identify_program(file)  # It may be untrusted, so it is not executed.


def _describe_tool(name: str, path: str) -> str | None:
    """Return what identifies a build tool: its file, the release of Go, or the program behind the proxy of rustup.

    None if the tool is not found, or its file cannot be read.
    """
    file = find_program(name, path)
    if file is None:
        return None
    if name == "go":
        version = _read_go_version(file)
        if version:
            return f"{identify_program(file)}, {version}"
    # rustup installs all of Rust's tools as hard or symbolic links to itself.
    proxy = file.resolve().with_name("rustup")
    is_proxy = proxy.exists() and proxy.samefile(file)
    return _identify_rustup_program(proxy, name) if is_proxy else identify_program(file)


def _read_go_version(file: Path) -> str:
    """Return the version of Go from its installation's file ``VERSION``, without executing it; empty if unknown."""
    try:
        version_text = read_regular(file.resolve().parents[1] / "VERSION", _MAX_SETTINGS_BYTES).decode()
    except (OSError, ValueError, IndexError):  # IndexError: the program is in a top folder, which has no grandparent.
        return ""
    match = re.match(r"go[0-9][0-9a-z.]{0,30}$", version_text, re.MULTILINE)
    return match[0] if match else ""


def _identify_rustup_program(proxy: Path, name: str) -> str | None:
    """Return the identity of the program that rustup's proxy starts, or of the proxy if the toolchain is unknown.

    None if neither file can be read.
    """
    try:
        rustup_home = proxy.parents[2] / ".rustup"
        settings = tomllib.loads(read_regular(rustup_home / "settings.toml", _MAX_SETTINGS_BYTES).decode())
    except (OSError, ValueError, RecursionError, IndexError):  # IndexError: the proxy is in a top folder.
        return identify_program(proxy)
    toolchain = str(settings.get("default_toolchain"))
    identity = None
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", toolchain):  # Anything else could be a path to other files.
        identity = identify_program(rustup_home / "toolchains" / toolchain / "bin" / name)
    return identity or identify_program(proxy)
