from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runner.contract import Status, Verdict
from service.compare import Measured, Pair, Placed, Readings, Sides, judge, match
from service.views import Cause, Direction
from tests.service.pages import made

AT = datetime(2025, 1, 1, tzinfo=UTC)
COUNTED = frozenset([Status.COUNTED])


def run(position: int, **changes: Any) -> Measured:
    told = {
        "run_id": uuid.uuid4(),
        "subject": "demo",
        "case": "copy[mib=4]",
        "case_key": "k1",
        "host": "box",
        "environment": "old",
        "revision": f"{position:040x}",
        "title": f"Change {position}",
        "position": position,
        "started_at": AT + timedelta(minutes=position),
    }
    return Measured(**(told | changes))


def drift(position: int, change: int = 10, **changes: Any) -> Placed:
    before, after = made.point(0, 100), made.point(1, 100 + change)
    told = {"environment_before": "old", "environment_after": "old", **changes}
    return Placed(position, made.drift(1, before, after, **told))


def judged(
    base: tuple[float, ...],
    head: tuple[float, ...],
    *drifts: Placed,
    name: str = "minor-faults",
    pair: Pair | None = None,
    status: Status = Status.COUNTED,
) -> Any:
    pair = pair or Pair((run(1),), (run(5),))
    sides = Sides(name, Readings(base, frozenset([status])), Readings(head, frozenset([status])))
    return judge(pair, sides, drifts, 0.001)


def test_revisions_are_compared_on_each_host_and_in_the_environment_that_both_have() -> None:
    base = [run(1), run(1, environment="new"), run(1, host="other")]
    head = [run(5, environment="new"), run(5, environment="newest"), run(5, host="third")]
    matched = match(base, head, by_host=True)
    assert [(pair.base[0].environment, pair.head[0].environment) for pair in matched.pairs] == [("new", "new")]
    assert [one.host for one in matched.only_base] == ["other"]
    assert [one.host for one in matched.only_head] == ["third"]


def test_environments_are_compared_at_the_newest_revision_that_both_have() -> None:
    base, head = [run(1), run(3), run(4)], [run(number, environment="new") for number in (2, 3, 6)]
    (pair,) = match(base, head, by_host=True).pairs
    assert (pair.base[0].position, pair.head[0].position) == (3, 3)


def test_hosts_are_compared_with_each_other() -> None:
    (pair,) = match([run(3)], [run(3, host="other")], by_host=False).pairs
    assert (pair.base[0].host, pair.head[0].host) == ("box", "other")


def test_runs_that_repeat_each_other_are_taken_together() -> None:
    again = [run(3, started_at=AT + timedelta(days=day)) for day in range(5)]
    (pair,) = match(again, [run(5)], by_host=True).pairs
    assert [one.started_at.day for one in pair.base] == [5, 4, 3]


def test_a_drift_of_the_trend_between_both_is_a_change_on_one_sample() -> None:
    found = judged((100,), (110,), drift(3))
    assert (found.verdict, found.rule, found.direction) == (Verdict.CHANGED, "trend", "regression")
    assert "+10 faults" in found.sentence


@pytest.mark.parametrize("position", [1, 6])
def test_a_drift_outside_of_the_stretch_has_no_say(position: int) -> None:
    assert judged((100,), (100,), drift(position)).verdict is Verdict.SAME


def test_the_order_of_both_sides_has_no_say() -> None:
    pair = Pair((run(5),), (run(1),))
    found = judged((110,), (100,), drift(3), pair=pair)
    assert (found.verdict, found.direction) == (Verdict.CHANGED, "improvement")


def test_drifts_that_cancel_out_are_no_change() -> None:
    assert judged((100,), (100,), drift(2), drift(4, -10)).verdict is Verdict.SAME


def test_a_configuration_change_counts_between_its_two_environments_only() -> None:
    config = drift(3, cause=Cause.CONFIG, environment_after="new")
    across = Pair((run(3),), (run(3, environment="new"),))
    assert judged((100,), (110,), config, pair=across).verdict is Verdict.CHANGED
    assert judged((100,), (110,), config).verdict is Verdict.NEEDS_MORE_RUNS


def test_a_count_without_a_trend_is_judged_by_its_repeats() -> None:
    assert judged((100,) * 5, (101,) * 5).verdict is Verdict.CHANGED
    assert judged((100,) * 5, (101,) * 5).rule == "exact"
    assert judged((100,), (101,)).verdict is Verdict.NEEDS_MORE_RUNS


def test_from_zero_to_anything_has_no_percent() -> None:
    found = judged((0,) * 5, (12,) * 5, name="major-faults")
    assert (found.verdict, found.percent, found.change) == (Verdict.CHANGED, None, 12)
    assert found.direction == Direction.REGRESSION


def test_noise_is_told_apart_only_by_many_samples() -> None:
    low, high = tuple(100 + n % 5 for n in range(40)), tuple(150 + n % 5 for n in range(40))
    few = judged(low[:3], high[:3], name="throughput")
    assert (few.verdict, few.rule) == (Verdict.NEEDS_MORE_RUNS, "apart")
    many = judged(low, high, name="throughput")
    assert (many.verdict, many.direction) == (Verdict.CHANGED, "improvement")
    near = tuple(1000 + n % 5 for n in range(40))
    assert judged(near, near, name="throughput").verdict is Verdict.SAME


def test_an_estimate_is_no_exact_count() -> None:
    assert judged((100,) * 5, (101,) * 5, status=Status.MULTIPLEXED).rule == "apart"


def test_an_absent_value_is_undecided() -> None:
    assert judged((), (101,)).rule == "absent"
