"""Finds the programs that a build made, and decides which one to measure first."""

import os
import re
import shutil
import stat
import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import IntEnum
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from runner.adoption.documented_commands import DocumentedCommand, list_documented_commands
from runner.adoption.input_files import (
    find_input_pair,
    find_input_with_partner,
    find_other_input,
    find_source,
    is_about_project,
    list_inputs,
    list_stand_ins,
)
from runner.adoption.proposal import RunProposal, build_command_in_folder, build_shell_command
from runner.adoption.server_proposals import KNOWN_SERVERS, get_start_command
from runner.adoption.sources import THIRD_PARTY_FOLDERS, Sources, is_auxiliary, is_plain_path, is_third_party
from runner.adoption.systems.make import list_made_folders
from runner.execution.process_variables import PROCESS_VARIABLES
from runner.system.regular_file import open_regular
from runner.system.tree_walk import walk_tree

_MAX_BYTES = 64 << 20
"""The number of bytes of a program that are searched for the name of a library."""
_ELF_TYPE_OFFSET, _HEADER_BYTES = 16, 20
"""The offset of the file type in an ELF header, and how many bytes of the header are needed to read it."""
_HEAD_BYTES = 4096
"""The size of the beginning of a program, which contains the path of its interpreter (the dynamic linker)."""
_EXECUTABLE, _SHARED = 2, 3
"""File types in an ELF header: an executable at a fixed address (ET_EXEC), and a shared object (ET_DYN)."""
_INTERPRETER = b"/ld-linux", b"/ld-musl", b"/ld64.so", b"/lib/ld"
"""Parts of the paths of interpreters."""
_GOOGLE_BENCHMARK = b"benchmark_out_format"
"""An option of Google Benchmark: its name occurs in each program that contains the library."""
_GOOGLE_LIBRARY = b"libbenchmark.so"
_GENERATED_FILES = {
    *("CMakeFiles", "meson-private", "meson-info", ".git", ".libs", "autom4te.cache", "node_modules", "__pycache__"),
    *("deps", "incremental", "venv", ".venv", ".cargo", ".rustup", ".cache", "pkg"),
}
"""Folders in which build systems keep programs of their own, or the project's programs under a second name."""
_CARGO_HASH = re.compile(r"-[0-9a-f]{16}$")
_OPTIONS_BEFORE = {".c": "-S -o /dev/null ", ".awk": "-f ", ".sed": "-f "}
"""Options before an input, by its suffix: a compiler stops before it assembles, and AWK and sed read their program
from a file."""
_SPEED_WORD = r"perf(?:test|ormance)?|speed(?:test)?"
"""Words in the names of benchmarks, besides words that contain *bench*."""
_SOURCE_SUFFIXES = {"node": ".js", "java": ".java"}
"""The suffix of the sources of programs that an interpreter or a virtual machine executes; ``.py`` for all others."""
_MAX_EXPRESSIONS = 6
"""A program that refuses files alone is tried with an expression before at most this many of them."""
_ANY_EXPRESSION = "."
"""An expression that matches in every file, for programs that take one before their file, such as grep and jq."""
_REPLACEMENT = f"{_ANY_EXPRESSION} x"
"""An expression and the replacement of its matches, for programs that take both before their file."""
BENCHMARK_TIME = "10x"
"""How long Google Benchmark repeats each benchmark: exactly ten iterations."""


class BuiltProgram(Struct, frozen=True):
    """A program in a built tree.

    Attributes
    ----------
    name
        Its path in the tree.
    uses_google_benchmark
        Whether it uses Google Benchmark.
    """

    name: str
    uses_google_benchmark: bool = False


def find_built_programs(tree: Path, tracked_files: Collection[str]) -> list[BuiltProgram]:
    """Return the programs in a built tree that are not files of the commit, sorted by path."""
    tracked_set = set(tracked_files)
    programs = []
    for entry in walk_tree(tree):
        name = os.path.relpath(entry.path, tree)
        if name in tracked_set or not entry.is_file(follow_symlinks=False) or not _is_candidate_name(name):
            continue
        status = entry.stat(follow_symlinks=False)
        program = _read_program(Path(entry.path), name) if status.st_mode & stat.S_IXUSR else None
        if program:
            programs.append(program)
    return sorted(programs, key=lambda program: program.name)


