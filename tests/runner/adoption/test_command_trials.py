import shlex
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from runner.adoption import command_trials
from runner.adoption.command_trials import FirstMeasurement, redirect_file_to_input
from runner.adoption.larger_folder import run_in_folder
from runner.adoption.needless_commands import has_enough_inputs
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.tried_command import TriedCommand
from runner.contract.report import Revision
from runner.errors import FaultwatchError
from runner.execution.execute import ProgramResult
from runner.servers.listening import Listener
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_places import BuildPlaces
from runner.subject.repository import open_repository
from tests.runner.adoption.listings import listing


@pytest.mark.parametrize(
    ("command", "faults", "alone", "single"),
    [
        ("venv/bin/python x.py", (818, 818, 819), (813, 813, 813), True),
        ("venv/bin/python x.py", (818, 818, 818), (813, 813, 813), True),
        ("venv/bin/python x.py", (818, 818, 818), (818, 818, 818), False),
        ("venv/bin/python x.py", (818, 818, 819), (813, 813, 814), False),
        ("venv/bin/python x.py", (818, 818, 819), (), False),
        ("./x", (818, 818, 819), (813, 813, 813), True),
        ("./x", (818, 818, 818), (813, 813, 813), False),
    ],
)
def test_a_count_that_threads_move_is_taken_with_one(
    command: str, faults: tuple[int, ...], alone: tuple[int, ...], single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trial(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        return TriedCommand(run, alone if "OMP_NUM_THREADS" in run.environment else faults)

    monkeypatch.setattr(FirstMeasurement, "_try_run", trial)
    first = FirstMeasurement.__new__(FirstMeasurement)
    steady = first.find_stable_environment(
        BuildProposal("Python", ""), TriedCommand(RunProposal(command), faults), Path()
    )
    assert (steady.run.environment == {"OMP_NUM_THREADS": "1"}) is single


def test_a_count_that_any_variable_moves_is_not_moved_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (1315,) * 3))
    first = FirstMeasurement.__new__(FirstMeasurement)
    before = TriedCommand(RunProposal("python3 x.py"), (1318,) * 3)
    assert first.find_stable_environment(BuildProposal("Python", ""), before, Path()) == before


GO = ({"GOGC": "off"}, {"GOGC": "off", "GOMAXPROCS": "1"})


