import shlex
from pathlib import Path

import pytest

from runner.adoption import (
    command_trials,
)
from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.tried_command import TriedCommand
from runner.execution.execute import ProgramResult
from tests.runner.adoption.listings import listing


@pytest.mark.parametrize(("faults", "command"), [((9_000, 9_000), "./solve 64 64 64"), ((), "./solve")])
def test_a_program_that_asks_for_sizes_gets_some(
    faults: tuple[int, ...], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement,
        "_execute_workload",
        lambda *_: ProgramResult(1, "Usage: ./solve nx ny nz\n", "", 0.1, 1.0),
    )
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(
        FirstMeasurement,
        "try_run",
        lambda _, __, run, ___: TriedCommand(run, faults if "64" in run.command else (), "it asks for arguments"),
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    run = RunProposal("./solve", may_do_nothing=True)
    (tried,) = command_trials.try_runs(first, BuildProposal("Make", "make"), [run], Path(), lambda _: None)
    assert (tried.run.command, tried.faults) == (command, faults)


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

    def execute(_: object, workload: str, *__: object) -> ProgramResult:
        help_text = (
            "Usage: amg [<options>]\n  -n <nx> <ny> <nz>   : size\n" if workload == "bin/amg -help" else "done\n"
        )
        return ProgramResult(0, help_text, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "try_run", try_run)
    monkeypatch.setattr(FirstMeasurement, "_execute_workload", execute)
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    (result,) = command_trials.try_runs(
        first, BuildProposal("Make", "make"), [RunProposal("bin/amg", may_do_nothing=True)], Path(), lambda _: None
    )
    assert result.run.command == chosen


@pytest.mark.parametrize(("printed", "seconds"), [("Usage: x FILE\n", 0.1), ("computing\n", 20.0)])
def test_a_program_is_not_asked_again_for_sizes_if_its_help_names_none_or_it_computes_instead(
    printed: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def execute(_: object, command: str, *__: object) -> ProgramResult:
        asked.append(command)
        return ProgramResult(None if seconds == 20.0 else 0, printed, "", seconds, 20.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_workload", execute)
    monkeypatch.setattr(FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (90, 90)))
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    list(
        command_trials.try_runs(
            first, BuildProposal("Make", "make"), [RunProposal("./x", may_do_nothing=True)], Path(), lambda _: ""
        )
    )
    assert asked == ["./x --help"]


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
    monkeypatch.setattr(FirstMeasurement, "try_run", try_run)
    monkeypatch.setattr(FirstMeasurement, "_execute_workload", lambda *_: ProgramResult(0, help_text, "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    runs = [RunProposal(command, may_do_nothing=True, program="ref/md")]
    (result,) = command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None)
    assert result.run.command == shorter


def test_a_program_without_a_help_that_takes_too_long_gets_an_option_that_it_scans(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def try_run(_: object, __: BuildProposal, run: RunProposal, tree: Path) -> TriedCommand:
        is_short = run.command.endswith("--num=10000")
        return TriedCommand(run, (900, 900) if is_short else (), timed_out=not is_short, seconds=0.5)

    (tmp_path / "db_bench").write_bytes(b"\x7fELF\0--num=%d%c\0--cache_size=%d\0")
    monkeypatch.setattr(FirstMeasurement, "try_run", try_run)
    monkeypatch.setattr(FirstMeasurement, "_execute_workload", lambda *_: ProgramResult(1, "bad flag", "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    (result,) = command_trials.try_runs(
        first, BuildProposal("Make", "make"), [RunProposal("./db_bench")], tmp_path, lambda _: None
    )
    assert result.run.command == "./db_bench --num=10000"


def test_an_awk_gets_a_program_in_its_language_and_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = "usage: ./awk [-F fs] [-f progfile | 'prog'] [file ...]\n"
    monkeypatch.setattr(FirstMeasurement, "_execute_workload", lambda *_: ProgramResult(2, usage, "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(
        FirstMeasurement,
        "try_run",
        lambda _, __, run, ___: TriedCommand(run, (300, 300) if "END" in run.command else (), "usage"),
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    for files, last_word, is_input in (
        (["LICENSE"], "LICENSE", False),
        (["LICENSE", "tests/t.awk"], "tests/t.awk", True),
    ):
        first.sources = listing(dict.fromkeys(files, "text"), "awk")
        run = RunProposal("./awk", may_do_nothing=True)
        (tried,) = command_trials.try_runs(first, BuildProposal("Make", "make"), [run], Path(), lambda _: None)
        assert shlex.split(tried.run.command)[::2] == ["./awk", last_word]
        assert (tried.run.input_file == last_word) is is_input
