from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.adoption import (
    argument_trials,
    command_trials,
    input_trials,
    server_trials,
)
from runner.adoption.first_measurement import FirstMeasurement
from runner.adoption.needless_commands import has_enough_inputs
from runner.adoption.proposal import BuildProposal, RunProposal
from runner.adoption.tried_command import TriedCommand
from runner.execution.execute import ProgramResult
from tests.runner.adoption.listings import listing


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
    monkeypatch.setattr(FirstMeasurement, "_execute_workload", lambda *_: ProgramResult(0, printed, "", 0.1, 1.0))
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda _, __, run, ___: run.command)
    monkeypatch.setattr(FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (90, 90)))
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = listing({"ref/in.txt": "", "ref/solve.c": ""})
    run = RunProposal("ref/solve", may_do_nothing=True)
    (tried,) = command_trials.try_runs(first, BuildProposal("Make", "make"), [run], Path(), lambda _: None)
    assert tried.run.command == command


def fake_trial(outcomes: dict[str, TriedCommand | None], monkeypatch: pytest.MonkeyPatch) -> list[TriedCommand]:
    """Let the commands of a program fail, or work, and return what was tried."""
    monkeypatch.setattr(
        FirstMeasurement,
        "try_run",
        lambda _, __, run, ___: replace(outcomes.get(run.command) or TriedCommand(run, (), "it failed"), run=run),
    )
    monkeypatch.setattr(server_trials, "find_server", lambda *_: None)
    monkeypatch.setattr(input_trials, "describe_unread_input", lambda *_: "it prints an error")
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./x", from_service_file=True),
        RunProposal("./x t/a", input_file="t/a"),
        RunProposal("./x t/a t/b", input_file="t/a", is_fallback=True),
    ]
    return list(command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None))


def test_a_program_that_never_ends_is_not_asked_for_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (), "too long", timed_out=True)
    )
    monkeypatch.setattr(server_trials, "find_server", lambda *_: None)
    monkeypatch.setattr(argument_trials, "_try_shorter_run", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("bin/gen", may_do_nothing=True),
        RunProposal("bin/gen a.md", input_file="a.md"),
        RunProposal("bin/gen --version", may_do_nothing=True),
        RunProposal("bin/other", may_do_nothing=True),
    ]
    tried = list(command_trials.try_runs(first, BuildProposal("Go", "go build"), runs, Path(), lambda _: None))
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
        "try_run",
        lambda _, __, run, ___: (
            TriedCommand(run, (), "too long", timed_out=True, seconds=20) if run.file else TriedCommand(run, (88, 88))
        ),
    )
    monkeypatch.setattr(argument_trials, "try_larger_sizes", lambda _, __, tried, ___: tried)
    monkeypatch.setattr(server_trials, "find_server", lambda *_: None)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./x", may_do_nothing=True)]
    runs += [RunProposal(f"./x {words}", stand_in_file="LICENSE") for words in ("LICENSE", ". LICENSE", "LICENSE out")]
    results = list(command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None))
    assert [result.run.command for result in results] == ["./x", "./x LICENSE", "sh -c 'exec ./x < LICENSE'"]


def test_a_test_that_works_without_a_file_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (9, 9)))
    monkeypatch.setattr(input_trials, "describe_unread_input", lambda *_: "")
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./test_x", may_do_nothing=True, is_test=True),
        RunProposal("./test_x a.json", input_file="a.json", program="./test_x"),
    ]
    results = list(command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None))
    assert [result.run.command for result in results] == ["./test_x"]


@pytest.mark.parametrize(("cpu_seconds", "files"), [(4.0, {"", "t/a"}), (0.01, {"", "t/a", "LICENSE"})])
def test_a_program_that_computes_for_long_without_a_file_gets_inputs_but_no_stand_in(
    cpu_seconds: float, files: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (9_000, 9_000), cpu_seconds=cpu_seconds)
    )
    monkeypatch.setattr(argument_trials, "try_larger_sizes", lambda _, __, tried, ___: tried)
    monkeypatch.setattr(input_trials, "describe_unread_input", lambda *_: "")
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./hpc", may_do_nothing=True),
        RunProposal("./hpc LICENSE", stand_in_file="LICENSE"),
        RunProposal("./hpc t/a", input_file="t/a"),
    ]
    results = command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None)
    assert {result.run.file for result in results} == files