class _ServerRank(NamedTuple):
    """A sort key for the files with the name of a known server: built programs first, then those in fewer folders."""

    is_script: bool
    is_tracked: bool
    depth: int
    path: str


def find_known_servers(tree: Path, tracked_files: Collection[str], programs: Iterable[BuiltProgram]) -> list[str]:
    """Return the paths of programs in a built tree that have the name of a known server, at most one for each name.

    A script, such as one that the build wrote, is returned only if no program has that name. What lies in a folder of
    third-party sources is left out, and so are tracked scripts of tests and examples.
    """
    tracked_set = set(tracked_files)
    ranks: dict[str, _ServerRank] = {
        program.name: _ServerRank(is_script=False, is_tracked=False, depth=program.name.count("/"), path=program.name)
        for program in programs
        if PurePosixPath(program.name).name in KNOWN_SERVERS
    }
    for entry in walk_tree(tree):
        name = os.path.relpath(entry.path, tree)
        if entry.name not in KNOWN_SERVERS or name in ranks or not _is_candidate_name(name):
            continue
        if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mode & stat.S_IXUSR:
            # A tracked script in a folder of tests or examples may start the server that is installed on the host.
            is_tracked = name in tracked_set
            if not (is_tracked and is_auxiliary(name)):
                ranks[name] = _ServerRank(is_script=True, is_tracked=is_tracked, depth=name.count("/"), path=name)
    own_names = [name for name in ranks if not is_third_party(name)]
    path_by_server: dict[str, str] = {}
    for name in sorted(own_names, key=lambda name: ranks[name]):
        path_by_server.setdefault(PurePosixPath(name).name, name)
    return list(path_by_server.values())


def _is_candidate_name(name: str) -> bool:
    """Return whether a built file may be a program of the project, judging by its path."""
    path = PurePosixPath(name)
    # Cargo keeps the compiled build scripts of packages in target/…/build.
    is_build_script = "target" in path.parts and "build" in path.parts
    # It also keeps each example as a second link, whose name contains a hash.
    is_second_link = "target" in path.parts and path.parent.name == "examples" and _CARGO_HASH.search(path.name)
    return (
        _GENERATED_FILES.isdisjoint(path.parts[:-1])
        and ".so" not in path.suffixes
        and not (is_build_script or is_second_link)
        and is_plain_path(name)
    )


def _read_program(file: Path, name: str) -> BuiltProgram | None:
    """Return a file as a program; None if it is not an executable ELF file."""
    try:
        with open_regular(file, may_be_link=False) as stream:
            content = stream.read(_MAX_BYTES)
    except OSError:
        return None
    if len(content) < _HEADER_BYTES or content[:4] != b"\x7fELF":
        return None
    is_little_endian = content[5] == 1  # the byte EI_DATA of the header
    (elf_type,) = struct.unpack_from("<H" if is_little_endian else ">H", content, _ELF_TYPE_OFFSET)
    # A position-independent executable has the type of a shared library, but unlike a library it has an interpreter.
    has_interpreter = any(word in content[:_HEAD_BYTES] for word in _INTERPRETER)
    if elf_type != _EXECUTABLE and not (elf_type == _SHARED and has_interpreter):
        return None
    return BuiltProgram(name, uses_google_benchmark=_GOOGLE_BENCHMARK in content or _GOOGLE_LIBRARY in content)


class _Rank(IntEnum):
    """The order in which programs are tried, the most promising first."""

    BENCHMARK = 0
    PROJECT_PROGRAM = 1
    """The program with the name of the project."""
    OTHER = 2
    EXAMPLE = 3
    TEST = 4
    FUZZER = 5
    THIRD_PARTY = 6


