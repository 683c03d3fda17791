"""Real servers under real load: what is counted, and how servers that misbehave end."""

import os
import re
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from runner.contract.report import Case, Sample
from runner.execution.background_program import BackgroundProgram
from runner.execution.load_commands import LoadCommands
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.process_state import ProcessState
from runner.servers import server_execution
from runner.servers.server_execution import ServerOrder, start_server
from runner.workload import Workload
from tests.runner.servers.conftest import Execute

pytestmark = pytest.mark.perf


def get_faults(sample: Sample) -> list[int | float | None]:
    return [window.readings["minor-faults"].value for window in sample.windows]


def list_processes_in(tree: Path) -> list[str]:
    """Return the processes that are alive in a folder: servers, and commands of their loads."""
    names = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "cwd").readlink() == tree:
                names.append((folder / "comm").read_text().strip())
    return names


@pytest.mark.parametrize("sandboxed", [False, True], ids=["open", "sandboxed"])
def test_one_page_a_request_is_one_fault_a_request(execute: Execute, sandboxed: bool) -> None:
    sample = execute("touch", sandboxed=sandboxed)
    assert get_faults(sample) == [200, 200, 200]
    assert [window.is_warm_up for window in sample.windows] == [True, False, False]
    assert sample.readings["minor-faults"].value == 400
    assert sample.readings["faults-per-operation"].value == 1
    assert (sample.readings["throughput"].value or 0) > 0
    assert sample.readings["context-switches"].value


def test_the_load_generator_is_not_counted(execute: Execute) -> None:
    assert get_faults(execute("quiet")) == [0, 0, 0]


def test_a_server_that_does_nothing_in_a_window_has_no_faults_in_it(tree: Path) -> None:
    workload = Workload.model_validate(
        {
            "workload": {"name": "server"},
            "server": {"command": "./server {port} touch"},
            "load": {"command": ["sh", "-c", "mkdir {data}/used || exec python3 load.py {port} 200"], "warm_up": 0},
        }
    )
    order = ServerOrder(workload, Case(workload="server", definition="0" * 16), tree, ProcessState())
    with start_server(order) as server:
        sample = server.run()
    assert get_faults(sample) == [0, 200, 200]
    counts = {name: reading.value for name, reading in sample.windows[0].readings.items() if reading.value is not None}
    assert counts["context-switches"] == counts["task-clock"] == counts.get("rwsem-waits", 0) == 0
    assert sample.readings["minor-faults"].value == 400


def test_children_that_a_server_forks_for_a_connection_are_counted(execute: Execute) -> None:
    alone = execute("fork", requests=100)
    more = execute("fork", requests=300)
    # Each window may copy a page of the server more or less, as the order of server and child decides.
    faults = (more.readings["minor-faults"].value or 0) - (alone.readings["minor-faults"].value or 0)
    assert faults == pytest.approx(400, abs=4)


def test_what_a_server_does_for_a_load_that_has_ended_belongs_to_its_window(execute: Execute) -> None:
    assert get_faults(execute("late")) == [200, 200, 200]


def test_a_server_that_wakes_up_regularly_is_not_waited_for(execute: Execute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_execution, "_MAX_SETTLE_SECONDS", 1000.0)
    assert get_faults(execute("ticking")) == [0, 0, 0], "in the time that a test has"


def test_memory_that_grows_is_measured(execute: Execute) -> None:
    sample = execute("grow", requests=1000)
    assert sample.readings["resident-growth"].value == pytest.approx(2000 * 4096, rel=0.1)


@pytest.mark.parametrize("sandboxed", [False, True], ids=["open", "sandboxed"])
def test_a_server_can_listen_at_a_socket(execute: Execute, sandboxed: bool) -> None:
    assert get_faults(execute("touch", place="{socket}", sandboxed=sandboxed)) == [200, 200, 200]


def test_a_server_can_say_in_its_log_that_it_is_ready(execute: Execute) -> None:
    assert get_faults(execute("touch", server='ready_log = "ready to serve"')) == [200, 200, 200]


def test_a_command_can_say_that_a_server_is_ready(execute: Execute) -> None:
    assert get_faults(execute("touch", server='ready_command = "python3 load.py {port} 1"')) == [200, 200, 200]


def test_a_fill_comes_before_the_windows_and_is_not_counted(execute: Execute) -> None:
    sample = execute("touch", load='fill = "python3 load.py {port} 50"')
    assert get_faults(sample) == [200, 200, 200]


def test_a_server_that_levels_off_needs_no_more_windows_to_warm_up(execute: Execute) -> None:
    sample = execute("touch", warm_up='"steady"', windows=1)
    assert [window.is_warm_up for window in sample.windows] == [True, True, False]


def test_a_server_that_has_warmed_up_does_not_warm_up_again(execute: Execute) -> None:
    sample = execute("restless", warm_up='"steady"', windows=4, requests=350)
    assert [window.is_warm_up for window in sample.windows] == [True, True, False, False, False, False]
    assert get_faults(sample)[2:4] == [get_faults(sample)[2], 1400]


def test_a_server_may_print_a_lot_while_it_works(execute: Execute) -> None:
    assert len(get_faults(execute("print", requests=2000))) == 3


