"""Which doubts reruns can end, and the reruns in a plan."""

import pytest

from runner.contract import Outcome
from service.rules.plan.reruns import DriftEnd, list_newest_drifts_in_doubt
from service.rules.plan.run_plan import Orders
from tests.service.reports import JEMALLOC, commit
from tests.service.rules.plan.made_plans import ordered, stored


def test_only_a_doubt_about_the_newest_level_is_ended_by_reruns() -> None:
    doubt, later, elsewhere = DriftEnd(1, "glibc", 5, True), DriftEnd(1, "glibc", 9, False), DriftEnd(1, "je", 9, False)
    assert list_newest_drifts_in_doubt([doubt]) == list_newest_drifts_in_doubt([elsewhere, doubt]) == [doubt]
    assert (
        list_newest_drifts_in_doubt([doubt, later])
        == list_newest_drifts_in_doubt([later, doubt])
        == list_newest_drifts_in_doubt([later])
        == []
    )


@pytest.mark.parametrize("outcome", [Outcome.MEASURED, Outcome.FAILED])
def test_a_doubtful_newest_run_is_measured_again_once_at_a_time_and_eight_times_at_most(outcome: Outcome) -> None:
    doubtful = Orders(in_doubt=True)
    runs = stored(1, 2, 3)
    for _ in range(8):
        assert ordered(doubtful, runs, 1, 2, 3) == [(3, "rerun")]
        runs += stored(3, outcome=outcome)
    assert ordered(doubtful, runs, 1, 2, 3) == []
    assert ordered(doubtful, runs, 1, 2, 3, 4) == [(4, "missing")]
    assert ordered(doubtful, runs + stored(4), 1, 2, 3, 4) == [(4, "rerun")]


def test_the_level_that_fewer_runs_show_is_measured_again_eight_times_at_most() -> None:
    young = Orders(in_doubt=True, revision_before=commit(1))
    assert ordered(young, stored(1, 2, 3)) == [(1, "rerun")]
    assert ordered(young, stored(1, *[1] * 8, 2, 3)) == [(3, "rerun")]
    assert ordered(young, stored(2, 3) + stored(1, environment=JEMALLOC)) == [(3, "rerun")]
    assert ordered(young, stored(1, 2, 3), 4) == [(4, "missing")]


def test_a_later_revision_tells_as_much_as_a_rerun() -> None:
    assert ordered(Orders(in_doubt=True), stored(1, 2), 3) == [(3, "missing")]


def test_another_environment_cannot_be_measured_again() -> None:
    assert ordered(Orders(in_doubt=True), stored(1, 2, environment=JEMALLOC)) == []
