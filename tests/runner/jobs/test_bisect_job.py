"""What a job says about the search that it carried out."""

from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest

from runner.contract.commit_search import Culprit, Found, Measure, Proof, ProofState, Search
from runner.jobs import bisect_job
from runner.jobs.bisect_job import build_result
from runner.jobs.claimed_job import ClaimedJob
from tests.runner.sample_reports import report


def culprit(number: int, state: ProofState | None) -> Culprit:
    commit = f"{number:040x}"
    proof = Proof(state=state, sentence="", parent_run=uuid4(), run=uuid4()) if state else None
    return Culprit(commit=commit, parent="0" * 40, before=1, after=2, candidates=(commit,), proof=proof)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([], "No commit in the range moves the metric."),
        ([None], "0000000000 may move the metric, but no proof confirms it."),
        ([ProofState.STANDS], "0000000000 moves the metric."),
        ([ProofState.OPEN], "0000000000 may move the metric, but no proof confirms it."),
        (
            [ProofState.STANDS, ProofState.FAILS, ProofState.OPEN],
            "0000000000 moves the metric. 0000000000 and 0000000000 may move the metric, but no proof confirms it.",
        ),
    ],
)
def test_a_commit_moves_the_metric_only_if_its_proof_stands(states: list[ProofState | None], said: str) -> None:
    found = Found.model_construct(culprits=tuple(culprit(number, state) for number, state in enumerate(states)))
    search = Search.model_construct(answer=found)
    assert build_result(search).sentence == said


def test_each_run_of_several_that_are_measured_at_once_leaves_one_run_fewer() -> None:
    runs_left: list[int | None] = []
    job = SimpleNamespace(report_measured_runs=lambda _sentence, left: runs_left.append(left))
    reporter = bisect_job._ProgressReporter(cast(ClaimedJob, job), "minor-faults")
    for left, n_commits in ((5, 3), (2, 1), (1, 2)):
        state = Search.model_construct(answer=Measure(commits=("0" * 40,) * n_commits, runs_left=left))
        for _ in range(n_commits):
            reporter.on_run_stored(state, report())
    assert runs_left == [4, 3, 2, 1, 0, 0]
