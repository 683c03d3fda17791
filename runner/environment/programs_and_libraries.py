"""Reads the files of this host that influence measured programs: interpreters, other programs, libraries.

These files are settings of a case. They depend on the workload and the host, but never on a revision; otherwise each
revision would have its own environment. Other files that a program maps are part of its report.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from runner.environment import library_fingerprints
from runner.environment.executed_programs import find_executed_programs, find_script_programs
from runner.environment.needed_libraries import list_needed_libraries, resolve_dependencies
from runner.environment.program_identity import find_program, identify_program
from runner.system.regular_file import read_regular
from runner.system.tree import SettingValues, Tree
from runner.system.valid_text import make_valid_text

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
    file = find_program(command[0], path)
    needed_libraries = list_needed_libraries(file) if file else ()
    further_programs = {name: find_program(name, path) for name in _find_further_programs(command, path, own_folder)}
    return {
        "program": identify_program(file) if file else None,
        **{
            f"program.{name}"[:_MAX_NAME_CHARACTERS]: identify_program(file)
            for name, file in sorted(further_programs.items())
            if file
        },
        **read_library_settings(tree, needed_libraries),
    }


def _find_further_programs(command: Sequence[str], path: str, own_folder: Path | None) -> set[str]:
    """Return the programs that the first program of a command may start, such as the runtime behind a script."""

    def is_program(word: str) -> bool:
        return find_program(word, path) is not None

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
        "loader.preload": " ".join(_list_preloaded_libraries(tree)) or None,
        **{f"library.{name}"[:_MAX_NAME_CHARACTERS]: _describe_library(file) for name, file in loaded.items()},
    }


def _describe_library(file: Path) -> str | None:
    digits = library_fingerprints.hash_library(file)
    return f"{make_valid_text(file.resolve().name)}, sha256 {digits}" if digits else None


def _list_preloaded_libraries(tree: Tree) -> Iterator[str]:
    """Yield the libraries that the loader preloads into every program of this host."""
    lines_without_comments = (line.partition("#")[0] for line in tree.read_lines(_PRELOAD_FILE))
    for entry in re.split(r"[\s:]+", " ".join(lines_without_comments)):
        if entry:
            digits = library_fingerprints.hash_library(tree.path(entry))
            yield f"{entry} (sha256 {digits})" if digits else f"{entry} (not there)"