def _rank_program(program: BuiltProgram, project: str) -> tuple[int, int, str]:
    """Return a sort key: the rank, then the number of folders and of underscores in the name, then the name.

    Within a rank, the plainest name comes first: each further word usually names a variant or a helper.
    """
    path = PurePosixPath(program.name.lower())
    words = set(re.split(r"[^a-z]+", str(path)))
    # Compare whole parts of the path too, because "third_party" consists of two words.
    if not words.isdisjoint(THIRD_PARTY_FOLDERS) or any(part in THIRD_PARTY_FOLDERS for part in path.parts):
        rank = _Rank.THIRD_PARTY
    elif (
        program.uses_google_benchmark
        or any("bench" in part for part in path.parts)
        or any(re.fullmatch(_SPEED_WORD, word) for word in re.split(r"[^a-z]+", path.name))
    ):
        rank = _Rank.BENCHMARK
    elif _normalize_name(path.name) == _normalize_name(project.lower()):
        rank = _Rank.PROJECT_PROGRAM
    elif any("fuzz" in word for word in words):
        rank = _Rank.FUZZER
    elif any(word.startswith(("test", "check")) or word.endswith("test") for word in words):
        rank = _Rank.TEST
    elif any(word.startswith(("example", "demo", "sample")) for word in words):
        rank = _Rank.EXAMPLE
    else:
        rank = _Rank.OTHER
    return rank, path.name.count("_") + len(path.parts), program.name


def _normalize_name(name: str) -> str:
    """Return only the letters and digits of a lower-case name, so that ``my_tool`` equals ``my-tool``."""
    return re.sub(r"[^a-z0-9]", "", name)


def list_commands(
    programs: Iterable[BuiltProgram], sources: Sources, get_size: Callable[[str], int] = lambda _: 0
) -> list[RunProposal]:
    """Return the commands to try, the most promising first.

    Scripts that start the programs come first, if the project's documents show them with its files. Each program is
    tried without arguments, then as the documents show, then with inputs. A program for users is also tried with other
    files of the project, as is a benchmark without any input, and finally with ``--version`` and ``--help``. Examples
    are for users if no other program is.

    Parameters
    ----------
    get_size
        Returns the size in bytes of a file of the project, which ranks the inputs.
    """
    project = sources.name
    ranked_programs = sorted(programs, key=lambda program: _rank_program(program, project))
    ranks_for_users = {_Rank.PROJECT_PROGRAM, _Rank.OTHER}
    if ranks_for_users.isdisjoint(_rank_program(program, project)[0] for program in ranked_programs):
        ranks_for_users.add(_Rank.EXAMPLE)
    scripts = _list_wrapper_scripts(sources)
    documented_commands = list_documented_commands(sources, [program.name for program in ranked_programs] + scripts)
    # Of equally promising programs, those that the documents show with a file come first.
    ranked_programs.sort(
        key=lambda program: (_rank_program(program, project)[0], program.name not in documented_commands)
    )
    runs = [
        propose_documented_command(f"./{script}", command)
        for script in scripts
        for command in documented_commands.get(script, ())
    ]
    for program in ranked_programs:
        start_command = program.name if "/" in program.name else f"./{program.name}"
        if program.uses_google_benchmark:
            options = f"--benchmark_min_time={BENCHMARK_TIME} --benchmark_format=json"
            runs.append(RunProposal(f"{start_command} {options}", output="google-benchmark"))
            continue
        rank = _rank_program(program, project)[0]
        run = RunProposal(start_command, may_do_nothing=rank != _Rank.BENCHMARK, is_test=rank == _Rank.TEST)
        runs.append(run)
        if run.is_test:
            runs += _list_test_runs_in_folders(run, program.name, sources)
        # Inputs are useless for fuzzers and other projects' programs. Benchmarks may refuse to start without one.
        if rank > _Rank.TEST:
            continue
        is_for_users = rank in ranks_for_users
        documented_runs = [
            propose_documented_command(start_command, command) for command in documented_commands.get(program.name, ())
        ]
        runs += [run for run in documented_runs if not run.reads_text]
        file_runs = list_file_runs(program.name, start_command, sources, get_size, with_stand_ins=is_for_users)
        if rank == _Rank.BENCHMARK and not file_runs:
            file_runs = [RunProposal(f"{start_command} {file}", stand_in_file=file) for file in list_stand_ins(sources)]
        runs += file_runs
        # A text is short, so it is less work than a file.
        runs += [run for run in documented_runs if run.reads_text]
        if is_for_users:
            runs += [
                RunProposal(f"{start_command} {option}", may_do_nothing=True) for option in ("--version", "--help")
            ]
    return runs