@pytest.mark.parametrize(
    ("without", "off", "single", "chosen"),
    [
        ((900, 950, 990), (700, 700, 700), (600, 600, 600), GO[0]),
        ((900, 950, 990), (700, 730, 790), (600, 600, 600), GO[1]),
        ((900, 950, 990), (700, 730, 790), (600, 605, 601), GO[1]),
        ((900, 950, 990), (700, 701, 702), (600, 602, 604), GO[0]),
        ((900, 950, 990), (700, 730, 790), (600, 650, 630), {}),
        ((900, 950, 990), (), (), {}),
        ((900, 900, 900), (700, 700, 700), (600, 600, 600), {}),
    ],
)
def test_the_count_of_a_go_program_is_taken_without_its_collector_and_threads_if_that_steadies_it(
    without: tuple[int, ...],
    off: tuple[int, ...],
    single: tuple[int, ...],
    chosen: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trial(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        return TriedCommand(
            run, single if "GOMAXPROCS" in run.environment else off if "GOGC" in run.environment else without
        )

    monkeypatch.setattr(FirstMeasurement, "_try_run", trial)
    first = FirstMeasurement.__new__(FirstMeasurement)
    steady = first.find_stable_environment(
        BuildProposal("Go", "", ("go",)), TriedCommand(RunProposal("./x"), without), Path()
    )
    assert steady.run.environment == chosen


def test_the_count_of_a_go_program_with_random_keys_is_taken_with_a_fixed_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def trial(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        return TriedCommand(run, (800,) * 3 if run.environment.get("GODEBUG") == "randautoseed=0" else (900, 950, 990))

    monkeypatch.setattr(FirstMeasurement, "_try_run", trial)
    first = FirstMeasurement.__new__(FirstMeasurement)
    random_keys = TriedCommand(RunProposal("bin/benchmarks"), (900, 950, 990))
    steady = first.find_stable_environment(BuildProposal("Go", "", ("go",)), random_keys, Path())
    assert steady.faults == (800,) * 3


@pytest.mark.parametrize(
    ("without", "with_variables", "is_kept"),
    [
        # The first three executions without the variables agree by chance.
        ((1730, 1750, 1807, 1660, 2701, 2500, 2640, 1900, 2200), (4307, 4329, 4310) * 3, True),
        # A wider range of a much larger count is narrower.
        ((6916, 7400, 8056, 7000, 7800, 7100, 7900, 7200, 7700), (24463, 24500, 25100) * 3, True),
        # So is one whose middle half is narrower, though both have outliers.
        ((6900, 7000, 7916, 6980, 7100, 6950, 7150, 5489, 7300), (25146, 25346, 25200, 25300, 25341, 24600) * 2, True),
        # The first three with them agree by chance.
        ((13399, 13500, 13682, 13400, 13402, 13650, 13401, 13405, 13400), (13401, 13428, 13410, 13648, 13600), False),
        # A single outlier without them is chance, too.
        ((818, 819, 1200, 818, 819, 818, 818, 819, 818), (818, 819, 820) * 3, False),
    ],
)
def test_more_executions_decide_whether_variables_narrow_a_range(
    without: tuple[int, ...], with_variables: tuple[int, ...], *, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {False: list(without[3:]), True: list(with_variables)}

    def trial(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        remaining = counts["GOGC" in run.environment]
        faults, remaining[:3] = tuple(remaining[:3]), []
        return TriedCommand(run, faults)

    monkeypatch.setattr(FirstMeasurement, "_try_run", trial)
    monkeypatch.setattr(FirstMeasurement, "list_variables", lambda *_: (GO[1],))
    first = FirstMeasurement.__new__(FirstMeasurement)
    before = TriedCommand(RunProposal("./x"), without[:3])
    steady = first.find_stable_environment(BuildProposal("Go", "", ("go",)), before, Path())
    assert (steady.run.environment == GO[1]) is is_kept
    assert is_kept or steady is before


def test_a_script_that_starts_the_jvm_gets_variables_of_the_jvm() -> None:
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({"run.sh": "#!/bin/sh\nexec java -cp . Main\n", "other.sh": "./javac-like\n"})
    make = BuildProposal("Make", "make", ("make",))
    options = [variables["JAVA_TOOL_OPTIONS"] for variables in first.list_variables(make, RunProposal("sh run.sh"))]
    assert options == ["-XX:+UseSerialGC -Xbatch", "-XX:+UseSerialGC -Xbatch -XX:TieredStopAtLevel=1"]
    assert first.list_variables(make, RunProposal("sh other.sh")) == ({"OMP_NUM_THREADS": "1"},)


@pytest.mark.parametrize(
    ("run", "asked", "command"),
    [
        (RunProposal("./x a.txt b.txt", input_file="a.txt"), "./x --help", "./x -t 1 a.txt b.txt"),
        (RunProposal("./x faultwatch-input.txt", input_file="a.txt"), "./x --help", "./x -t 1 faultwatch-input.txt"),
        (RunProposal("./x map a.txt", input_file="a.txt"), "./x map --help", "./x map -t 1 a.txt"),
        (RunProposal("./x"), "./x --help", "./x -t 1"),
        (RunProposal("./x"), "./x", "./x -t 1"),
        (
            RunProposal("sh -c 'exec ./x < a.txt'", input_file="a.txt", program="./x"),
            "./x --help",
            "sh -c 'exec ./x -t 1 < a.txt'",
        ),
        (run_in_folder(RunProposal("bin/x"), "many"), "bin/x --help", "sh -c 'cd many && exec ../bin/x -t 1'"),
        (
            RunProposal("sh -c 'cd examples/x && exec ../../bin/x'", program="bin/x"),
            "bin/x --help",
            "sh -c 'cd examples/x && exec ../../bin/x -t 1'",
        ),
        (RunProposal("python3 x.py"), "python3 x.py --help", ""),
        (
            RunProposal("sh -c 'venv/bin/python -m x a.json; test $? -eq 1'", input_file="a.json"),
            "venv/bin/python -m x --help",
            "",
        ),
        (
            RunProposal("sh -c './x a.txt; test $? -eq 1'", input_file="a.txt"),
            "./x --help",
            "sh -c './x -t 1 a.txt; test $? -eq 1'",
        ),
        (RunProposal("./x"), "./x --version", ""),
    ],
)
def test_the_programs_own_option_for_one_thread_is_found_in_its_help(
    run: RunProposal, asked: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(_: object, workload: str, __: Path) -> ProgramResult:
        text = "Usage: x [options] file\n  -t INT  number of threads [3]\n" if workload == asked else "unknown option"
        return ProgramResult(0, text, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_command", execute)
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: TriedCommand(run, (7, 7) if "-t 1" in run.command else (5, 6)),
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    result = first.find_single_thread_command(BuildProposal("Make", "make"), TriedCommand(run, (5, 6)), Path())
    assert (result.run.command if result else "") == command


@pytest.mark.parametrize(
    ("with_files", "without_files", "status", "is_found"),
    [
        ("a.c\nb.c\n", "", 0, True),
        ("usage: x\n", "usage: x\n", 0, False),
        ("no such pattern\nusage: x\n", "", 1, False),
    ],
)
def test_a_program_works_on_its_folder_if_it_prints_more_there_than_in_an_empty_one(
    with_files: str, without_files: str, status: int, *, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def execute(_: object, workload: str, __: Path) -> ProgramResult:
        is_empty = "mkdir" in workload
        return ProgramResult(0 if is_empty else status, without_files if is_empty else with_files, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_command", execute)
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({f"src/{number}.c": "" for number in range(10)})
    tried = TriedCommand(RunProposal("bin/x", may_do_nothing=True), (90, 90))
    folder = first.find_folder_to_copy(BuildProposal("Make", "make"), tried, Path())
    assert folder == (("src", 200) if is_found else None)


@pytest.mark.parametrize(("faults", "command"), [((9_000, 9_000), "./solve 64 64 64"), ((), "./solve")])
def test_a_program_that_asks_for_sizes_gets_some(
    faults: tuple[int, ...], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement,
        "_execute_command",
        lambda *_: ProgramResult(1, "Usage: ./solve nx ny nz\n", "", 0.1, 1.0),
    )
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: TriedCommand(run, faults if "64" in run.command else (), "it asks for arguments"),
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    run = RunProposal("./solve", may_do_nothing=True)
    (tried,) = first.try_runs(BuildProposal("Make", "make"), [run], Path(), lambda _: None)
    assert (tried.run.command, tried.faults) == (command, faults)


@pytest.mark.parametrize(
    ("printed", "command"),
    [
        ("ERROR: Cannot open in.txt\n", "sh -c 'cd ref && exec ./solve'"),
        ("ERROR: Cannot open other.txt\n", "ref/solve"),
        ("solved in.txt\n", "ref/solve"),
    ],
)
def test_a_program_that_cannot_open_a_file_of_its_folder_starts_there(
    printed: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FirstMeasurement, "_execute_command", lambda *_: ProgramResult(0, printed, "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (90, 90)))
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({"ref/in.txt": "", "ref/solve.c": ""})
    run = RunProposal("ref/solve", may_do_nothing=True)
    (tried,) = first.try_runs(BuildProposal("Make", "make"), [run], Path(), lambda _: None)
    assert tried.run.command == command


def test_an_input_is_made_in_the_format_that_a_usage_names(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"./x --help": "Usage: x <in.fq>\n"}
    monkeypatch.setattr(
        FirstMeasurement,
        "_execute_command",
        lambda _, command, __: ProgramResult(1, texts.get(command, "no .fq"), "", 0.1, 1.0),
    )
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    build = BuildProposal("Make", "make")
    refused = [TriedCommand(RunProposal("./x LICENSE", stand_in_file="LICENSE"), ())]
    proposal = first.propose_made_input(build, refused, Path())
    assert proposal
    assert proposal[0].command.startswith("sh -c 'make && for ")
    assert [run.command for run in proposal[1]] == ["./x faultwatch-input.fq"]
    texts.clear()
    assert first.propose_made_input(build, refused, Path()) is None, "only a usage says what a program reads"
    texts["./x --help"] = "Usage: x <in.fq>\n"
    assert first.propose_made_input(build, [TriedCommand(RunProposal("./x"), ())], Path()) is None, "it may be a test"


@pytest.mark.parametrize(
    ("bare_faults", "faults", "chosen"),
    [
        (5_200, {"-n 64 64 64": (90_000, 5.0), "-n 32 32 32": (15_000, 0.6)}, "bin/amg -n 32 32 32"),
        (5_200, {"-n 64 64 64": (15_000, 0.6)}, "bin/amg -n 64 64 64"),
        (5_200, {"-n 64 64 64": (5_300, 0.6)}, "bin/amg"),
        (5_200, {}, "bin/amg"),
    ],
)
def test_a_program_that_works_without_arguments_gets_the_sizes_of_its_help_if_it_then_works_more(
    bare_faults: int, faults: dict[str, tuple[int, float]], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def try_run(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        if run.command == "bin/amg":
            return TriedCommand(run, (bare_faults, bare_faults + 1), seconds=0.4, cpu_seconds=0.1)
        count, seconds = faults.get(run.command.removeprefix("bin/amg "), (0, 1.0))
        return TriedCommand(run, (count,) if count else (), seconds=seconds, cpu_seconds=seconds)

    def execute(_: object, workload: str, tree: Path) -> ProgramResult:
        help_text = (
            "Usage: amg [<options>]\n  -n <nx> <ny> <nz>   : size\n" if workload == "bin/amg -help" else "done\n"
        )
        return ProgramResult(0, help_text, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "_try_run", try_run)
    monkeypatch.setattr(FirstMeasurement, "_execute_command", execute)
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    (result,) = first.try_runs(
        BuildProposal("Make", "make"), [RunProposal("bin/amg", may_do_nothing=True)], Path(), lambda _: None
    )
    assert result.run.command == chosen


@pytest.mark.parametrize(("printed", "seconds"), [("Usage: x FILE\n", 0.1), ("computing\n", 20.0)])
def test_a_program_is_not_asked_again_for_sizes_if_its_help_names_none_or_it_computes_instead(
    printed: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def execute(_: object, command: str, tree: Path) -> ProgramResult:
        asked.append(command)
        return ProgramResult(None if seconds == 20.0 else 0, printed, "", seconds, 20.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_command", execute)
    monkeypatch.setattr(FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (90, 90)))
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    list(first.try_runs(BuildProposal("Make", "make"), [RunProposal("./x", may_do_nothing=True)], Path(), lambda _: ""))
    assert asked == ["./x --help"]


def fake_trial(outcomes: dict[str, TriedCommand | None], monkeypatch: pytest.MonkeyPatch) -> list[TriedCommand]:
    """Let the commands of a program fail, or work, and return what was tried."""
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: replace(outcomes.get(run.command) or TriedCommand(run, (), "it failed"), run=run),
    )
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: None)
    monkeypatch.setattr(FirstMeasurement, "_describe_unread_input", lambda *_: "it prints an error")
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./x", from_service_file=True),
        RunProposal("./x t/a", input_file="t/a"),
        RunProposal("./x t/a t/b", input_file="t/a", is_fallback=True),
    ]
    return list(first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None))


def test_a_program_that_never_ends_is_not_asked_for_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (), "too long", timed_out=True)
    )
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: None)
    monkeypatch.setattr(FirstMeasurement, "_try_shorter_run", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("bin/gen", may_do_nothing=True),
        RunProposal("bin/gen a.md", input_file="a.md"),
        RunProposal("bin/gen --version", may_do_nothing=True),
        RunProposal("bin/other", may_do_nothing=True),
    ]
    tried = list(first.try_runs(BuildProposal("Go", "go build"), runs, Path(), lambda _: None))
    assert [result.run.command for result in tried] == [
        "bin/gen",
        "bin/gen a.md",
        "bin/other",
    ]


def test_a_program_that_works_without_a_file_and_never_ends_with_one_gets_no_third(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: (
            TriedCommand(run, (), "too long", timed_out=True, seconds=20) if run.file else TriedCommand(run, (88, 88))
        ),
    )
    monkeypatch.setattr(FirstMeasurement, "_try_larger_sizes", lambda _, __, tried, ___: tried)
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: None)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./x", may_do_nothing=True)]
    runs += [RunProposal(f"./x {words}", stand_in_file="LICENSE") for words in ("LICENSE", ". LICENSE", "LICENSE out")]
    results = list(first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None))
    assert [result.run.command for result in results] == ["./x", "./x LICENSE", "sh -c 'exec ./x < LICENSE'"]


def test_a_test_that_works_without_a_file_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (9, 9)))
    monkeypatch.setattr(FirstMeasurement, "_describe_unread_input", lambda *_: "")
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./test_x", may_do_nothing=True, is_test=True),
        RunProposal("./test_x a.json", input_file="a.json", program="./test_x"),
    ]
    results = list(first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None))
    assert [result.run.command for result in results] == ["./test_x"]


@pytest.mark.parametrize(("cpu_seconds", "files"), [(4.0, {"", "t/a"}), (0.01, {"", "t/a", "LICENSE"})])
def test_a_program_that_computes_for_long_without_a_file_gets_inputs_but_no_stand_in(
    cpu_seconds: float, files: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (9_000, 9_000), cpu_seconds=cpu_seconds)
    )
    monkeypatch.setattr(FirstMeasurement, "_try_larger_sizes", lambda _, __, tried, ___: tried)
    monkeypatch.setattr(FirstMeasurement, "_describe_unread_input", lambda *_: "")
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./hpc", may_do_nothing=True),
        RunProposal("./hpc LICENSE", stand_in_file="LICENSE"),
        RunProposal("./hpc t/a", input_file="t/a"),
    ]
    results = first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None)
    assert {result.run.file for result in results} == files


