"""Which commit a plan measures first in a new environment."""

from runner.contract import Outcome
from service.rules.plan.run_plan import make_plan
from tests.service.reports import JEMALLOC, plan_request
from tests.service.rules.plan.made_plans import POSITIONS, planned, stored


def test_in_a_new_environment_the_last_measured_revision_comes_first() -> None:
    runs = stored(1, 2, 3) + stored(4, outcome=Outcome.FAILED)
    assert planned(plan_request(5, 6, environment=JEMALLOC), {0: runs}) == [
        (3, "anchor"),
        (5, "missing"),
        (6, "missing"),
    ]
    assert make_plan(plan_request(5, environment=JEMALLOC), POSITIONS, {0: runs}).note


def test_where_the_last_revision_was_measured_in_both_no_anchor_is_needed() -> None:
    runs = stored(1, 2, 3) + stored(3, environment=JEMALLOC)
    assert planned(plan_request(4, environment=JEMALLOC), {0: runs}) == [(4, "missing")]


def test_a_revision_that_is_asked_for_anyway_is_its_own_anchor() -> None:
    assert planned(plan_request(3, 4, environment=JEMALLOC), {0: stored(1, 2, 3)}) == [(3, "missing"), (4, "missing")]


def test_an_anchor_that_failed_in_this_environment_is_not_tried_again() -> None:
    runs = stored(1, 2, 3) + stored(3, environment=JEMALLOC, outcome=Outcome.FAILED)
    assert planned(plan_request(4, environment=JEMALLOC), {0: runs}) == [(2, "anchor"), (4, "missing")]


def test_revisions_after_the_first_missing_one_are_no_anchors() -> None:
    assert planned(plan_request(4, environment=JEMALLOC), {0: stored(5, 6)}) == [(4, "missing")]


def test_nothing_to_measure_needs_no_anchor() -> None:
    runs = stored(1, 2) + stored(2, environment=JEMALLOC)
    assert planned(plan_request(2, environment=JEMALLOC), {0: runs}) == []
