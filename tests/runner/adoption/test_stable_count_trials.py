from pathlib import Path

import pytest

from runner.adoption import (
    stable_count_trials,
)
from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.larger_folder import run_in_folder
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.stable_count_trials import find_single_thread_command, find_stable_environment, list_variables
from runner.adoption.tried_command import TriedCommand
from runner.execution.execute import ProgramResult
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

    monkeypatch.setattr(FirstMeasurement, "try_run", trial)
    first = FirstMeasurement.__new__(FirstMeasurement)
    steady = find_stable_environment(
        first, BuildProposal("Python", ""), TriedCommand(RunProposal(command), faults), Path()
    )
    assert (steady.run.environment == {"OMP_NUM_THREADS": "1"}) is single


def test_a_count_that_any_variable_moves_is_not_moved_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (1315,) * 3))
    first = FirstMeasurement.__new__(FirstMeasurement)
    before = TriedCommand(RunProposal("python3 x.py"), (1318,) * 3)
    assert find_stable_environment(first, BuildProposal("Python", ""), before, Path()) == before


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

    monkeypatch.setattr(FirstMeasurement, "try_run", trial)
    first = FirstMeasurement.__new__(FirstMeasurement)
    steady = find_stable_environment(
        first, BuildProposal("Go", "", ("go",)), TriedCommand(RunProposal("./x"), without), Path()
    )
    assert steady.run.environment == chosen


def test_the_count_of_a_go_program_with_random_keys_is_taken_with_a_fixed_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def trial(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        return TriedCommand(run, (800,) * 3 if run.environment.get("GODEBUG") == "randautoseed=0" else (900, 950, 990))

    monkeypatch.setattr(FirstMeasurement, "try_run", trial)
    first = FirstMeasurement.__new__(FirstMeasurement)
    random_keys = TriedCommand(RunProposal("bin/benchmarks"), (900, 950, 990))
    steady = find_stable_environment(first, BuildProposal("Go", "", ("go",)), random_keys, Path())
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

    monkeypatch.setattr(FirstMeasurement, "try_run", trial)
    monkeypatch.setattr(stable_count_trials, "list_variables", lambda *_: (GO[1],))
    first = FirstMeasurement.__new__(FirstMeasurement)
    before = TriedCommand(RunProposal("./x"), without[:3])
    steady = find_stable_environment(first, BuildProposal("Go", "", ("go",)), before, Path())
    assert (steady.run.environment == GO[1]) is is_kept
    assert is_kept or steady is before


def test_a_script_that_starts_the_jvm_gets_variables_of_the_jvm() -> None:
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({"run.sh": "#!/bin/sh\nexec java -cp . Main\n", "other.sh": "./javac-like\n"})
    make = BuildProposal("Make", "make", ("make",))
    options = [variables["JAVA_TOOL_OPTIONS"] for variables in list_variables(first, make, RunProposal("sh run.sh"))]
    assert options == ["-XX:+UseSerialGC -Xbatch", "-XX:+UseSerialGC -Xbatch -XX:TieredStopAtLevel=1"]
    assert list_variables(first, make, RunProposal("sh other.sh")) == ({"OMP_NUM_THREADS": "1"},)


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
    def execute(_: object, workload: str, *__: object) -> ProgramResult:
        text = "Usage: x [options] file\n  -t INT  number of threads [3]\n" if workload == asked else "unknown option"
        return ProgramResult(0, text, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_workload", execute)
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(
        FirstMeasurement,
        "try_run",
        lambda _, __, run, ___: TriedCommand(run, (7, 7) if "-t 1" in run.command else (5, 6)),
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    result = find_single_thread_command(first, BuildProposal("Make", "make"), TriedCommand(run, (5, 6)), Path())
    assert (result.run.command if result else "") == command
