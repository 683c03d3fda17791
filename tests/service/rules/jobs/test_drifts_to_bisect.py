"""Which drift the service bisects next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from service.rules.jobs import drifts_to_bisect
from service.rules.jobs.drifts_to_bisect import MOST_A_DAY, OpenEvent, OrderedBisect
from service.schemas.history import Candidate, Cause, Direction, Drift
from service.schemas.triage import BisectPolicy
from tests.service import made_series

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def drift(commits: int = 5, **changes: Any) -> Drift:
    points = [made_series.point(number, 100 * number) for number in (1, 2)]
    made = made_series.drift(1, points[0], points[1])
    candidates = [Candidate(commit=f"{number:040x}", title="t", author="a") for number in range(commits)]
    plain = {"metric": "minor-faults", "cause": Cause.COMMIT, "candidates": candidates, "within_budget": False}
    return made.model_copy(update=plain | changes)


def chosen(*drifts: Drift, measurable: bool = True) -> Drift | None:
    return drifts_to_bisect.drift_to_bisect(drifts, lambda _: measurable)


def unsure() -> Drift:
    one = drift()
    return one.model_copy(update={"evidence": one.evidence.model_copy(update={"wants_rerun": True})})


@pytest.mark.parametrize(
    "one", [drift(1), drift(0), drift(cause=Cause.CONFIG), drift(cause=Cause.BOTH), drift(series_id=0), unsure()]
)
def test_a_drift_that_a_bisect_would_not_explain_is_left_alone(one: Drift) -> None:
    assert chosen(one) is None


def test_a_drift_with_several_candidates_is_bisected_where_a_host_can_measure_it() -> None:
    assert chosen(drift()) == drift()
    assert chosen(drift(1, candidates_known=False)) is not None
    assert chosen(drift(), measurable=False) is None


def test_of_an_event_the_cheapest_bisect_is_chosen() -> None:
    noisy, wide, narrow = drift(2, metric="elapsed", id="n"), drift(9, id="w"), drift(3, id="x")
    assert chosen(noisy, wide, narrow) == narrow
    assert chosen(noisy, wide) == wide


def test_a_regression_over_its_budget_comes_first_and_nothing_is_bisected_twice() -> None:
    better = drift(direction=Direction.IMPROVEMENT, id="b")
    within, over = drift(within_budget=True, id="i"), drift(direction=Direction.REGRESSION, id="o")

    def ordered(*events: OpenEvent) -> Drift | None:
        return drifts_to_bisect.drift_to_order(events, lambda _: True)

    def event(one: Drift, *, silenced: bool = False, bisected: bool = False) -> OpenEvent:
        return OpenEvent([one], silenced, bisected)

    within = within.model_copy(update={"direction": Direction.REGRESSION})
    assert ordered(event(better), event(within), event(over)) == over
    assert ordered(event(better), event(within), event(over, bisected=True)) == within
    assert ordered(event(over, silenced=True)) is None
    assert ordered() is None


@pytest.mark.parametrize("policy", [BisectPolicy.OFF, BisectPolicy.ASK])
def test_the_service_orders_nothing_unless_it_is_wanted(policy: BisectPolicy) -> None:
    assert not drifts_to_bisect.may_order(policy, [], NOW)


def test_one_bisect_is_open_at_a_time_and_few_are_ordered_a_day() -> None:
    def may(*ordered: OrderedBisect) -> bool:
        return drifts_to_bisect.may_order(BisectPolicy.DO, ordered, NOW)

    ended = OrderedBisect(NOW - timedelta(hours=1), open=False)
    assert may()
    assert not may(OrderedBisect(NOW - timedelta(days=3), open=True))
    assert may(*[ended] * (MOST_A_DAY - 1))
    assert not may(*[ended] * MOST_A_DAY)
    assert may(*[OrderedBisect(NOW - timedelta(days=1, seconds=1), open=False)] * MOST_A_DAY)


def test_the_expected_number_of_runs_is_that_of_a_bisection() -> None:
    assert drifts_to_bisect.expected_runs(drift(1000)) == 12
    assert drifts_to_bisect.expected_runs(drift(metric="elapsed")) is None