@pytest.mark.parametrize(("cpu_seconds", "commands"), [(0.1, ["./hpc", "./hpc -n 50 50 50"]), (0.5, ["./hpc"])])
def test_documented_sizes_are_tried_if_a_program_may_only_start_without_them(
    cpu_seconds: float, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (900, 900), cpu_seconds=cpu_seconds)
    )
    monkeypatch.setattr(argument_trials, "try_larger_sizes", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./hpc", may_do_nothing=True),
        RunProposal("./hpc -n 50 50 50"),
        RunProposal("./hpc --help", may_do_nothing=True),
    ]
    results = command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None)
    assert [result.run.command for result in results] == commands


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

    monkeypatch.setattr(FirstMeasurement, "try_run", try_run)
    first = FirstMeasurement.__new__(FirstMeasurement)
    result = command_trials._try_program_or_server(first, BuildProposal("Make", "make"), WITH_FILE, tmp_path)
    assert (result.run.command if result.faults else "") == command


def test_a_test_that_takes_too_long_is_not_started_in_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    test = RunProposal("build/x_test", may_do_nothing=True, is_test=True, program="build/x_test")
    in_folder = replace(test, command="sh -c 'cd build && exec ./x_test'")
    failed = TriedCommand(test, (), "it failed")
    assert len(try_file_runs({test.command: failed}, monkeypatch, test, in_folder)) == 2
    slow = replace(failed, timed_out=True)
    monkeypatch.setattr(server_trials, "find_server", lambda *_: None)
    monkeypatch.setattr(argument_trials, "try_other_length", lambda _, __, result, ___: result)
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
    ("faults", "cpu_seconds", "n_tried"), [(63, 0.001, 3), (160, 0.008, 3), (160, 0.3, 1), (600, 0.008, 1)]
)
def test_files_that_have_changed_lately_are_tried_only_if_others_cause_hardly_any_work(
    faults: int, cpu_seconds: float, n_tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = TriedCommand(RunProposal(""), (faults, faults), cpu_seconds=cpu_seconds)
    monkeypatch.setattr(
        FirstMeasurement,
        "try_run",
        lambda _, __, run, ___: replace(works if run.command == "./x t/a" else TriedCommand(run, (289, 289)), run=run),
    )
    runs = [
        RunProposal("./x t/a", input_file="t/a"),
        RunProposal("./x x.c t/a", input_file="x.c", file_may_change=True),
        RunProposal("./x x.c x.c t/a", input_file="x.c", file_may_change=True),
    ]
    first = FirstMeasurement.__new__(FirstMeasurement)
    results = list(command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None))
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
    monkeypatch.setattr("runner.adoption.argument_trials.list_needed_libraries", lambda _: libraries)
    monkeypatch.setattr(
        FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (), "too long", timed_out=True)
    )
    listening = RunProposal(command, obstacle="it listens")
    monkeypatch.setattr(server_trials, "find_server", lambda *_: listening)
    monkeypatch.setattr(argument_trials, "_try_shorter_run", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    results = list(
        command_trials.try_runs(first, BuildProposal("Maven", ""), [RunProposal(command)], Path(), lambda _: None)
    )
    assert [result.run.is_server for result in results] == [is_server]


def test_a_program_of_mpi_whose_standard_input_is_a_file_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "runner.adoption.argument_trials.list_needed_libraries",
        lambda program: ("libmpi.so.40",) if program.name == "clover" else (),
    )
    monkeypatch.setattr(
        FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (), "too long", timed_out=True)
    )
    monkeypatch.setattr(server_trials, "find_server", lambda _, __, run, ___: replace(run, obstacle="it listens"))
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./clover LICENSE", stand_in_file="LICENSE")]
    with_file, redirected = command_trials.try_runs(first, BuildProposal("Make", ""), runs, Path(), lambda _: None)
    assert redirected.run.command == "sh -c 'exec ./clover < LICENSE'"
    assert [with_file.run.is_server, redirected.run.is_server] == [False, False]


