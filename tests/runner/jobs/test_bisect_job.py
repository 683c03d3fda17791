"""What a job says about the search that it carried out."""

from uuid import uuid4

import pytest

from runner.contract.commit_search import Culprit, Found, Proof, ProofState, Search
from runner.jobs.bisect_job import build_result


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
