from pathlib import Path

import pytest

from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.tried_command import TriedCommand
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


def test_a_script_that_starts_the_jvm_gets_variables_of_the_jvm() -> None:
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({"run.sh": "#!/bin/sh\nexec java -cp . Main\n", "other.sh": "./javac-like\n"})
    make = BuildProposal("Make", "make", ("make",))
    (variables,) = first.list_variables(make, RunProposal("sh run.sh"))
    assert variables == {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -Xbatch"}
    assert first.list_variables(make, RunProposal("sh other.sh")) == ({"OMP_NUM_THREADS": "1"},)
