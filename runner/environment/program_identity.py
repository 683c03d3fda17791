"""Reads the files of this host that influence builds and programs: tools, interpreters, libraries.

These files are settings of a case. They depend on the workload and the host, but never on a revision; otherwise each
revision would have its own environment. Other files that a program maps are part of its report.
"""

import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from runner.environment import compilers, library_fingerprints
from runner.environment.executed_programs import find_executed_programs, find_script_programs
from runner.environment.needed_libraries import list_needed_libraries, resolve_dependencies
from runner.execution.process_variables import BASE_VARIABLES
from runner.system.regular_file import read_regular
from runner.system.tree import SettingValues, Tree
from runner.system.valid_text import make_valid_text

TOOLS = (
    *("ar", "as", "cargo", "clang", "clang++", "cmake", "flang", "g++", "gcc", "go", "ld.gold", "ld.lld", "ld.mold"),
    *("make", "meson", "nasm", "ninja", "perl", "pkg-config", "python3", "rustc", "strip"),
)
"""Tools that builds may use although the workload does not name them."""
RUNTIME_LIBRARIES = ("libstdc++.so.6", "libgcc_s.so.1", "libgfortran.so.5", "libgomp.so.1", "libm.so.6")
"""Libraries that compilers link to programs on their own."""
RUNTIMES = ("dotnet", "java", "node", "perl", "php", "python3", "ruby")
"""Programs that a script of the revision may start. The script may differ between revisions, so it is not read."""
_SCRIPT_SUFFIXES = (".sh", ".bash")
_SHELL_LINE = re.compile(r"#! */(?:usr/)?bin/(?:env +)?(?:ba|da|k|z|a)?sh\b")
_MAX_SETTINGS_BYTES = 1 << 16
_MAX_NAME_CHARACTERS = 200
"""The longest name of a setting that the contract allows."""
_PRELOAD_FILE = "etc/ld.so.preload"


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
    executed_programs = find_executed_programs(command, environment, lambda word: _find_program(word, path) is not None)
    names = sorted({*TOOLS, *needs, *executed_programs})
    return {
        **{f"compiler.{role}": _describe_compiler(name, path) for role, name in compilers.TOOLS.items()},
        **{f"tool.{name}"[:_MAX_NAME_CHARACTERS]: _describe_tool(name, path) for name in names},
    }


def read_run_settings(tree: Tree, command: Sequence[str], path: str, own_folder: Path | None = None) -> SettingValues:
    """Return the programs of a command that this host provides, and the libraries that programs load.

    Parameters
    ----------
    command
        The measured command. A program whose name contains a slash belongs to the revision.
    path
        The ``PATH`` of the measured process.
    own_folder
        The copy of the workload's folder, whose scripts are the same for all revisions.
    """
    file = _find_program(command[0], path)
    needed_libraries = list_needed_libraries(file) if file else ()
    further_programs = {name: _find_program(name, path) for name in _find_further_programs(command, path, own_folder)}
    return {
        "program": _identify_program(file) if file else None,
        **{
            f"program.{name}"[:_MAX_NAME_CHARACTERS]: _identify_program(file)
            for name, file in sorted(further_programs.items())
            if file
        },
        **read_library_settings(tree, needed_libraries),
    }


def _find_further_programs(command: Sequence[str], path: str, own_folder: Path | None) -> set[str]:
    """Return the programs that the first program of a command may start, such as the runtime behind a script."""

    def is_program(word: str) -> bool:
        return _find_program(word, path) is not None

    names = find_executed_programs(command, {}, is_program)
    if own_folder:
        for script in _read_own_scripts(command, own_folder):
            names |= find_script_programs(script, is_program)
    # A script of the revision is not read, so it may start any runtime.
    scripts = {name for name in names if "/" in name and name.endswith(_SCRIPT_SUFFIXES)}
    if any(own_folder is None or not Path(script).is_relative_to(own_folder) for script in scripts):
        names |= set(RUNTIMES)
    return names - {command[0]}