def _list_test_runs_in_folders(run: RunProposal, program_name: str, sources: Sources) -> list[RunProposal]:
    """Return the commands that start a test in each folder in which it may find its data."""
    folder, _, name = program_name.rpartition("/")
    commands = []
    if folder:
        # A test may expect to start in its own folder, as build systems start it, and look for its data there.
        commands.append(build_shell_command(f"cd {folder}", f"exec ./{name}"))
    source_folder = folder.partition("/")[2]  # without the folder of the build
    if source_folder and sources.has_folder(source_folder):
        # If the build has a folder of its own, the data may lie in the folder of the test's source.
        commands.append(build_command_in_folder(source_folder, program_name))
    made_folders = list_made_folders(sources, folder)
    if made_folders:
        # It may also expect folders that only the makefile's target of the tests makes.
        steps = [*([f"cd {folder}"] if folder else []), f"mkdir -p {' '.join(made_folders)}", f"exec ./{name}"]
        commands.append(build_shell_command(*steps))
    return [replace(run, command=command, program=run.command) for command in commands]


def _list_wrapper_scripts(sources: Sources) -> list[str]:
    """Return the scripts at the top that users start like a program: they have no suffix."""
    names = [file for file in sources.files if "/" not in file and "." not in file and is_plain_path(file)]
    return [name for name in names if sources.read_text(name).startswith("#!")]


def propose_documented_command(start_command: str, command: DocumentedCommand) -> RunProposal:
    """Return a command of a document, in which the program is started from the top of the built tree."""
    line = " ".join((start_command, *command.arguments))
    if command.input_command:
        line = build_shell_command(f"{command.input_command} | {line}")
        return RunProposal(
            line, may_do_nothing=True, is_test=True, program=start_command, is_fallback=True, reads_text=True
        )
    if command.standard_input:
        line = build_shell_command(f"exec {line} < {command.standard_input}")
    is_input = not (command.is_substitute and is_about_project(command.file))
    return RunProposal(
        line,
        input_file=command.file if is_input else "",
        stand_in_file="" if is_input else command.file,
        program=start_command,
        file_may_change=command.reads_changed_file,
    )


def add_file_runs(
    runs: Iterable[RunProposal], sources: Sources, get_size: Callable[[str], int] = lambda _: 0
) -> list[RunProposal]:
    """Insert, after each command that takes files, the same command with files of the project.

    Parameters
    ----------
    get_size
        Returns the size in bytes of a file of the project, which ranks the inputs.
    """
    all_runs: list[RunProposal] = []
    for run in runs:
        all_runs.append(run)
        if run.takes_files:
            # The last word of "INTERPRETER [-m] NAME" is the script or the module.
            name = run.program.rpartition(" ")[2]
            file_runs = list_file_runs(name, run.command, sources, get_size, with_stand_ins=True)
            source = find_source(sources, _get_source_suffix(run.command), get_size)
            if source and all(source != file_run.input_file for file_run in file_runs):
                file_runs.append(RunProposal(f"{run.command} {source}", stand_in_file=source))
            all_runs += [replace(file_run, program=run.program) for file_run in file_runs]
    return all_runs


def _get_source_suffix(command: str) -> str:
    """Return the suffix of the sources of an interpreted program, given the command that starts its interpreter."""
    return _SOURCE_SUFFIXES.get(command.partition(" ")[0], ".py")


