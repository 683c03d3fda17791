from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.adoption import (
    input_trials,
)
from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.input_trials import redirect_file_to_input
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.tried_command import TriedCommand
from runner.execution.execute import ProgramResult
from tests.runner.adoption.listings import listing


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
    def execute(_: object, workload: str, *__: object) -> ProgramResult:
        is_empty = "mkdir" in workload
        return ProgramResult(0 if is_empty else status, without_files if is_empty else with_files, "", 0.1, 1.0)

    monkeypatch.setattr(FirstMeasurement, "_execute_workload", execute)
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({f"src/{number}.c": "" for number in range(10)})
    tried = TriedCommand(RunProposal("bin/x", may_do_nothing=True), (90, 90))
    folder = input_trials.find_folder_to_copy(first, BuildProposal("Make", "make"), tried, Path())
    assert folder == (("src", 200) if is_found else None)


def test_an_input_is_made_in_the_format_that_a_usage_names(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"./x --help": "Usage: x <in.fq>\n"}
    monkeypatch.setattr(
        FirstMeasurement,
        "_execute_workload",
        lambda _, command, *__: ProgramResult(1, texts.get(command, "no .fq"), "", 0.1, 1.0),
    )
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({})
    build = BuildProposal("Make", "make")
    refused = [TriedCommand(RunProposal("./x LICENSE", stand_in_file="LICENSE"), ())]
    proposal = input_trials.propose_made_input(first, build, refused, Path())
    assert proposal
    assert proposal[0].command.startswith("sh -c 'make && for ")
    assert [run.command for run in proposal[1]] == ["./x faultwatch-input.fq"]
    texts.clear()
    assert input_trials.propose_made_input(first, build, refused, Path()) is None, (
        "only a usage says what a program reads"
    )
    texts["./x --help"] = "Usage: x <in.fq>\n"
    assert input_trials.propose_made_input(first, build, [TriedCommand(RunProposal("./x"), ())], Path()) is None, (
        "it may be a test"
    )


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
        FirstMeasurement, "count_faults_roughly", lambda _, __, run, ___: faults[Path(run.command).stem]
    )
    run = RunProposal("./x test/a.gv", input_file="test/a.gv")
    reading = TriedCommand(run, (150, 150), seconds=0.01)
    heaviest = input_trials.find_heaviest_input(first, BuildProposal("Make", "make"), [reading], tmp_path)
    assert (heaviest.command if heaviest else "").replace("test/", "t/") == found
    assert not heaviest or heaviest.is_heaviest
    slow = TriedCommand(RunProposal("./x test/s.gv", input_file="test/s.gv"), (8000, 8000), seconds=9.0)
    assert input_trials.find_heaviest_input(first, BuildProposal("Make", "make"), [slow], tmp_path) is None
    assert input_trials.find_heaviest_input(first, BuildProposal("Make", "make"), [reading, slow], tmp_path) == heaviest


@pytest.mark.parametrize(
    ("seconds_of", "expected"),
    [
        (lambda number: 0.004 + 1.6**number / 1e6, "./x test/sum.lua 28"),  # exponential work
        (lambda number: 0.004 + number / 20_000, "./x test/sum.lua 2538"),
        (lambda number: 0.004 + (number >= 9) * 8, ""),  # it is soon too slow
        (lambda number: 0.004, ""),  # it ignores its arguments
    ],
)
def test_a_script_gets_the_number_by_which_it_chooses_how_much_it_computes(
    seconds_of: Callable[[int], float], expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = {"test/sum.lua": "n = tonumber(arg[1]) or 1", "test/hello.lua": 'print("hello")'}
    (tmp_path / "test").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing(texts)
    result = ProgramResult(0, output="", error="", seconds=0.0, deadline=1.0)
    monkeypatch.setattr(
        FirstMeasurement,
        "execute_once",
        lambda _, __, run, ___, ____: (result, 150, seconds_of(int(run.command.split()[-1]))),
    )
    build, tried_file = BuildProposal("Make", "make"), RunProposal("./x test/hello.lua", input_file="test/hello.lua")
    reading = TriedCommand(tried_file, (150, 150), seconds=0.01)
    runs = input_trials.list_runs_with_number(first, build, [reading], tmp_path)
    assert [run.command for run in runs] == ([expected] if expected else [])
    assert all(run.passes_number and run.input_file == "test/sum.lua" for run in runs)
    working = replace(reading, seconds=0.3)
    assert not input_trials.list_runs_with_number(first, build, [working], tmp_path), "it needs no number"
    assert not input_trials.list_runs_with_number(first, build, [], tmp_path)


def test_a_file_is_redirected_to_the_script_of_an_interpreter() -> None:
    run = RunProposal("node --single-threaded bin/x a.js", input_file="a.js", program="bin/x")
    assert redirect_file_to_input(run).command == "sh -c 'exec node --single-threaded bin/x < a.js'"
    run = RunProposal("node d in.txt", input_file="in.txt", program="d")
    assert redirect_file_to_input(run).command == "sh -c 'exec node d < in.txt'"
    assert redirect_file_to_input(RunProposal("./x -f a.awk", input_file="a.awk")).command == "sh -c 'exec ./x < a.awk'"


@pytest.mark.parametrize(("n_tests", "first"), [(30, "./test_25"), (5, "./test_0")])
def test_of_many_tests_those_that_take_the_most_faults_are_tried_first(
    n_tests: int, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = [RunProposal(f"./test_{number}", may_do_nothing=True, is_test=True) for number in range(n_tests)]
    bare, with_file = RunProposal("./x", may_do_nothing=True), RunProposal("./x t/a", input_file="t/a")
    runs = [bare, *tests, replace(tests[-1], command=f"{tests[-1].command} t/a", input_file="t/a"), with_file]
    monkeypatch.setattr(
        FirstMeasurement,
        "count_faults_roughly",
        lambda _, __, run, ___: {"./test_25": 7000, "./test_3": None}.get(run.command, 118),
    )
    first_measurement = FirstMeasurement.__new__(FirstMeasurement)
    ordered = input_trials.put_heaviest_tests_first(first_measurement, BuildProposal("Make", ""), runs, Path())
    assert sorted(run.command for run in ordered) == sorted(run.command for run in runs)
    assert [run.command for run in ordered[:2]] == ["./x", first]
    assert ordered[-1] is with_file


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
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda *_: None)
    monkeypatch.setattr(
        FirstMeasurement, "_execute_workload", lambda *_: ProgramResult(0, next(next_outputs), "", 0.1, 1.0)
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    run = redirect_file_to_input(RunProposal("./x a", input_file="a"))
    assert input_trials.describe_unread_input(first, BuildProposal("Make", ""), run, tmp_path) == problem


@pytest.mark.parametrize("target", ["missing", "/dev/zero"])
def test_an_input_that_is_a_link_to_no_file_does_not_stop_the_trials(
    target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").symlink_to(target)
    next_outputs = iter(["one", "two", "two", "three"])
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda *_: None)
    monkeypatch.setattr(
        FirstMeasurement, "_execute_workload", lambda *_: ProgramResult(0, next(next_outputs), "", 0.1, 1.0)
    )
    first = FirstMeasurement.__new__(FirstMeasurement)
    run = RunProposal("./x a", input_file="a")
    assert not input_trials.describe_unread_input(
        first, BuildProposal("Make", ""), redirect_file_to_input(run), tmp_path
    )
    assert not input_trials.prints_file(first, BuildProposal("Make", ""), run, tmp_path)
