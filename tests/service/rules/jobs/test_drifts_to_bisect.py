"""Which drift the service bisects next."""

from __future__ import annotations

from typing import Any

import pytest

from runner.contract.job import State
from service.rules.jobs import drifts_to_bisect
from service.rules.jobs.bisect_exclusions import OpenEvent
from service.schemas.history import Candidate, Cause, Direction, Drift
from tests.service import made_series
from tests.service.rules.jobs.made_bisects import NOW, ended


def drift(commits: int = 5, **changes: Any) -> Drift:
    points = [made_series.point(number, 100 * number) for number in (1, 2)]
    made = made_series.drift(1, points[0], points[1])
    candidates = [Candidate(commit=f"{number:040x}", title="t", author="a") for number in range(commits)]
    plain = {"metric": "minor-faults", "cause": Cause.COMMIT, "candidates": candidates, "within_budget": False}
    return made.model_copy(update=plain | changes)


def chosen(*drifts: Drift, measurable: bool = True) -> Drift | None:
    return drifts_to_bisect.choose_drift_to_bisect(drifts, lambda _: measurable)


def unsure() -> Drift:
    one = drift()
    return one.model_copy(update={"evidence": one.evidence.model_copy(update={"wants_rerun": True})})


@pytest.mark.parametrize(
    "one",
    [drift(1), drift(0), drift(cause=Cause.CONFIG), drift(cause=Cause.COMMIT_AND_CONFIG), drift(series_id=0), unsure()],
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
    small = drift(3, id="a", before=100, after=101, change=1, percent=1.0)
    from_zero = drift(3, id="b", before=0, after=10240, change=10240, percent=None)
    assert chosen(small, from_zero) == from_zero


def test_an_only_candidate_is_proven_after_all_ranges() -> None:
    single, several = drift(1, id="a"), drift(3, id="b")

    def ordered(*drifts: Drift, measurable: bool = True) -> Drift | None:
        return drifts_to_bisect.choose_drift_to_order([OpenEvent(drifts, silenced=False)], lambda _: measurable, NOW)

    assert ordered(single) == single
    assert ordered(single, several) == several
    assert ordered(single, measurable=False) is None
    assert ordered(drift(0), drift(1, cause=Cause.CONFIG), drift(1, series_id=0)) is None


def test_a_suspected_change_is_settled_unless_its_event_is_certain() -> None:
    suspected, certain = unsure(), drift(3, id="b")

    def ordered(*drifts: Drift, measurable: bool = True) -> Drift | None:
        return drifts_to_bisect.choose_drift_to_order([OpenEvent(drifts, silenced=False)], lambda _: measurable, NOW)

    assert ordered(suspected) == suspected
    assert ordered(suspected, certain) == certain
    assert ordered(suspected, drift(0, cause=Cause.CONFIG)) is None
    assert ordered(suspected, measurable=False) is None


def test_the_most_important_event_that_may_be_bisected_comes_first() -> None:
    first, second = drift(id="a"), drift(id="b", direction=Direction.IMPROVEMENT)

    def ordered(*events: OpenEvent) -> Drift | None:
        return drifts_to_bisect.choose_drift_to_order(events, lambda _: True, NOW)

    assert ordered(OpenEvent([first], silenced=False), OpenEvent([second], silenced=False)) == first
    assert ordered(OpenEvent([first], silenced=True), OpenEvent([second], silenced=False)) == second
    done = OpenEvent([first], silenced=False, bisects=[ended(State.DONE)])
    assert ordered(done, OpenEvent([second], silenced=False)) == second
    assert ordered(done) is None
    assert ordered() is None


def test_the_expected_number_of_runs_is_that_of_a_bisection() -> None:
    assert [drifts_to_bisect.estimate_drift_runs(drift(commits)) for commits in (1, 2, 3, 1000)] == [2, 3, 4, 12]
    assert drifts_to_bisect.estimate_drift_runs(drift(metric="elapsed")) is None