def _read_own_scripts(command: Sequence[str], own_folder: Path) -> Iterator[str]:
    """Yield the contents of the shell scripts in the workload's folder that a command names."""
    for word in command:
        if Path(word).is_relative_to(own_folder):
            try:
                script = read_regular(Path(word), _MAX_SETTINGS_BYTES).decode()
            except (OSError, ValueError):
                continue
            if word.endswith(_SCRIPT_SUFFIXES) or _SHELL_LINE.match(script):
                yield script


def read_library_settings(tree: Tree, needed_libraries: Iterable[str] = ()) -> SettingValues:
    """Return the libraries that compilers add to programs, other required libraries, and those preloaded for all."""
    loaded = resolve_dependencies(tree, (*RUNTIME_LIBRARIES, *needed_libraries))
    return {
        "loader.preload": " ".join(_list_preloaded(tree)) or None,
        **{f"library.{name}"[:_MAX_NAME_CHARACTERS]: _describe_library(file) for name, file in loaded.items()},
    }


def _describe_compiler(name: str, path: str) -> str | None:
    """Return the version of a compiler, or the identity of its file if it is not the one on the standard ``PATH``.

    None if the compiler is not found, or its version or identity is unknown.
    """
    file = _find_program(name, path)
    if file is None:
        return None
    if file == _find_program(name, BASE_VARIABLES["PATH"]):
        return compilers.read_version(name)
    return _identify_program(file)  # It may be untrusted, so it is not executed.


def _describe_tool(name: str, path: str) -> str | None:
    """Return what identifies a build tool: its file, the release of Go, or the program behind the proxy of rustup.

    None if the tool is not found, or its file cannot be read.
    """
    file = _find_program(name, path)
    if file is None:
        return None
    if name == "go":
        version = _read_go_version(file)
        if version:
            return f"{_identify_program(file)}, {version}"
    # rustup installs all of Rust's tools as hard or symbolic links to itself.
    proxy = file.resolve().with_name("rustup")
    is_proxy = proxy.exists() and proxy.samefile(file)
    return _identify_rustup_program(proxy, name) if is_proxy else _identify_program(file)


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
        return _identify_program(proxy)
    toolchain = str(settings.get("default_toolchain"))
    identity = None
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", toolchain):  # Anything else could be a path to other files.
        identity = _identify_program(rustup_home / "toolchains" / toolchain / "bin" / name)
    return identity or _identify_program(proxy)


def _find_program(name: str, path: str) -> Path | None:
    """Return the file of a program; None if it is not found.

    Relative folders in ``path`` are ignored: they could lead to the checkout.
    """
    absolute_path = os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith("/"))
    program = shutil.which(name, path=absolute_path) if absolute_path and "/" not in name else None
    return Path(program) if program else None


def _identify_program(file: Path) -> str | None:
    """Return the path, size and time of a program: they identify its version, and the file need not be read.

    None if there is no such file.
    """
    try:
        target = file.resolve(strict=True)
        status = target.stat()
    except (OSError, RuntimeError):  # RuntimeError: links that point to each other
        return None
    modified = datetime.fromtimestamp(int(status.st_mtime), UTC)
    return f"{make_valid_text(str(target))}, {status.st_size} bytes of {modified:%Y-%m-%d %H:%M:%S}"


def _describe_library(file: Path) -> str | None:
    digits = library_fingerprints.hash_library(file)
    return f"{make_valid_text(file.resolve().name)}, sha256 {digits}" if digits else None


def _list_preloaded(tree: Tree) -> Iterator[str]:
    """Yield the libraries that the loader preloads into every program of this host."""
    lines_without_comments = (line.partition("#")[0] for line in tree.read_lines(_PRELOAD_FILE))
    for entry in re.split(r"[\s:]+", " ".join(lines_without_comments)):
        if entry:
            digits = library_fingerprints.hash_library(tree.path(entry))
            yield f"{entry} (sha256 {digits})" if digits else f"{entry} (not there)"
