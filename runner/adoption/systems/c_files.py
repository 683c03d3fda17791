"""C and C++ without a build system: the compilations that documents show, or else each file with a main function."""

import re
import shlex
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise, takewhile
from pathlib import PurePosixPath

from msgspec import Struct

from runner.adoption.documented_commands import list_documents
from runner.adoption.proposal import BuildProposal, RunProposal, propose_all_or_each
from runner.adoption.sources import Sources, choose_program_name, is_auxiliary, is_plain_path, is_third_party

_CXX_SUFFIXES = (".cc", ".cpp", ".cxx")
_SUFFIXES = (".c", *_CXX_SUFFIXES)
_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".hxx")
_COMPILERS = {"cc": "cc", "gcc": "cc", "clang": "cc", "c++": "c++", "g++": "c++", "clang++": "c++"}
"""The compilers that documents name, and those that every host has instead."""
_PROMPT = re.compile(r"^[\s/*#;]*(?:[$%>]\s+)?")
"""What can precede a command in a document or in a comment."""
_ASSIGNMENT = re.compile(r"[A-Z][A-Z0-9_]*=[\w./+-]*")
_OPTIONS = ("-g", "-O2")
"""Options before those of a document, which may name another level of optimization."""
_FLAGS_VARIABLE = re.compile(r"\$(?:\w*FLAGS|\{\w*FLAGS\}|\(\w*FLAGS\))")
"""A variable with options of a compiler, which has usable defaults."""
_DISTORTING = re.compile(r"--?coverage|-O0|-fsanitize|-fprofile|-m32|-pg")
"""Compiler options for programs that check or profile themselves, or run on another kind of processor."""
_BENCHMARK = re.compile(r"bench|perf", re.IGNORECASE)
_MAIN = re.compile(r"^[ \t]*(?:(?:static|extern|signed)\s+)?(?:int|void|auto)\s+main\s*\(", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_DEFINED = re.compile(r"(?:defined\s*\(?\s*)?([A-Za-z]\w*)\s*\)?")
"""A condition that a single macro is defined. Macros of the compiler and of the system have a leading underscore."""
_MAX_PROGRAMS = 4
_MAX_DOCUMENTED_BUILDS = 3
_INCLUDE_FOLDERS = ("include", "src")
"""Folders in which libraries keep their headers, besides the top one."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose the compilations that documents, scripts and the comments of sources show, then those of programs.

    A program is a file with a main function. It is compiled together with the files at the top, or in a folder there,
    that have none.
    """
    return [*_propose_documented_compilations(sources), *_propose_programs(sources)]


class _Compilation(Struct, frozen=True):
    """A compilation that a text shows.

    Attributes
    ----------
    command
        The command line of the compiler.
    program
        The path of the program that it makes.
    variables
        The variables that the text assigns when it starts the program.
    """

    command: str
    program: str
    variables: tuple[tuple[str, str], ...] = ()


def _propose_documented_compilations(sources: Sources) -> list[BuildProposal]:
    """Return the builds with the compilations that documents and comments show, benchmarks first."""
    source_files = [file for file in sources.find_files_by_suffix(*_SUFFIXES) if "/" not in file]
    lines = (
        line for file in [*list_documents(sources), *source_files] for line in sources.read_text(file).splitlines()
    )
    found = dict.fromkeys(filter(None, (_parse_compilation(_PROMPT.sub("", line), sources) for line in lines)))
    compilations = sorted(found, key=lambda compilation: not _names_benchmark(compilation))
    return [
        BuildProposal(
            "Compiler",
            compilation.command,
            (compilation.command.partition(" ")[0],),
            runs=_list_run_proposals(compilation),
            builds_tests=True,
        )
        for compilation in compilations[:_MAX_DOCUMENTED_BUILDS]
    ]


def _list_run_proposals(compilation: _Compilation) -> tuple[RunProposal, ...]:
    """Return the command that starts a program with variables; empty without any: it is found in the built tree."""
    if not compilation.variables:
        return ()
    return (
        RunProposal(
            f"./{compilation.program}",
            may_do_nothing=not _names_benchmark(compilation),
            environment=dict(compilation.variables),
        ),
    )


def _names_benchmark(compilation: _Compilation) -> bool:
    """Return whether a compilation is that of a benchmark, by the name of a file or of a variable."""
    names = (compilation.command, *(name for name, _ in compilation.variables))
    return any(map(_BENCHMARK.search, names))


def _parse_compilation(line: str, sources: Sources) -> _Compilation | None:
    """Return the compilation of files of the project that a line shows, perhaps with the start of the program.

    None if the line is no such command.
    """
    compiling, _, starting = line.partition("&&")
    words = [word for word in _split_words(compiling) if not _FLAGS_VARIABLE.fullmatch(word)]
    compiler = _COMPILERS.get(words[0], "") if words else ""
    if not compiler or "-c" in words or not all(map(is_plain_path, words)) or any(map(_DISTORTING.match, words)):
        return None
    files = [word for word in words[1:] if PurePosixPath(word).suffix in _SUFFIXES]
    if not files or not all(map(sources.has, files)):
        return None
    program = next((word for option, word in pairwise(words) if option == "-o"), "")
    name_option = []
    if not program:
        # The macros show whether it is a test.
        program = "-".join(
            [PurePosixPath(files[0]).stem, *(word[2:] for word in words if re.fullmatch(r"-D\w+", word))]
        )
        name_option = ["-o", program]
    assignments = takewhile(_ASSIGNMENT.fullmatch, _split_words(starting))
    variables = (word.partition("=")[::2] for word in assignments)  # names and values
    command = " ".join((compiler, *_OPTIONS, *words[1:], *name_option))
    path = PurePosixPath(program)
    if sources.has(str(path)) or path.is_absolute() or ".." in path.parts:
        return None
    return _Compilation(command, str(path), tuple(variables))


def _split_words(text: str) -> list[str]:
    """Return the words of a command without comments; empty if quotes are not closed."""
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return []


def _propose_programs(sources: Sources) -> list[BuildProposal]:
    """Return the builds of the files with a main function: all at once, then each alone, in case one does not build.

    If these would compile parts of other programs too, the same follows with only the files whose headers a program
    includes.
    """
    texts = {
        file: sources.read_text(file)
        for file in sources.find_files_by_suffix(*_SUFFIXES)
        if is_plain_path(file) and not is_third_party(file) and file.count("/") <= 1
    }
    macros_by_program = {
        file: macros for file, text in texts.items() if (macros := _find_main_macros(text)) is not None
    }
    # A file whose main function needs a macro is also a part of the other programs.
    parts = [file for file in texts if not is_auxiliary(file) and macros_by_program.get(file) != []]
    programs = sorted(macros_by_program, key=lambda file: (is_auxiliary(file), file.count("/"), file))[:_MAX_PROGRAMS]
    all_steps, needed_steps = [], []
    for file in programs:
        # A source that is included is compiled with the one that includes it.
        included_names = _list_included_names(texts[file])
        other_parts = [part for part in parts if part != file and PurePosixPath(part).name not in included_names]
        needed_parts = _select_needed_parts(file, other_parts, sources)
        macros = macros_by_program[file]
        all_steps.append(_build_step(sources, [file, *other_parts], macros))
        needed_steps.append(_build_step(sources, [file, *needed_parts], macros))
    proposals = propose_all_or_each("Compiler", all_steps)
    if needed_steps != all_steps:
        proposals += propose_all_or_each("Compiler", needed_steps)
    return proposals


def _build_step(sources: Sources, files: Sequence[str], macros: Sequence[str]) -> str:
    """Return the command that compiles a program.

    Parameters
    ----------
    files
        Its sources. The first one contains its main function, and gives the program its name.
    macros
        The macros that are defined.
    """
    compiler = "c++" if any(PurePosixPath(file).suffix in _CXX_SUFFIXES for file in files) else "cc"
    folders = [".", *(folder for folder in _INCLUDE_FOLDERS if sources.has_folder(folder))]
    options = [*_OPTIONS, *(f"-I{folder}" for folder in folders), *(f"-D{macro}" for macro in macros)]
    return " ".join((compiler, *options, "-o", choose_program_name(sources, files[0]), *files, "-lm", "-lpthread"))


def _list_included_names(text: str) -> list[str]:
    """Return the names of the files that a source includes between quotes, without their folders."""
    return [PurePosixPath(path).name for path in _INCLUDE.findall(text)]


def _select_needed_parts(file: str, parts: Sequence[str], sources: Sources) -> list[str]:
    """Return the sources among ``parts`` whose headers a program includes, directly or indirectly, in their order.

    A source has the name of its header, apart from the suffix.
    """
    files_by_name: defaultdict[str, list[str]] = defaultdict(list)
    for path in [*sources.find_files_by_suffix(*_HEADER_SUFFIXES), *parts]:
        files_by_name[PurePosixPath(path).stem].append(path)
    found = {file: None}
    remaining = [file]
    while remaining:
        names = _list_included_names(sources.read_text(remaining.pop()))
        new_files = [path for name in names for path in files_by_name[PurePosixPath(name).stem] if path not in found]
        found.update(dict.fromkeys(new_files))
        remaining += dict.fromkeys(new_files)
    return [part for part in parts if part in found]


def _find_main_macros(text: str) -> list[str] | None:
    """Return the macros that have to be defined for the main function of a source; None if it has no such function.

    Such a macro guards the tests of a library that consists of one file. A function that only other systems or other
    compilers see counts as none.
    """
    main = _MAIN.search(text)
    if main is None:
        return None
    conditions: list[str] = []
    for directive in _DIRECTIVE.finditer(text, 0, main.start()):
        kind, condition = directive[1], directive[2].partition("//")[0].partition("/*")[0].strip()
        if kind == "endif":
            del conditions[-1:]
        elif kind in {"else", "elif"}:
            conditions[-1:] = [""]
        else:
            conditions.append(condition if kind != "ifndef" else "")
    matches = [_DEFINED.fullmatch(condition) for condition in conditions if condition]
    return [match[1] for match in matches if match]
