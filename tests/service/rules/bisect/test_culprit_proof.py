"""What a comparison of a culprit with its parent shows."""

import uuid

import pytest

from runner.contract import ComparisonRequest, Reading, Sample
from runner.contract.commit_search import Proof, ProofState
from service.rules.bisect import exact_search
from service.rules.bisect.culprit_proof import (
    MAX_PROOFS_WITHOUT_RESULT,
    add_levels_of_proof,
    choose_next_proof,
    choose_precision,
    decide_proof,
)
from service.rules.bisect.question import Culprit, Found, Observation, Prove, Question, Refused
from service.rules.comparison.comparison_verdict import decide_comparison
from tests.service import reports
from tests.service.rules.bisect import histories

CULPRIT = Culprit(commit="c", parent="b", before=100, after=107, candidates=("c",))
SESSION = uuid.uuid4()


def compared(base, head):
    sides = [
        reports.report(
            1, session=SESSION, samples=tuple(Sample(readings={"minor-faults": Reading(value=one)}) for one in values)
        )
        for values in (base, head)
    ]
    return decide_comparison(ComparisonRequest(base=sides[0], head=sides[1]))


def test_a_culprit_stands_where_each_side_repeats_its_count():
    proof, why = decide_proof(CULPRIT, "minor-faults", compared([100] * 30, [107] * 30))
    assert proof is ProofState.STANDS
    assert "30 of 30" in why


def test_a_culprit_fails_where_nothing_changes_or_the_sign_is_another():
    for head in (100, 90):
        proof, why = decide_proof(CULPRIT, "minor-faults", compared([100] * 30, [head] * 30))
        assert proof is ProofState.FAILS
        assert "100 faults before the commit and 107 faults after it" in why.replace("\N{NO-BREAK SPACE}", " ")


def test_it_is_open_while_runs_are_missing():
    assert decide_proof(CULPRIT, "minor-faults", compared([100] * 3, [107] * 3))[0] is ProofState.OPEN
    assert decide_proof(CULPRIT, "major-faults", compared([100] * 30, [107] * 30))[0] is ProofState.OPEN


def test_a_merge_that_undoes_its_branch_is_judged_by_what_it_did_itself():
    merge = CULPRIT.model_copy(update={"before": 100, "after": 100, "branch_change": 7})
    assert decide_proof(merge, "minor-faults", compared([100] * 30, [100] * 30))[0] is ProofState.STANDS
    assert decide_proof(merge, "minor-faults", compared([100] * 30, [107] * 30))[0] is ProofState.FAILS


def test_a_proven_culprit_shows_what_its_proof_measured():
    stands = Proof(state=ProofState.STANDS, sentence="It does.", parent_run=uuid.uuid4(), run=uuid.uuid4())
    pooled = CULPRIT.model_copy(update={"before": 99, "after": 130, "proof": stands})
    comparison = compared([100] * 30, [131] * 30)
    assert add_levels_of_proof(pooled, "minor-faults", comparison).before == 100
    assert add_levels_of_proof(pooled, "minor-faults", comparison).after == 131
    merge = add_levels_of_proof(pooled.model_copy(update={"branch_change": 7}), "minor-faults", comparison)
    assert (merge.before, merge.after, merge.own_change) == (100, 131, 24)
    undone = pooled.model_copy(update={"branch_change": 40})
    assert add_levels_of_proof(undone, "minor-faults", compared([100] * 30, [150] * 30)) == undone


def test_a_metric_whose_proofs_keep_failing_is_said_not_to_repeat():
    question = Question(good="c0", bad="c9", commits=histories.line(9))
    seen = [Observation(commit=f"c{place}", value=100 + place % 2) for place in range(10)]
    for place in range(MAX_PROOFS_WITHOUT_RESULT + 1):
        session = uuid.uuid4()
        seen += [Observation(commit=f"c{one}", value=100, session=session) for one in (2 * place, 2 * place + 1)]
    answer = choose_next_proof(question, exact_search.search_exact_metric(question, seen), seen)
    assert isinstance(answer, Refused)
    assert answer.sentence.startswith("Not proven: this metric varies by ±0.5 between executions of one commit")
    assert "did not confirm 4 differences" in answer.sentence


def test_equal_pairs_of_commits_that_were_never_measured_alone_do_not_refute_the_metric():
    question = Question(good="c0", bad="c20", commits=histories.line(20))
    seen = [Observation(commit="c0", value=100), Observation(commit="c20", value=107)]
    seen += [Observation(commit=f"c{place}", value=100 if place < 10 else 107) for place in (2, 4, 6, 8, 9, 10)]
    for place in (2, 4, 6, 8):  # compared with a neighbour for another reason; the neighbour has no run of its own
        session = uuid.uuid4()
        seen += [Observation(commit=f"c{one}", value=100, session=session) for one in (place - 1, place)]
    answer = choose_next_proof(question, exact_search.search_exact_metric(question, seen), seen)
    assert isinstance(answer, Prove)
    assert answer.commit == "c10"


def proven(commit: str, state: ProofState) -> Culprit:
    own = Proof(state=state, sentence="The count varies.", parent_run=uuid.uuid4(), run=uuid.uuid4())
    return CULPRIT.model_copy(update={"commit": commit, "parent": f"before-{commit}", "proof": own})


def measured(culprits):
    """Return observations of each culprit and its parent, interleaved."""
    seen = []
    for culprit in culprits:
        session = uuid.uuid4()
        seen += [
            Observation(commit=commit, value=100, session=session, samples=(97, 103))
            for commit in (culprit.parent, culprit.commit)
        ]
    return seen


QUESTION = Question(good="before-c1", bad="c9", commits=histories.line(9), unit="faults")


@pytest.mark.parametrize("state", [ProofState.OPEN, ProofState.FAILS])
def test_a_search_of_which_no_proof_stands_names_no_culprit(state):
    culprits = (proven("c1", state),)
    answer = choose_next_proof(QUESTION, Found(culprits=culprits), measured(culprits))
    assert isinstance(answer, Refused)
    assert answer.sentence.startswith("Not proven: this metric varies by ±3")
    assert "c1 may move the metric, but no proof confirms it: The count varies." in answer.sentence
    assert answer.sentence.endswith("Make the count repeatable, or search between commits that differ by more.")


def test_after_too_many_proofs_without_a_result_only_what_is_proven_is_named():
    doubtful = [proven(f"c{place}", ProofState.OPEN) for place in range(1, MAX_PROOFS_WITHOUT_RESULT + 2)]
    stands, untried = proven("c8", ProofState.STANDS), CULPRIT.model_copy(update={"commit": "c9", "parent": "c8"})
    seen = measured([*doubtful, stands])
    assert choose_next_proof(QUESTION, Found(culprits=(*doubtful, stands, untried)), seen) == Found(culprits=(stands,))
    assert isinstance(choose_next_proof(QUESTION, Found(culprits=(*doubtful, untried)), seen), Refused)
    # One proof without a result is no reason to leave the next one out.
    assert isinstance(choose_next_proof(QUESTION, Found(culprits=(doubtful[0], untried)), seen), Prove)


def test_a_proof_of_a_noisy_metric_has_to_tell_a_step_of_the_size_that_was_seen():
    assert choose_precision(CULPRIT, exact=False) == pytest.approx(100 * 7 / 103.5)
    assert choose_precision(CULPRIT.model_copy(update={"before": 0}), exact=False) == 100