@pytest.mark.parametrize(("cpu_seconds", "commands"), [(0.1, ["./hpc", "./hpc -n 50 50 50"]), (0.5, ["./hpc"])])
def test_documented_sizes_are_tried_if_a_program_may_only_start_without_them(
    cpu_seconds: float, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (900, 900), cpu_seconds=cpu_seconds)
    )
    monkeypatch.setattr(FirstMeasurement, "_try_larger_sizes", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./hpc", may_do_nothing=True),
        RunProposal("./hpc -n 50 50 50"),
        RunProposal("./hpc --help", may_do_nothing=True),
    ]
    results = first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None)
    assert [result.run.command for result in results] == commands


@pytest.mark.parametrize(
    ("command", "shorter"),
    [
        ("bin/md", "bin/md --nsteps 10"),
        ("sh -c 'cd ref && exec ./md'", "sh -c 'cd ref && exec ./md --nsteps 10'"),
    ],
)
def test_a_program_that_takes_too_long_computes_fewer_steps_in_any_folder(
    command: str, shorter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def try_run(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        seconds = 0.5 if "--nsteps 10" in run.command else 7.0
        return TriedCommand(run, (42_000, 42_000), seconds=seconds, cpu_seconds=seconds)

    help_text = "Usage: md\n  -n / --nsteps <int>:  set number of timesteps\n"
    monkeypatch.setattr(FirstMeasurement, "_try_run", try_run)
    monkeypatch.setattr(FirstMeasurement, "_execute_command", lambda *_: ProgramResult(0, help_text, "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    runs = [RunProposal(command, may_do_nothing=True, program="ref/md")]
    (result,) = first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None)
    assert result.run.command == shorter


def test_a_program_without_a_help_that_takes_too_long_gets_an_option_that_it_scans(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def try_run(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        is_short = run.command.endswith("--num=10000")
        return TriedCommand(run, (900, 900) if is_short else (), timed_out=not is_short, seconds=0.5)

    (tmp_path / "db_bench").write_bytes(b"\x7fELF\0--num=%d%c\0--cache_size=%d\0")
    monkeypatch.setattr(FirstMeasurement, "_try_run", try_run)
    monkeypatch.setattr(FirstMeasurement, "_execute_command", lambda *_: ProgramResult(1, "bad flag", "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    (result,) = first.try_runs(BuildProposal("Make", "make"), [RunProposal("./db_bench")], tmp_path, lambda _: None)
    assert result.run.command == "./db_bench --num=10000"


def test_two_inputs_at_once_are_tried_only_where_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    works = TriedCommand(RunProposal(""), (9, 9))
    results = fake_trial({"./x t/a t/b": works}, monkeypatch)
    assert [result.run.command for result in results if result.faults] == ["./x t/a t/b"]
    results = fake_trial({"./x t/a": works, "./x t/a t/b": works}, monkeypatch)
    assert "./x t/a t/b" not in [result.run.command for result in results]
    results = fake_trial({"./x": works, "./x t/a t/b": works}, monkeypatch)
    assert "./x t/a t/b" in [result.run.command for result in results], "it may only start without a file"


@pytest.mark.parametrize(("folder", "command"), [("lib", "./x t/a"), ("two words", "")])
def test_a_program_that_does_not_find_its_own_library_is_told_where_it_is(
    folder: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "libx.so.1").write_bytes(b"")
    problem = "./x: error while loading shared libraries: libx.so.1: cannot open shared object file"

    def try_run(_: object, __: object, run: RunProposal, ___: Path) -> TriedCommand:
        found = run.environment == {"LD_LIBRARY_PATH": "lib"}
        return TriedCommand(run, (90, 90) if found else (), "" if found else problem)

    monkeypatch.setattr(FirstMeasurement, "_try_run", try_run)
    first = FirstMeasurement.__new__(FirstMeasurement)
    result = first._try_program_or_server(BuildProposal("Make", "make"), WITH_FILE, tmp_path)
    assert (result.run.command if result.faults else "") == command


def test_a_test_that_takes_too_long_is_not_started_in_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    test = RunProposal("build/x_test", may_do_nothing=True, is_test=True, program="build/x_test")
    in_folder = replace(test, command="sh -c 'cd build && exec ./x_test'")
    failed = TriedCommand(test, (), "it failed")
    assert len(try_file_runs({test.command: failed}, monkeypatch, test, in_folder)) == 2
    slow = replace(failed, timed_out=True)
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: None)
    monkeypatch.setattr(FirstMeasurement, "_try_other_length", lambda _, __, result, ___: result)
    assert try_file_runs({test.command: slow}, monkeypatch, test, in_folder) == [test.command]


def test_an_expression_is_tried_with_further_files_while_the_program_hardly_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [RunProposal(f"./x . t/{name}", input_file=f"t/{name}", is_fallback=True) for name in "ab"]
    start = TriedCommand(RunProposal(""), (386, 386), cpu_seconds=0.002)
    commands = [run.command for run in runs]
    assert try_file_runs(dict.fromkeys(commands, start), monkeypatch, WITH_FILE, *runs)[-2:] == commands
    works = replace(start, faults=(900, 900), cpu_seconds=0.1)
    assert try_file_runs(dict.fromkeys(commands, works), monkeypatch, WITH_FILE, *runs)[-1] == commands[0]
    assert try_file_runs({"./x t/a": start}, monkeypatch, WITH_FILE, *runs)[-1] == "./x t/a"


@pytest.mark.parametrize(
    ("faults", "found"),
    [
        ({"a": 1000, "b": 1200, "c": 9000}, "./x t/c.gv"),
        ({"a": 1000, "b": 1100, "c": 1149}, ""),
        ({"a": 1000, "b": 1200, "c": None}, "./x t/b.gv"),
        ({"a": None, "b": 1200, "c": None}, ""),
    ],
)
def test_the_similar_input_that_causes_the_most_faults_is_tried(
    faults: dict[str, int | None], found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "test").mkdir()
    for name in faults:
        (tmp_path / f"test/{name}.gv").write_text("main()")
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({f"test/{name}.gv": "" for name in faults})
    monkeypatch.setattr(
        FirstMeasurement, "_count_faults_roughly", lambda _, __, run, ___: faults[Path(run.command).stem]
    )
    run = RunProposal("./x test/a.gv", input_file="test/a.gv")
    reading = TriedCommand(run, (150, 150), seconds=0.01)
    heaviest = first._find_heaviest_input(BuildProposal("Make", "make"), [reading], tmp_path)
    assert (heaviest.command if heaviest else "").replace("test/", "t/") == found
    assert not heaviest or heaviest.is_heaviest
    slow = TriedCommand(RunProposal("./x test/s.gv", input_file="test/s.gv"), (8000, 8000), seconds=9.0)
    assert first._find_heaviest_input(BuildProposal("Make", "make"), [slow], tmp_path) is None
    assert first._find_heaviest_input(BuildProposal("Make", "make"), [reading, slow], tmp_path) == heaviest


@pytest.mark.parametrize(("status", "output", "is_known"), [(0, "3", True), (1, "3", False), (0, "error: x", False)])
def test_the_faults_of_one_execution_are_known_unless_it_fails(
    status: int, output: str, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda *_: None)

    def execute(*_: object) -> ProgramResult:
        subprocess.run([sys.executable, "-c", ""], check=True)
        return ProgramResult(status, output, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_command", execute)
    first = FirstMeasurement.__new__(FirstMeasurement)
    faults = first._count_faults_roughly(BuildProposal("Make", ""), RunProposal("./x"), Path())
    assert (faults is not None) is is_known
    assert faults is None or faults > 100


def test_a_file_that_an_execution_overwrites_differs_from_the_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "LICENSE"
    monkeypatch.setattr(command_trials, "restore_tree", lambda _: file.write_text("License"))
    first = FirstMeasurement.__new__(FirstMeasurement)
    for text in ("", "LICENSE"):
        file.write_text(text)
        assert first._differs_from_build(tmp_path, "LICENSE")
    file.write_text("License")
    assert not first._differs_from_build(tmp_path, "LICENSE")


@pytest.mark.parametrize(
    ("faults", "cpu_seconds", "n_tried"), [(63, 0.001, 3), (160, 0.008, 3), (160, 0.3, 1), (600, 0.008, 1)]
)
def test_files_that_have_changed_lately_are_tried_only_if_others_cause_hardly_any_work(
    faults: int, cpu_seconds: float, n_tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = TriedCommand(RunProposal(""), (faults, faults), cpu_seconds=cpu_seconds)
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: replace(works if run.command == "./x t/a" else TriedCommand(run, (289, 289)), run=run),
    )
    runs = [
        RunProposal("./x t/a", input_file="t/a"),
        RunProposal("./x x.c t/a", input_file="x.c", file_may_change=True),
        RunProposal("./x x.c x.c t/a", input_file="x.c", file_may_change=True),
    ]
    first = FirstMeasurement.__new__(FirstMeasurement)
    results = list(first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None))
    assert len(results) == n_tried


def test_what_a_container_starts_alone_may_do_nothing_unless_it_is_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = fake_trial({"./x": TriedCommand(RunProposal(""), (9, 9))}, monkeypatch)
    assert first.run.may_do_nothing


@pytest.mark.parametrize(
    ("command", "libraries", "is_server"),
    [
        ("java -cp x p.DecodeBenchmark", (), False),
        ("java -cp x p.App", (), True),
        ("java -cp x org.junit.platform.console.ConsoleLauncher execute", (), False),
        ("venv/bin/python -m pytest -q tests", (), False),
        ("bin/tests -test.parallel=1", (), False),
        ("./clover", ("libc.so.6",), True),
        ("./clover", ("libmpi_mpifh.so.40", "libc.so.6"), False),
    ],
)
def test_a_benchmark_a_suite_of_tests_or_a_program_of_mpi_that_takes_too_long_is_no_server(
    command: str, libraries: tuple[str, ...], is_server: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.adoption.command_trials.list_needed_libraries", lambda _: libraries)
    monkeypatch.setattr(
        FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (), "too long", timed_out=True)
    )
    listening = RunProposal(command, obstacle="it listens")
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: listening)
    monkeypatch.setattr(FirstMeasurement, "_try_shorter_run", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    results = list(first.try_runs(BuildProposal("Maven", ""), [RunProposal(command)], Path(), lambda _: None))
    assert [result.run.is_server for result in results] == [is_server]


def test_a_program_of_mpi_whose_standard_input_is_a_file_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "runner.adoption.command_trials.list_needed_libraries",
        lambda program: ("libmpi.so.40",) if program.name == "clover" else (),
    )
    monkeypatch.setattr(
        FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (), "too long", timed_out=True)
    )
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda _, __, run, ___: replace(run, obstacle="it listens"))
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./clover LICENSE", stand_in_file="LICENSE")]
    with_file, redirected = first.try_runs(BuildProposal("Make", ""), runs, Path(), lambda _: None)
    assert redirected.run.command == "sh -c 'exec ./clover < LICENSE'"
    assert [with_file.run.is_server, redirected.run.is_server] == [False, False]


@pytest.mark.parametrize(("faults", "n_tried"), [((9, 9, 9), 1), ((), 2)])
def test_a_benchmark_gets_an_input_only_where_it_does_not_work_alone(
    faults: tuple[int, ...], n_tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "_try_run", lambda _, __, run, ___: TriedCommand(run, (7, 7, 7) if run.file else faults)
    )
    monkeypatch.setattr(FirstMeasurement, "_try_with_arguments", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./speed"), RunProposal("./speed t/a", input_file="t/a")]
    assert len(list(first.try_runs(BuildProposal("Make", ""), runs, Path(), lambda _: None))) == n_tried


@pytest.mark.parametrize(("names_vary", "digest"), [(True, "log of 1"), (False, "with t/a")])
def test_a_program_that_names_files_after_the_time_opens_its_input_only_if_the_count_says_so(
    names_vary: bool, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executions = iter(range(1, 10))

    def try_run(_: object, __: BuildProposal, run: RunProposal, ___: Path) -> TriedCommand:
        number = next(executions) if names_vary else 1
        own_bytes = f"log of {number}" if names_vary or not run.file else f"with {run.file}"
        return TriedCommand(run, (200, 205), own_bytes=own_bytes)

    monkeypatch.setattr(FirstMeasurement, "_try_run", try_run)
    monkeypatch.setattr(FirstMeasurement, "_try_larger_sizes", lambda _, __, tried, ___: tried)
    monkeypatch.setattr(FirstMeasurement, "_takes_file_for_text", lambda *_: False)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./hpc", may_do_nothing=True), RunProposal("./hpc t/a", input_file="t/a")]
    bare, with_file = islice(first.try_runs(BuildProposal("Make", ""), runs, Path(), lambda _: None), 2)
    assert bare.own_bytes == "log of 1"
    assert with_file.own_bytes == digest


def test_the_size_of_an_input_is_known_after_the_program_removed_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command_trials, "restore_tree", lambda tree: (tree / "a.txt").write_text("text"))
    first = FirstMeasurement.__new__(FirstMeasurement)
    assert first.get_input_size(RunProposal("./x a.txt", input_file="a.txt"), tmp_path) == 4
    assert first.get_input_size(RunProposal("./x b.txt", input_file="b.txt"), tmp_path) == 0
    assert first.get_input_size(RunProposal("./x"), tmp_path) == 0


def test_a_file_is_redirected_to_the_script_of_an_interpreter() -> None:
    run = RunProposal("node --single-threaded bin/x a.js", input_file="a.js", program="bin/x")
    assert redirect_file_to_input(run).command == "sh -c 'exec node --single-threaded bin/x < a.js'"
    run = RunProposal("node d in.txt", input_file="in.txt", program="d")
    assert redirect_file_to_input(run).command == "sh -c 'exec node d < in.txt'"
    assert redirect_file_to_input(RunProposal("./x -f a.awk", input_file="a.awk")).command == "sh -c 'exec ./x < a.awk'"


def try_file_runs(
    outcomes: dict[str, TriedCommand], monkeypatch: pytest.MonkeyPatch, *runs: RunProposal, help_text: str = ""
) -> list[str]:
    """Try commands that fail unless they are listed, and return what was tried."""
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: replace(outcomes.get(run.command) or TriedCommand(run, (), "it failed"), run=run),
    )
    monkeypatch.setattr(FirstMeasurement, "_describe_unread_input", lambda *_: "")
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda *_: None)
    monkeypatch.setattr(FirstMeasurement, "_execute_command", lambda *_: ProgramResult(0, help_text, "", 0.1, 1.0))
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = getattr(FirstMeasurement, "sources", listing({}))
    return [tried.run.command for tried in first.try_runs(BuildProposal("Make", ""), runs, Path(), lambda _: None)]


BARE, WITH_FILE, WITH_OTHER_FILE = (
    RunProposal("./x", may_do_nothing=True),
    RunProposal("./x t/a", input_file="t/a"),
    RunProposal("./x t/b", input_file="t/b"),
)
FROM_INPUT, OTHER_FROM_INPUT = "sh -c 'exec ./x < t/a'", "sh -c 'exec ./x < t/b'"


@pytest.mark.parametrize(("seconds", "last"), [(1.0, "./x t/c"), (20.0, "./x t/b")])
def test_a_program_that_takes_long_to_fail_is_not_tried_with_further_files(
    seconds: float, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = RunProposal("./x --version", may_do_nothing=True)
    runs = [BARE, WITH_FILE, WITH_OTHER_FILE, RunProposal("./x t/c", input_file="t/c"), version]
    failures = {run.command: TriedCommand(run, (), "it failed", seconds=seconds) for run in runs}
    tried = try_file_runs(failures, monkeypatch, *runs)
    assert [command for command in tried if "<" not in command][-2:] == [last, "./x --version"]


@pytest.mark.parametrize("seconds", [7.0, 20.0])
def test_a_program_that_is_slow_with_one_input_is_tried_with_others(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = TriedCommand(WITH_FILE, (90,) if seconds < 20 else (), timed_out=seconds == 20, seconds=seconds)
    quick = TriedCommand(WITH_OTHER_FILE, (900,), seconds=0.1)
    outcomes = {"./x t/a": slow, "./x t/b": quick, "./x": TriedCommand(BARE, (80,))}
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: None)
    monkeypatch.setattr(FirstMeasurement, "_try_larger_sizes", lambda _, __, tried, ___: tried)
    assert try_file_runs(outcomes, monkeypatch, BARE, WITH_FILE, WITH_OTHER_FILE) == ["./x", "./x t/a", "./x t/b"]


@pytest.mark.parametrize(("n_tests", "first"), [(30, "./test_25"), (5, "./test_0")])
def test_of_many_tests_those_that_take_the_most_faults_are_tried_first(
    n_tests: int, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = [RunProposal(f"./test_{number}", may_do_nothing=True, is_test=True) for number in range(n_tests)]
    runs = [BARE, *tests, replace(tests[-1], command=f"{tests[-1].command} t/a", input_file="t/a"), WITH_FILE]
    monkeypatch.setattr(
        FirstMeasurement,
        "_count_faults_roughly",
        lambda _, __, run, ___: {"./test_25": 7000, "./test_3": None}.get(run.command, 118),
    )
    first_measurement = FirstMeasurement.__new__(FirstMeasurement)
    ordered = first_measurement._put_heaviest_tests_first(BuildProposal("Make", ""), runs, Path())
    assert sorted(run.command for run in ordered) == sorted(run.command for run in runs)
    assert [run.command for run in ordered[:2]] == ["./x", first]
    assert ordered[-1] is WITH_FILE


@pytest.mark.parametrize(("faults", "is_enough"), [(150, False), (900, True)])
def test_more_inputs_are_tried_while_each_hardly_does_more_than_start(faults: int, *, is_enough: bool) -> None:
    runs = [RunProposal(f"./x t/{number}", input_file=f"t/{number}") for number in range(9)]
    results = [TriedCommand(run, (faults,), cpu_seconds=0.002, seconds=0.002) for run in runs]
    assert has_enough_inputs(runs[4], results[:4]) is is_enough
    assert has_enough_inputs(runs[8], results[:8])


@pytest.mark.parametrize("is_test", [True, False])
def test_a_test_that_ignores_two_files_gets_no_other(monkeypatch: pytest.MonkeyPatch, *, is_test: bool) -> None:
    bare = replace(BARE, is_test=is_test)
    runs = [bare, WITH_FILE, WITH_OTHER_FILE, RunProposal("./x t/c", input_file="t/c")]
    outcomes = {run.command: TriedCommand(run, (119,), cpu_seconds=0.001, own_bytes="same") for run in runs}
    monkeypatch.setattr(FirstMeasurement, "_try_larger_sizes", lambda _, __, tried, ___: tried)
    tried = try_file_runs(outcomes, monkeypatch, *runs)
    assert ("./x t/c" in tried) is not is_test
    assert "./x t/b" in tried


@pytest.mark.parametrize(("seconds", "tries_more"), [(3.0, True), (11.0, False)])
def test_while_no_input_is_quick_a_few_more_are_tried(seconds: float, *, tries_more: bool) -> None:
    slow = [TriedCommand(run, (900,), seconds=seconds) for run in (WITH_FILE, WITH_OTHER_FILE)]
    third = RunProposal("./x t/c", input_file="t/c")
    assert has_enough_inputs(third, slow) is not tries_more
    assert has_enough_inputs(third, [*slow, TriedCommand(third, (800,), seconds=0.1)]), "one was quick"


@pytest.mark.parametrize(
    ("problem", "last"),
    [("Error: Cannot find module '../lib/x.js'", FROM_INPUT), ("Error: no view", "./x --version")],
)
def test_a_program_that_lacks_a_module_is_not_tried_with_further_files(
    problem: str, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [BARE, WITH_FILE, WITH_OTHER_FILE, RunProposal("./x --version", may_do_nothing=True)]
    commands = [*(run.command for run in runs), FROM_INPUT, OTHER_FROM_INPUT]
    failures = {command: TriedCommand(BARE, (), problem) for command in commands}
    assert try_file_runs(failures, monkeypatch, *runs)[-1] == last


def test_the_subcommands_of_a_program_are_tried_where_it_refuses_each_file(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = (WITH_FILE, RunProposal("./x --help", may_do_nothing=True))
    help_text = "Commands:\n  sort  Sort\n"
    works = TriedCommand(WITH_FILE, (9, 9))
    tried = try_file_runs({"./x sort t/a": works}, monkeypatch, *runs, help_text=help_text)
    assert tried == ["./x t/a", FROM_INPUT, "./x sort t/a"]
    tried = try_file_runs({"./x t/a": works}, monkeypatch, *runs, help_text=help_text)
    assert tried == ["./x t/a"]
    usage = replace(works, prints_usage=True)
    tried = try_file_runs({"./x t/a": usage, "./x sort t/a": works}, monkeypatch, *runs, help_text=help_text)
    assert "./x sort t/a" in tried, "it only prints its usage"


def test_the_examples_in_the_help_of_a_program_are_tried_where_it_refuses_each_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command_trials, "list_subcommand_runs", lambda *_: [])
    runs = (WITH_FILE, RunProposal("./x --help", may_do_nothing=True))
    help_text = "x packs files.\nEG. x -c -i foo.txt -o none -b 4m\n"
    assert try_file_runs({}, monkeypatch, *runs, help_text=help_text)[-2:] == [FROM_INPUT, "./x --help"]
    monkeypatch.setattr(FirstMeasurement, "sources", listing({"LICENSE": ""}), raising=False)
    tried = try_file_runs({}, monkeypatch, *runs, help_text=help_text)
    assert "./x -c -i LICENSE -o none -b 4m" in tried


def test_the_arguments_of_its_usage_are_tried_where_a_program_refuses_each_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = (WITH_FILE, RunProposal("./x --help", may_do_nothing=True))
    works = {"./x -c -i t/a": TriedCommand(WITH_FILE, (9, 9))}
    assert "./x -c -i t/a" in try_file_runs(works, monkeypatch, *runs, help_text="usage: x -c -i FILE\n")


def test_a_program_that_does_not_open_its_file_gets_it_as_its_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    start = TriedCommand(BARE, (9, 9), own_bytes="start")
    ignored = try_file_runs({"./x": start, "./x t/a": start}, monkeypatch, BARE, WITH_FILE)
    assert ignored == ["./x", "./x t/a", FROM_INPUT]
    opened = replace(start, own_bytes="a")
    assert try_file_runs({"./x": start, "./x t/a": opened}, monkeypatch, BARE, WITH_FILE) == ["./x", "./x t/a"]
    unknown = replace(start, own_bytes="")
    assert FROM_INPUT in try_file_runs({"./x": unknown, "./x t/a": unknown}, monkeypatch, BARE, WITH_FILE)
    more = replace(unknown, faults=(20, 20))
    assert FROM_INPUT not in try_file_runs({"./x": unknown, "./x t/a": more}, monkeypatch, BARE, WITH_FILE)
    usage = replace(opened, prints_usage=True)
    assert try_file_runs({"./x t/a": usage}, monkeypatch, WITH_FILE) == ["./x t/a", FROM_INPUT]


def test_a_program_that_reads_its_standard_input_gets_each_file_there(monkeypatch: pytest.MonkeyPatch) -> None:
    works = TriedCommand(WITH_FILE, (9, 9))
    outcomes = {FROM_INPUT: works, OTHER_FROM_INPUT: works}
    tried = try_file_runs(outcomes, monkeypatch, WITH_FILE, WITH_OTHER_FILE)
    assert tried == ["./x t/a", FROM_INPUT, OTHER_FROM_INPUT]


@pytest.mark.parametrize(
    ("content", "outputs", "problem"),
    [
        ("let error = 1", ("error in line 1", "", ""), ""),
        ("let x = 1", ("error in line 1", "", ""), "it prints an error"),
        ("let x = 1", ("1", "", ""), ""),
        (
            "let x = 1",
            ("took 1.1 s", "took 1.2 s", "took 1.3 s"),
            "the output differs in each execution, even without the file",
        ),
        ("let x = 1", ("0", "0"), "the output is the same as without the file"),
    ],
    ids=["the file contains the word error", "an error", "another output", "an output that always differs", "the same"],
)
def test_a_program_reads_its_standard_input_if_only_the_file_changes_its_output(
    content: str, outputs: tuple[str, ...], problem: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(content)
    next_outputs = iter(outputs)
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda *_: None)
    monkeypatch.setattr(
        FirstMeasurement, "_execute_command", lambda *_: ProgramResult(0, next(next_outputs), "", 0.1, 1.0)
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    run = redirect_file_to_input(RunProposal("./x a", input_file="a"))
    assert first._describe_unread_input(BuildProposal("Make", ""), run, tmp_path) == problem


def test_a_program_that_prints_the_same_with_a_file_as_its_input_gets_the_next_one_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: TriedCommand(run, (900,) * 3 if "< f" in run.command else (72,) * 3),
    )
    monkeypatch.setattr(
        FirstMeasurement,
        "_describe_unread_input",
        lambda _, __, run, ___: "" if "< f" in run.command else "the output is the same as without the file",
    )
    monkeypatch.setattr(FirstMeasurement, "_try_larger_sizes", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./count", may_do_nothing=True),
        *(RunProposal(f"./count {file}", input_file=file) for file in "abcdef"),
    ]
    tried = list(first.try_runs(BuildProposal("Make", "make"), runs, Path(), lambda _: None))
    assert tried[-1].run.command == "sh -c 'exec ./count < f'"
    assert tried[-1].faults == (900,) * 3


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("usage: x PORT\n", ["./x 29999"]),
        ("usage: x [--port PORT]\n", ["./x --port 29999"]),
        ("usage: x FILE\n", []),
        ("it failed\n", []),
    ],
)
def test_a_program_whose_usage_names_a_port_is_started_with_one_before_any_file(
    text: str, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def find_server(_: object, __: BuildProposal, run: RunProposal, ___: Path) -> RunProposal:
        found.append(run.command)
        return replace(run, obstacle="it listens")

    monkeypatch.setattr(FirstMeasurement, "_find_server", find_server)
    tried = try_file_runs({}, monkeypatch, BARE, WITH_FILE, help_text=text)
    assert found == started
    assert tried == (started or ["./x", "./x t/a", FROM_INPUT])


def test_a_script_whose_usage_names_a_port_is_started_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda _, __, run, ___: replace(run, obstacle="it listens"))
    usage = "usage: serve.py [-h] --port PORT\n"
    tried = try_file_runs({}, monkeypatch, RunProposal("python3 serve.py"), help_text=usage)
    assert tried == ["python3 serve.py --port 29999"]
    assert try_file_runs({}, monkeypatch, RunProposal("python3 bench.py"), help_text=usage) == ["python3 bench.py"]


@pytest.mark.parametrize(
    ("command", "server"),
    [("./x --size 18000", "./x --size 18000 --port {port}"), ("./x --port=8000", "./x --port={port}")],
)
def test_a_server_is_told_its_port_unless_its_command_names_it(
    command: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def observe(_: object, __: BuildProposal, run: RunProposal, ___: Path) -> tuple[int, Listener]:
        return 0, Listener(29_999 if "--port 29999" in run.command else 8000)

    monkeypatch.setattr(FirstMeasurement, "_observe_command", observe)
    monkeypatch.setattr(command_trials, "find_built_programs", lambda *_: [])
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    found = first._find_server(BuildProposal("Make", ""), RunProposal(command), Path())
    assert found is not None
    assert found.command == server


def test_a_client_whose_usage_names_a_port_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: None)
    tried = try_file_runs({}, monkeypatch, BARE, WITH_FILE, help_text="usage: x HOST PORT\n")
    assert tried == ["./x", "./x t/a", FROM_INPUT]


def test_a_solver_that_ends_with_its_result_works(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = RunProposal("./x a.cnf", input_file="a.cnf")
    accepted = "sh -c './x a.cnf; test $? -eq 10'"
    outcomes = {
        "./x a.cnf": TriedCommand(solve, (), "`./x a.cnf` ended with exit code 10"),
        accepted: TriedCommand(solve, (9, 9)),
    }
    assert try_file_runs(outcomes, monkeypatch, solve) == [accepted]
    again = replace(solve, command=accepted, program="./x")
    assert try_file_runs({}, monkeypatch, again) == [accepted], "a command of a shell is not changed"


def test_a_program_that_takes_the_name_of_its_file_for_text_gets_the_content_as_its_standard_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [RunProposal(f"./x t/{name}.sql", input_file=f"t/{name}.sql") for name in "ab"]
    same = TriedCommand(runs[0], (9, 9), own_bytes="same")
    outcomes = dict.fromkeys(("./x t/a.sql", "./x t/b.sql", "./x faultwatch-missing.sql"), same)
    read = {f"sh -c 'exec ./x - < t/{name}.sql'": replace(same, own_bytes=name) for name in "ab"}
    tried = try_file_runs(outcomes | read, monkeypatch, *runs)
    assert tried == ["./x t/a.sql", "sh -c 'exec ./x < t/a.sql'", *read]
    opened = outcomes | {"./x faultwatch-missing.sql": replace(same, own_bytes="other")}
    assert try_file_runs(opened, monkeypatch, *runs) == ["./x t/a.sql", "./x t/b.sql"]
    del opened["./x faultwatch-missing.sql"]
    assert try_file_runs(opened, monkeypatch, *runs) == ["./x t/a.sql", "./x t/b.sql"]


@pytest.mark.parametrize(("bare_faults", "is_tried"), [((900, 900), True), ((12, 12), False), ((), False)])
def test_a_folder_is_tried_where_a_program_does_more_work_without_a_file_than_with_one(
    bare_faults: tuple[int, ...], is_tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = RunProposal("./x --version", may_do_nothing=True)
    outcomes = {
        "./x": TriedCommand(BARE, bare_faults, own_bytes="start"),
        "./x t/a": TriedCommand(WITH_FILE, (9, 9), own_bytes="a"),
        "./x t": TriedCommand(WITH_FILE, (99, 99)),
    }
    tried = try_file_runs(outcomes, monkeypatch, BARE, WITH_FILE, version)
    assert ("./x t" in tried) is is_tried


def test_a_command_that_already_redirects_its_file_is_tried_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    larger = RunProposal("sh -c 'exec ./x < faultwatch-input.json'", input_file="t/a.json", program="./x")
    outcomes = {larger.command: TriedCommand(larger, (9, 9))}
    monkeypatch.setattr(FirstMeasurement, "_describe_unread_input", lambda *_: pytest.fail("it was found before"))
    monkeypatch.setattr(FirstMeasurement, "_try_run", lambda _, __, run, ___: outcomes[run.command])
    first = FirstMeasurement.__new__(FirstMeasurement)
    (tried,) = first.try_runs(BuildProposal("Make", ""), [larger], Path(), lambda _: None)
    assert tried.faults == (9, 9)


def test_a_computation_that_takes_too_long_is_tried_with_fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = RunProposal("./lulesh", may_do_nothing=True)
    monkeypatch.setattr(FirstMeasurement, "_find_server", lambda *_: None)
    outcomes = {
        "./lulesh": TriedCommand(bare, (), "it did not finish within 20 s", timed_out=True),
        "./lulesh -i 10": TriedCommand(bare, (900, 900, 900), cpu_seconds=0.3),
    }
    help_text = " -i <iterations> : number of cycles to run\n"
    first = FirstMeasurement.__new__(FirstMeasurement)
    assert try_file_runs(outcomes, monkeypatch, bare, help_text=help_text) == ["./lulesh -i 10"]
    (tried,) = first.try_runs(BuildProposal("Make", ""), [bare], Path(), lambda _: None)
    assert tried.run.is_promising
    test = replace(bare, is_test=True)
    assert try_file_runs(outcomes, monkeypatch, test, help_text=help_text) == ["./lulesh"], "tests are numerous"
    outcomes["./lulesh"] = TriedCommand(bare, (900, 900, 900), seconds=17.0, cpu_seconds=30.0)
    assert try_file_runs(outcomes, monkeypatch, bare, help_text=help_text) == ["./lulesh -i 10"], "it is slow"


@pytest.mark.parametrize(
    ("seconds", "rounds"),
    [((0.2, 9.0, 9.0), 10), ((0.01, 0.3, 9.0), 1000), ((0.01, 0.02, 0.9), 100_000), ((0.01, 0.02, 9.0), 1000)],
)
def test_a_benchmark_that_hardly_computes_is_tried_with_more_rounds(
    seconds: tuple[float, ...], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "bin/b -test.bench=. -test.benchtime={}x"
    outcomes: dict[str, TriedCommand | None] = {
        command.format(number): TriedCommand(
            RunProposal(command.format(number)), (600, 610), cpu_seconds=duration, seconds=duration
        )
        for number, duration in zip((10, 1000, 100_000), seconds, strict=True)
    }
    assert try_file_runs(outcomes, monkeypatch, RunProposal(command.format(10))) == [command.format(rounds)]


@pytest.mark.parametrize(
    ("slow_names", "single_round_works", "tried"),
    [
        (["BenchmarkFib"], True, ' -test.skip="^(BenchmarkFib)$" -test.benchtime=10x'),
        (["BenchmarkFib", "BenchmarkB"], True, " -test.benchtime=1x"),
        (["BenchmarkFib", "BenchmarkB"], False, ' -test.skip="^(BenchmarkFib|BenchmarkB)$" -test.benchtime=10x'),
        ([], True, " -test.benchtime=1x"),
    ],
)
def test_a_suite_of_benchmarks_that_takes_too_long_is_tried_with_less(
    slow_names: list[str], tried: str, monkeypatch: pytest.MonkeyPatch, *, single_round_works: bool
) -> None:
    start = "bin/b -test.bench=."
    quick = TriedCommand(BARE, (900,), cpu_seconds=1.0, seconds=1.0)
    outcomes: dict[str, TriedCommand] = {
        f"{start} -test.benchtime=10x": replace(quick, cpu_seconds=9.0, seconds=9.0),
        **({f"{start} -test.benchtime=1x": quick} if single_round_works else {}),
        f'{start} -test.skip="^({"|".join(slow_names)})$" -test.benchtime=10x': quick,
    }
    monkeypatch.setattr(
        FirstMeasurement,
        "_is_quick",
        lambda _, __, run, ___: not any(f"^{name}$" in run.command for name in slow_names),
    )
    run = RunProposal(f"{start} -test.benchtime=10x")
    names = "BenchmarkFib\nBenchmarkA\nBenchmarkB\nBenchmarkC\nTestD\n"
    assert try_file_runs(outcomes, monkeypatch, run, help_text=names) == [start + tried]


def test_a_command_with_small_sizes_is_tried_with_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes: dict[str, TriedCommand | None] = {
        command: TriedCommand(RunProposal(command), (faults,) * 3, seconds=0.01)
        for command, faults in (("./bfs -g 10", 300), ("./bfs -g 12", 700), ("./bfs -g 14", 9000))
    }
    assert try_file_runs(outcomes, monkeypatch, RunProposal("./bfs -g 10")) == ["./bfs -g 14"]


@pytest.mark.parametrize("target", ["missing", "/dev/zero"])
def test_an_input_that_is_a_link_to_no_file_does_not_stop_the_trials(
    target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").symlink_to(target)
    next_outputs = iter(["one", "two", "two", "three"])
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda *_: None)
    monkeypatch.setattr(
        FirstMeasurement, "_execute_command", lambda *_: ProgramResult(0, next(next_outputs), "", 0.1, 1.0)
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    run = RunProposal("./x a", input_file="a")
    assert not first._describe_unread_input(BuildProposal("Make", ""), redirect_file_to_input(run), tmp_path)
    assert not first._prints_file(BuildProposal("Make", ""), run, tmp_path)


@pytest.mark.parametrize("command", ["./x 'a", " "])
def test_a_command_that_is_not_valid_is_refused_with_the_mistake(command: str, tmp_path: Path) -> None:
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources, first._file = listing({}), tmp_path / "workload.toml"
    with pytest.raises(FaultwatchError, match=r"\[run\] command"):
        first._make_workload(BuildProposal("Make", ""), RunProposal(command), 1)


@pytest.mark.parametrize("command", ["./missing", "missing-tool", "./folder", "./file"])
def test_the_help_of_a_program_that_cannot_be_started_is_empty(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources, first._file = listing({}), tmp_path / "workload.toml"
    process_state = SimpleNamespace(environment={"PATH": "/usr/bin:/bin"})
    bench = SimpleNamespace(make_process_state=lambda _: process_state, sandbox=None)
    first._workbench = cast("Any", SimpleNamespace(bench=bench))
    workload = first._make_workload(BuildProposal("Make", ""), RunProposal(command), 1)
    assert first._execute_command(workload, tmp_path).output == ""


def test_an_awk_gets_a_program_in_its_language_and_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = "usage: ./awk [-F fs] [-f progfile | 'prog'] [file ...]\n"
    monkeypatch.setattr(FirstMeasurement, "_execute_command", lambda *_: ProgramResult(2, usage, "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "_make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(
        FirstMeasurement,
        "_try_run",
        lambda _, __, run, ___: TriedCommand(run, (300, 300) if "END" in run.command else (), "usage"),
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    for files, last_word, is_input in (
        (["LICENSE"], "LICENSE", False),
        (["LICENSE", "tests/t.awk"], "tests/t.awk", True),
    ):
        first.sources = listing(dict.fromkeys(files, "text"), "awk")
        run = RunProposal("./awk", may_do_nothing=True)
        (tried,) = first.try_runs(BuildProposal("Make", "make"), [run], Path(), lambda _: None)
        assert shlex.split(tried.run.command)[::2] == ["./awk", last_word]
        assert (tried.run.input_file == last_word) is is_input


def test_a_build_that_failed_is_repeated_when_init_starts_again_but_not_before(
    commit: Callable[..., str], tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    workbench = cast("Any", SimpleNamespace(builder=Builder(BuildPlaces(tmp_path / "builds"), {})))
    proposal = BuildProposal("Make", f"sh -c 'echo x >>{tmp_path}/count; test -e {tmp_path}/installed'")

    def start_init() -> FirstMeasurement:
        revision = cast("Revision", SimpleNamespace(commit=head))
        return FirstMeasurement(repository, revision, listing({}), tmp_path / "workload.toml", workbench)

    first_start = start_init()
    for _ in range(2):
        with pytest.raises(BuildFailure):
            first_start.build(proposal)
    (tmp_path / "installed").touch()
    assert [start_init().build(proposal)[1].cached for _ in range(2)] == [False, True]
    assert (tmp_path / "count").read_text() == "x\n" * 2
