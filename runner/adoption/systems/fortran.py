"""Fortran without another build system: fpm, its package manager, or the plain source files of one program."""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command, propose_all_or_each
from runner.adoption.sources import Sources, choose_program_name, is_auxiliary, is_plain_path, is_third_party

_SUFFIXES = (".f90", ".F90", ".f95", ".f03", ".f08", ".f", ".F")
_MODULE = re.compile(r"^\s*module\s+(?!procedure\b|subroutine\b|function\b)(\w+)\s*$", re.IGNORECASE | re.MULTILINE)
_USE = re.compile(r"^\s*use\s*(?:,\s*non_intrinsic\s*)?(?:::)?\s*(\w+)", re.IGNORECASE | re.MULTILINE)
_PROGRAM = re.compile(r"^\s*program\s+(\w+)", re.IGNORECASE | re.MULTILINE)
_PROCEDURE = re.compile(r"^\s*(?:[\w*]+\s+)*(?:subroutine|function)\s+\w+", re.IGNORECASE | re.MULTILINE)
_FOREIGN_MODULE = re.compile(r"iso_(?:c_binding|fortran_env)|ieee_\w+|omp_lib\w*", re.IGNORECASE)
"""Modules that the compiler provides."""
_PROGRAM_FOLDERS = frozenset({"app", "bench", "benchmark", "benchmarks", "example", "examples", "test", "tests"})
"""Folders of the programs of a library."""
_MAX_PROGRAMS = 4


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build with fpm, or to compile all files of a program in the order of their dependencies.

    For a library, or for several programs, each of them is compiled with the files whose modules it uses.
    """
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
    steps = [] if len(programs) == 1 and _is_complete(files.values()) else _list_program_steps(sources)
    if steps or len(programs) != 1:
        proposals += propose_all_or_each("Fortran", steps)
    else:
        sorted_files = sort_files_by_dependency(files)
        run = RunProposal("./program", may_do_nothing=True)
        command = build_shell_command(f"gfortran -O2 -g -o program {' '.join(sorted_files)}")
        proposals.append(BuildProposal("Fortran", command, ("gfortran",), runs=(run,)))
    return proposals


def _is_complete(texts: Iterable[str]) -> bool:
    """Return whether sources define all modules that they use, except for those of the compiler."""
    all_texts = list(texts)
    defined = {name.lower() for text in all_texts for name in _MODULE.findall(text)}
    return all(name in defined or _FOREIGN_MODULE.fullmatch(name) for name in _list_used_modules(all_texts))


def _list_program_steps(sources: Sources) -> list[str]:
    """Return the compilations of a few programs, each with the files that it uses; those nearest to the top first.

    Programs that use a module which the project lacks are left out.
    """
    texts = {
        file: sources.read_text(file)
        for file in sources.find_files_by_suffix(*_SUFFIXES)
        if is_plain_path(file)
        and not is_third_party(file)
        and (not is_auxiliary(file) or not _PROGRAM_FOLDERS.isdisjoint(PurePosixPath(file).parts))
    }
    file_by_module = {name.lower(): file for file, text in texts.items() for name in _MODULE.findall(text)}
    programs = [file for file, text in texts.items() if _PROGRAM.search(text)]
    # Any program may call procedures that are in no module.
    loose_files = [
        file
        for file, text in texts.items()
        if _PROCEDURE.search(text) and not (_MODULE.search(text) or file in programs or is_auxiliary(file))
    ]
    steps = []
    for program in sorted(programs, key=lambda file: (file.count("/"), file)):
        needed_files = {file: texts[file] for file in [*loose_files, program]}
        modules = set(_list_used_modules(needed_files.values()))
        while new_files := {file_by_module[name] for name in modules & file_by_module.keys()} - needed_files.keys():
            needed_files |= {file: texts[file] for file in new_files}
            modules |= set(_list_used_modules(needed_files.values()))
        if _is_complete(needed_files.values()):
            name = choose_program_name(sources, program)
            files = sort_files_by_dependency({file: needed_files[file] for file in sorted(needed_files)})
            steps.append(f"gfortran -O2 -g -o {name} {' '.join(files)}")
    return steps[:_MAX_PROGRAMS]


def _list_used_modules(texts: Iterable[str]) -> Iterator[str]:
    """Yield the names of the modules that sources use, in lower case."""
    for text in texts:
        yield from (name.lower() for name in _USE.findall(text))


def sort_files_by_dependency(files: dict[str, str]) -> list[str]:
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
