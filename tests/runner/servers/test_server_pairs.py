"""Comparisons of servers: both are alive, and are loaded in turns."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.comparison import Comparison, ComparisonRequest, Verdict
from runner.contract.report import Case, Environment, Host, Outcome, Revision, Window
from runner.measuring.comparison import ComparisonResult, Pairs, compare_interleaved_trials
from runner.measuring.trial import Bench, Subject, Trial
from runner.servers.server_execution import ServerExecution
from runner.servers.server_processors import split_processors
from runner.workload import Workload

pytestmark = pytest.mark.perf

REVISION = Revision(commit="a" * 40, committed_at=datetime(2024, 1, 1, tzinfo=UTC))
CASE = Case(workload="server", definition="0" * 16)


def make_trial(tree: Path, mode: str, log: Path, *, huge_pages: str = "host") -> Trial:
    """Return the trial of a server that writes its mode into a log at each window, by its load."""
    load = f"printf {mode[0]} >>{log}; exec python3 load.py {{port}} 100"
    workload = Workload.model_validate(
        {
            "workload": {"name": "server", "timeout": 20},
            "run": {"huge_pages": huge_pages},
            "server": {"command": ["./server", "{port}", mode]},
            "load": {"command": ["sh", "-c", load], "output": "json", "windows": 2, "warm_up": 1},
        }
    )
    bench = Bench(Host(name="host"), lambda _: Environment(settings={}))
    return Trial(workload, Subject("subject", REVISION, CASE), bench, tree)


def compare_modes(built: Path, folder: Path, base: str, head: str) -> tuple[ComparisonResult, str]:
    """Compare two modes of the server in two pairs; return the result, and the windows in their order."""

    def decide(_: ComparisonRequest) -> Comparison:
        return Comparison(verdict=Verdict.SAME, remaining_pairs=0, metrics=(), settings=())

    log = folder / "log"
    trials = [
        make_trial(Path(shutil.copytree(built, folder / side)), mode, log)
        for side, mode in (("base", base), ("head", head))
    ]
    result = compare_interleaved_trials(trials[0], trials[1], decide, pairs=Pairs(2, 2))
    return result, log.read_text()


def test_both_servers_are_loaded_in_turns_window_by_window(built: Path, tmp_path: Path) -> None:
    result, log = compare_modes(built, tmp_path, "quiet", "touch")
    # Each pair has three windows of a side; the sides take turns within a pair and from pair to pair.
    assert log.endswith("qttqqt" + "tqqttq")
    assert result.base.list_values("minor-faults") == (0, 0)
    assert result.head.list_values("minor-faults") == (200, 200)
    assert result.base.session == result.head.session


def test_both_servers_are_asked_to_stop_before_either_is_waited_for(built: Path, tmp_path: Path) -> None:
    result, _ = compare_modes(built, tmp_path, "slow to stop", "slow to stop")
    assert result.comparison is not None
    assert (tmp_path / "stops").read_text().endswith("ssee" * 2)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_both_servers_run_on_other_processors_than_the_load(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_cpus = os.sched_getaffinity(0)
    cpus: list[set[int]] = []
    run_window = ServerExecution.run_window

    def note_processors(execution: ServerExecution) -> Window:
        cpus.extend(map(os.sched_getaffinity, execution._counted_program.list_processes()))
        return run_window(execution)

    monkeypatch.setattr(ServerExecution, "run_window", note_processors)
    compare_modes(built, tmp_path, "quiet", "quiet")
    server_cpus, _ = split_processors(frozenset(all_cpus))
    assert len(cpus) >= 12
    assert all(each == server_cpus for each in cpus)
    assert os.sched_getaffinity(0) == all_cpus


def test_a_server_that_fails_is_the_side_that_failed(built: Path, tmp_path: Path) -> None:
    result, _ = compare_modes(built, tmp_path, "quiet", "crash")
    assert (result.base.outcome, result.head.outcome) == (Outcome.SKIPPED, Outcome.FAILED)
    assert result.head.failure
    assert "was terminated by SIGABRT" in result.head.failure.message


def test_servers_that_cannot_be_alive_at_once_take_turns_as_programs_do(built: Path, tmp_path: Path) -> None:
    trial = make_trial(built, "quiet", tmp_path / "log")
    elsewhere = Path(shutil.copytree(built, tmp_path / "elsewhere"))
    assert trial.can_run_at_once(make_trial(elsewhere, "quiet", tmp_path / "log"))
    # The policy of huge pages is the host's, and a tree has one folder for data.
    assert not trial.can_run_at_once(make_trial(elsewhere, "quiet", tmp_path / "log", huge_pages="never"))
    assert not trial.can_run_at_once(trial)
