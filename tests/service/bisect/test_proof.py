"""What a comparison of a culprit with its parent shows."""

import uuid

import reports

from runner.contract import ComparisonRequest, Reading, Sample
from service.bisect.proof import Proof, judge
from service.bisect.question import Culprit
from service.gate import decide

CULPRIT = Culprit(commit="c", parent="b", before=100, after=107, candidates=("c",))
SESSION = uuid.uuid4()


def compared(base, head):
    sides = [
        reports.report(
            1, session=SESSION, samples=tuple(Sample(readings={"minor-faults": Reading(value=one)}) for one in values)
        )
        for values in (base, head)
    ]
    return decide(ComparisonRequest(base=sides[0], head=sides[1]))


def test_a_culprit_stands_where_each_side_repeats_its_count():
    proof, why = judge(CULPRIT, "minor-faults", compared([100] * 5, [107] * 5))
    assert proof is Proof.STANDS
    assert "5 of 5" in why


def test_a_culprit_fails_where_nothing_changes_or_the_sign_is_another():
    for head in (100, 90):
        proof, why = judge(CULPRIT, "minor-faults", compared([100] * 5, [head] * 5))
        assert proof is Proof.FAILS
        assert "100 before and 107 after" in why


def test_it_is_open_while_runs_are_missing():
    assert judge(CULPRIT, "minor-faults", compared([100] * 3, [107] * 3))[0] is Proof.OPEN
    assert judge(CULPRIT, "major-faults", compared([100] * 5, [107] * 5))[0] is Proof.OPEN