@pytest.mark.parametrize(("faults", "n_tried"), [((9, 9, 9), 1), ((), 2)])
def test_a_benchmark_gets_an_input_only_where_it_does_not_work_alone(
    faults: tuple[int, ...], n_tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FirstMeasurement, "try_run", lambda _, __, run, ___: TriedCommand(run, (7, 7, 7) if run.file else faults)
    )
    monkeypatch.setattr(argument_trials, "try_with_arguments", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./speed"), RunProposal("./speed t/a", input_file="t/a")]
    assert len(list(command_trials.try_runs(first, BuildProposal("Make", ""), runs, Path(), lambda _: None))) == n_tried


@pytest.mark.parametrize(("names_vary", "digest"), [(True, "log of 1"), (False, "with t/a")])
def test_a_program_that_names_files_after_the_time_opens_its_input_only_if_the_count_says_so(
    names_vary: bool, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executions = iter(range(1, 10))

    def try_run(_: object, __: BuildProposal, run: RunProposal, ___: Path) -> TriedCommand:
        number = next(executions) if names_vary else 1
        own_bytes = f"log of {number}" if names_vary or not run.file else f"with {run.file}"
        return TriedCommand(run, (200, 205), own_bytes=own_bytes)

    monkeypatch.setattr(FirstMeasurement, "try_run", try_run)
    monkeypatch.setattr(argument_trials, "try_larger_sizes", lambda _, __, tried, ___: tried)
    monkeypatch.setattr(input_trials, "takes_file_for_text", lambda *_: False)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [RunProposal("./hpc", may_do_nothing=True), RunProposal("./hpc t/a", input_file="t/a")]
    bare, with_file = islice(command_trials.try_runs(first, BuildProposal("Make", ""), runs, Path(), lambda _: None), 2)
    assert bare.own_bytes == "log of 1"
    assert with_file.own_bytes == digest


def try_file_runs(
    outcomes: dict[str, TriedCommand], monkeypatch: pytest.MonkeyPatch, *runs: RunProposal, help_text: str = ""
) -> list[str]:
    """Try commands that fail unless they are listed, and return what was tried."""
    monkeypatch.setattr(
        FirstMeasurement,
        "try_run",
        lambda _, __, run, ___: replace(outcomes.get(run.command) or TriedCommand(run, (), "it failed"), run=run),
    )
    monkeypatch.setattr(input_trials, "describe_unread_input", lambda *_: "")
    monkeypatch.setattr(FirstMeasurement, "make_workload", lambda *_: None)
    monkeypatch.setattr(FirstMeasurement, "_execute_workload", lambda *_: ProgramResult(0, help_text, "", 0.1, 1.0))
    first = FirstMeasurement.__new__(FirstMeasurement)
    first.sources = getattr(FirstMeasurement, "sources", listing({}))
    return [
        tried.run.command
        for tried in command_trials.try_runs(first, BuildProposal("Make", ""), runs, Path(), lambda _: None)
    ]


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
    monkeypatch.setattr(server_trials, "find_server", lambda *_: None)
    monkeypatch.setattr(argument_trials, "try_larger_sizes", lambda _, __, tried, ___: tried)
    assert try_file_runs(outcomes, monkeypatch, BARE, WITH_FILE, WITH_OTHER_FILE) == ["./x", "./x t/a", "./x t/b"]


@pytest.mark.parametrize(("faults", "is_enough"), [(150, False), (900, True)])
def test_more_inputs_are_tried_while_each_hardly_does_more_than_start(faults: int, *, is_enough: bool) -> None:
    runs = [RunProposal(f"./x t/{number}", input_file=f"t/{number}") for number in range(9)]
    results = [TriedCommand(run, (faults,), cpu_seconds=0.002, seconds=0.002) for run in runs]
    assert has_enough_inputs(runs[4], results[:4]) is is_enough
    assert has_enough_inputs(runs[8], results[:8])
    assert not has_enough_inputs(replace(runs[8], passes_number=True), results[:8]), "it does more with a number"


@pytest.mark.parametrize("is_test", [True, False])
def test_a_test_that_ignores_two_files_gets_no_other(monkeypatch: pytest.MonkeyPatch, *, is_test: bool) -> None:
    bare = replace(BARE, is_test=is_test)
    runs = [bare, WITH_FILE, WITH_OTHER_FILE, RunProposal("./x t/c", input_file="t/c")]
    outcomes = {run.command: TriedCommand(run, (119,), cpu_seconds=0.001, own_bytes="same") for run in runs}
    monkeypatch.setattr(argument_trials, "try_larger_sizes", lambda _, __, tried, ___: tried)
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


def test_a_program_that_prints_the_same_with_a_file_as_its_input_gets_the_next_one_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        FirstMeasurement,
        "try_run",
        lambda _, __, run, ___: TriedCommand(run, (900,) * 3 if "< f" in run.command else (72,) * 3),
    )
    monkeypatch.setattr(
        input_trials,
        "describe_unread_input",
        lambda _, __, run, ___: "" if "< f" in run.command else "the output is the same as without the file",
    )
    monkeypatch.setattr(argument_trials, "try_larger_sizes", lambda _, __, tried, ___: tried)
    first = FirstMeasurement.__new__(FirstMeasurement)
    runs = [
        RunProposal("./count", may_do_nothing=True),
        *(RunProposal(f"./count {file}", input_file=file) for file in "abcdef"),
    ]
    tried = list(command_trials.try_runs(first, BuildProposal("Make", "make"), runs, Path(), lambda _: None))
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

    monkeypatch.setattr(server_trials, "find_server", find_server)
    tried = try_file_runs({}, monkeypatch, BARE, WITH_FILE, help_text=text)
    assert found == started
    assert tried == (started or ["./x", "./x t/a", FROM_INPUT])


def test_a_script_whose_usage_names_a_port_is_started_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_trials, "find_server", lambda _, __, run, ___: replace(run, obstacle="it listens"))
    usage = "usage: serve.py [-h] --port PORT\n"
    tried = try_file_runs({}, monkeypatch, RunProposal("python3 serve.py"), help_text=usage)
    assert tried == ["python3 serve.py --port 29999"]
    assert try_file_runs({}, monkeypatch, RunProposal("python3 bench.py"), help_text=usage) == ["python3 bench.py"]