def list_file_runs(
    program: str, start_command: str, sources: Sources, get_size: Callable[[str], int], *, with_stand_ins: bool
) -> list[RunProposal]:
    """Return the commands that give a program files of the project: inputs first, then files that stand in for them.

    A command with ``is_fallback`` is only tried if earlier commands of the program failed.

    Parameters
    ----------
    program
        The name or the path of the program, which may show what it reads.
    start_command
        The command that starts the program without a file.
    with_stand_ins
        Whether to return also the commands with stand-ins, and those with an expression or an output file in addition.
    """
    inputs = list_inputs(sources, program, get_size)
    input_runs = [
        RunProposal(f"{start_command} {_OPTIONS_BEFORE.get(PurePosixPath(file).suffix, '')}{file}", input_file=file)
        for file in inputs
    ]
    runs = list(input_runs)
    other_input = find_other_input(sources, inputs) if inputs else None
    if other_input:
        runs.append(RunProposal(f"{start_command} {other_input}", input_file=other_input, is_fallback=True))
    pair = find_input_pair(inputs)
    if pair:
        # Programs that compare or combine files refuse a single one.
        runs.append(RunProposal(f"{start_command} {' '.join(pair)}", input_file=pair[0], is_fallback=True))
    input_with_partner = find_input_with_partner(sources, inputs)
    if input_with_partner:
        # So do programs that take, for example, data and a template, in either order.
        file, partner = input_with_partner
        runs += [
            RunProposal(f"{start_command} {words}", input_file=file, is_fallback=True)
            for words in (f"{partner} {file}", f"{file} {partner}")
        ]
    if with_stand_ins:
        stand_ins = [file for file in list_stand_ins(sources) if file not in inputs]
        runs += _list_stand_in_runs(start_command, input_runs, stand_ins)
    return runs


def _list_stand_in_runs(
    start_command: str, input_runs: Sequence[RunProposal], stand_ins: Sequence[str]
) -> list[RunProposal]:
    """Return the commands with stand-ins, and those with an expression or an output file in addition.

    An output file or a replacement is tried with only one file, because it fails with the others as well. The output
    file is tried before the expressions: after an expression, a program that writes to its second file would overwrite
    the input.
    """
    stand_in_runs = [RunProposal(f"{start_command} {file}", stand_in_file=file) for file in stand_ins]
    return [
        *(_add_output(run) for run in input_runs[:1]),
        *(_add_expression(start_command, run) for run in _select_of_each_kind(input_runs)),
        *stand_in_runs,
        *(_add_output(run) for run in stand_in_runs[: not input_runs]),
        *(_add_expression(start_command, run) for run in stand_in_runs),
        *(_add_expression(start_command, run, _REPLACEMENT) for run in (input_runs or stand_in_runs)[:1]),
    ]


def _select_of_each_kind(runs: Sequence[RunProposal]) -> list[RunProposal]:
    """Return a few commands with files: the first one for each kind of file, then the first of the others."""
    first_runs: dict[str, RunProposal] = {}
    for run in runs:
        first_runs.setdefault(PurePosixPath(run.file).suffix, run)
    other_runs = [run for run in runs if run not in first_runs.values()]
    return [*first_runs.values(), *other_runs][:_MAX_EXPRESSIONS]


def _add_expression(start_command: str, run: RunProposal, expression: str = _ANY_EXPRESSION) -> RunProposal:
    """Insert an expression before the file of a command, for programs that refuse a file without one."""
    return replace(run, command=f"{start_command} {expression} {run.file}", is_fallback=True)


def _add_output(run: RunProposal) -> RunProposal:
    """Add the name of a file to write, for programs that convert a file and refuse one without it."""
    output = f"faultwatch-output{PurePosixPath(run.file).suffix}"
    return replace(run, command=f"{run.command} {output}", is_fallback=True)


def find_load_generator(name: str, programs: Iterable[BuiltProgram]) -> str:
    """Return how a load generator is started: the host's, else the one that was built; empty if there is none."""
    if shutil.which(name, path=PROCESS_VARIABLES["PATH"]):
        return name
    return next((get_start_command(program.name) for program in programs if Path(program.name).name == name), "")
