"""Fortran without another build system: fpm, its package manager, or the plain source files of one program."""

import re
from collections.abc import Iterator

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import Sources, is_auxiliary

_SUFFIXES = (".f90", ".F90", ".f95", ".f03", ".f08", ".f", ".F")
_MODULE = re.compile(r"^\s*module\s+(?!procedure\b|subroutine\b|function\b)(\w+)\s*$", re.IGNORECASE | re.MULTILINE)
_USE = re.compile(r"^\s*use\s*(?:,\s*non_intrinsic\s*)?(?:::)?\s*(\w+)", re.IGNORECASE | re.MULTILINE)
_PROGRAM = re.compile(r"^\s*program\s+(\w+)", re.IGNORECASE | re.MULTILINE)


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build with fpm, or to compile all files in the order of their dependencies."""
    proposals = []
    if sources.has("fpm.toml"):
        install = build_shell_command("fpm install --profile release --prefix $PWD/installed")
        proposals.append(BuildProposal("fpm", install, ("fpm", "gfortran")))
    files = {
        file: sources.read_text(file)
        for file in sources.find_files_by_suffix(*_SUFFIXES)
        if not is_auxiliary(file) and " " not in file
    }
    programs = [file for file, text in files.items() if _PROGRAM.search(text)]
    if len(programs) == 1:
        sorted_files = sort_by_dependency(files)
        run = RunProposal("./program", may_do_nothing=True)
        command = build_shell_command(f"gfortran -O2 -g -o program {' '.join(sorted_files)}")
        proposals.append(BuildProposal("Fortran", command, ("gfortran",), runs=(run,)))
    return proposals


def sort_by_dependency(files: dict[str, str]) -> list[str]:
    """Return the files in an order in which each follows the files whose modules it uses; cycles keep their order."""
    file_by_module = {name.lower(): file for file, text in files.items() for name in _MODULE.findall(text)}
    sorted_files: list[str] = []
    entered: set[str] = set()

    def list_used_files(file: str) -> Iterator[str]:
        """Yield the files that define the modules that a file uses."""
        for name in _USE.findall(files[file]):
            if name.lower() in file_by_module:
                yield file_by_module[name.lower()]

    for first_file in files:
        # The files that are waiting for those that they use: a recursion could not go a thousand modules deep.
        waiting_files = [] if first_file in entered else [(first_file, list_used_files(first_file))]
        entered.add(first_file)
        while waiting_files:
            file, used_files = waiting_files[-1]
            next_file = next((used_file for used_file in used_files if used_file not in entered), None)
            if next_file is None:
                sorted_files.append(file)
                waiting_files.pop()
            else:
                entered.add(next_file)
                waiting_files.append((next_file, list_used_files(next_file)))
    return sorted_files