def test_a_client_whose_usage_names_a_port_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_trials, "find_server", lambda *_: None)
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
    monkeypatch.setattr(input_trials, "describe_unread_input", lambda *_: pytest.fail("it was found before"))
    monkeypatch.setattr(FirstMeasurement, "try_run", lambda _, __, run, ___: outcomes[run.command])
    first = FirstMeasurement.__new__(FirstMeasurement)
    (tried,) = command_trials.try_runs(first, BuildProposal("Make", ""), [larger], Path(), lambda _: None)
    assert tried.faults == (9, 9)


def test_a_computation_that_takes_too_long_is_tried_with_fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = RunProposal("./lulesh", may_do_nothing=True)
    monkeypatch.setattr(server_trials, "find_server", lambda *_: None)
    outcomes = {
        "./lulesh": TriedCommand(bare, (), "it did not finish within 20 s", timed_out=True),
        "./lulesh -i 10": TriedCommand(bare, (900, 900, 900), cpu_seconds=0.3),
    }
    help_text = " -i <iterations> : number of cycles to run\n"
    first = FirstMeasurement.__new__(FirstMeasurement)
    assert try_file_runs(outcomes, monkeypatch, bare, help_text=help_text) == ["./lulesh -i 10"]
    (tried,) = command_trials.try_runs(first, BuildProposal("Make", ""), [bare], Path(), lambda _: None)
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
        argument_trials,
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