FAILURES = {
    "end": (r"`./server [0-9]+ end` ended with exit code 3 \(before it was ready\)", {}),
    "hang": (r"was not ready within 1 s: it is not listening on \{port\}", {"ready_timeout": 1}),
    "chatter": (r"was not ready within 1 s: it is not listening on \{port\}", {"ready_timeout": 1}),
    "crash": (r"was terminated by SIGABRT \(during window 1\)", {}),
    "stubborn": (r"did not stop within 1 s after SIGTERM, and was killed", {"stop_timeout": 1}),
    "daemon": (r"it must stay in the foreground", {}),
    "helper": (r"processes that it started kept running: server", {}),
}


@pytest.mark.parametrize("sandboxed", [False, True], ids=["open", "sandboxed"])
@pytest.mark.parametrize("mode", FAILURES)
def test_a_server_that_misbehaves_ends_with_one_line_and_leaves_nothing(
    execute: Execute, tree: Path, mode: str, sandboxed: bool
) -> None:
    words, keys = FAILURES[mode]
    started = time.monotonic()
    with pytest.raises(ExecutionFailure) as failure:
        execute(mode, sandboxed=sandboxed, **keys)
    assert re.search(words, failure.value.message), failure.value.message
    assert "\n" not in failure.value.message
    assert time.monotonic() - started < 15
    assert list_processes_in(tree) == []


@pytest.mark.parametrize(
    "sandboxed", [pytest.param(False, marks=pytest.mark.thorough), True], ids=["open", "sandboxed"]
)
def test_a_load_that_does_not_end_is_killed(
    execute: Execute, tree: Path, monkeypatch: pytest.MonkeyPatch, sandboxed: bool
) -> None:
    ends: list[tuple[int, float] | None] = []
    kill_command = LoadCommands._kill_command

    def note_end(commands: LoadCommands, program: BackgroundProgram) -> None:
        kill_command(commands, program)
        ends.append(commands._end_status)

    monkeypatch.setattr(LoadCommands, "_kill_command", note_end)
    with pytest.raises(ExecutionFailure, match=r"window 1: `python3 load\.py .*` did not finish within 1 s"):
        execute("quiet", requests=10**9, timeout=1, sandboxed=sandboxed)
    assert [end and end[0] for end in ends] == [signal.SIGKILL]
    assert list_processes_in(tree) == []


def test_a_load_that_reports_an_impossible_rate_is_told(execute: Execute) -> None:
    with pytest.raises(ExecutionFailure, match=r"\[load\] command reports 200 operations in 1e-300 s; .* out of range"):
        execute("quiet", requests="200 1e-300")


def test_a_command_beside_the_server_gets_all_its_arguments(execute: Execute) -> None:
    words = " ".join(["x"] * 30_000)
    execute("quiet", load=f"""fill = "sh -c 'test $# = 30000' sh {words}" """)


def test_a_load_that_fails_says_what_it_printed(execute: Execute) -> None:
    with pytest.raises(ExecutionFailure, match=r"fill: `python3 load.py 1 1` ended with exit code 1") as failure:
        execute("quiet", load='fill = "python3 load.py 1 1"')
    assert "ConnectionRefusedError" in failure.value.log


@pytest.mark.parametrize(
    "sandboxed", [pytest.param(False, marks=pytest.mark.thorough), True], ids=["open", "sandboxed"]
)
def test_what_a_load_leaves_behind_ends_with_the_server_and_is_not_taken_for_its_own(
    execute: Execute, tree: Path, sandboxed: bool
) -> None:
    helper = "sh -c 'sleep 60 & sleep 60; true' & echo helping"
    sample = execute("touch", sandboxed=sandboxed, load=f'fill = ["sh", "-c", "{helper}"]')
    assert get_faults(sample) == [200, 200, 200]
    assert list_processes_in(tree) == []
    with pytest.raises(ExecutionFailure, match=r"processes that it started kept running: server$"):
        execute("helper", sandboxed=sandboxed, load=f'fill = ["sh", "-c", "{helper}"]')
    assert list_processes_in(tree) == []


def test_a_sandboxed_server_reaches_no_network_but_its_own(execute: Execute) -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', int(__import__('sys').argv[1])), 1)"
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ExecutionFailure, match=r"fill: .* ended with exit code 1"):
            execute("quiet", sandboxed=True, load=f"fill = ['python3', '-c', \"{code}\", '{port}']")
        execute("quiet", load=f"fill = ['python3', '-c', \"{code}\", '{port}']")


def test_the_folder_of_the_data_is_empty_at_each_start(execute: Execute, tree: Path) -> None:
    command = 'fill = ["sh", "-c", "test -z \\"$(ls {data})\\" && echo left > {data}/file"]'
    for _ in range(2):
        execute("quiet", load=command)
    assert not (tree / "faultwatch-data").exists()


def test_the_runner_has_its_own_processors_again(execute: Execute) -> None:
    before = os.sched_getaffinity(0)
    execute("quiet")
    assert os.sched_getaffinity(0) == before


def test_a_server_that_ends_as_it_is_to_be_stopped_is_a_failure(
    execute: Execute, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_alive = server_execution.ServerExecution._require_alive

    def kill_after_the_check(execution: server_execution.ServerExecution, phase: str, seconds: float = 0) -> None:
        require_alive(execution, phase, seconds)
        program = execution._counted_program.launch.program
        if phase == "before it was stopped" and program and Path(f"/proc/{program}").exists():
            os.kill(program, signal.SIGKILL)
            while Path(f"/proc/{program}").exists():
                time.sleep(0.001)

    monkeypatch.setattr(server_execution.ServerExecution, "_require_alive", kill_after_the_check)
    with pytest.raises(ExecutionFailure, match=r"was terminated by SIGKILL"):
        execute("helper")
    assert list_processes_in(tree) == []
