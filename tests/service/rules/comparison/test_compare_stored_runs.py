from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import pytest

from runner.contract import MetricVerdict, Verdict
from runner.contract.level import compute_median
from service.rules.comparison.compare_stored_runs import DriftSummary, SideReadings, compare_pairs, summarise_drift
from service.rules.comparison.run_pairing import ComparableRun, Pair, match_runs
from service.schemas.history import Cause
from tests.service import made_series

AT = datetime(2025, 1, 1, tzinfo=UTC)


def run(position: int, **changes: Any) -> ComparableRun:
    fields: dict[str, Any] = {
        "run_id": uuid.uuid4(),
        "number": position,
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
    return ComparableRun(**(fields | changes))


def drift(position: int, change: int = 10, **changes: Any) -> DriftSummary:
    before, after = made_series.point(0, 100), made_series.point(1, 100 + change)
    fields = {"environment_before": "old", "environment_after": "old", **changes}
    return summarise_drift(position, made_series.drift(1, before, after, **fields).model_dump(mode="json"))


def readings(samples: tuple[float, ...], *, counted: bool = True) -> SideReadings:
    return SideReadings(samples, len(samples), compute_median(samples), counted, series=1)


def judged(
    base: tuple[float, ...],
    head: tuple[float, ...],
    *drifts: DriftSummary,
    name: str = "minor-faults",
    pair: Pair | None = None,
    counted: bool = True,
) -> MetricVerdict:
    pair = pair or Pair((run(1),), (run(5),))
    sides = {
        pair.base[0].number: {name: readings(base, counted=counted)},
        pair.head[0].number: {name: readings(head, counted=counted)},
    }
    (row,) = compare_pairs([pair], sides, {1: drifts}, {})
    verdict = row.build_verdict()
    assert (row.decision.verdict, row.counts) == (verdict.verdict, verdict.counts)
    assert row.size == (0 if not verdict.change else inf if verdict.percent is None else abs(verdict.percent))
    return verdict


def test_a_drift_of_the_configuration_is_described_even_if_no_setting_is_known() -> None:
    summary = drift(3, cause=Cause.CONFIG, settings=[], candidates=[])
    assert summary.description.endswith(" at a change of the configuration")


def test_a_drift_names_its_settings_with_their_values_and_beside_a_commit_too() -> None:
    kernel = [{"name": "kernel.release", "before": "6.8", "after": "6.11"}]
    moved = made_series.drift(1, made_series.point(0, 100), made_series.point(1, 110)).model_dump(mode="json")
    upgrade = summarise_drift(1, {**moved, "cause": "config", "settings": kernel})
    assert upgrade.description.endswith(" at kernel 6.8 → 6.11")
    either = summarise_drift(1, {**moved, "cause": "both", "settings": kernel})
    assert either.description.endswith(f" at {made_series.commit(1)[:10]}, or kernel 6.8 → 6.11")


@pytest.mark.parametrize(("base", "head", "side"), [((), (110,) * 3, "Base"), ((100,) * 3, (), "Head")])
def test_a_drift_decides_nothing_about_a_side_without_a_value(
    base: tuple[float, ...], head: tuple[float, ...], side: str
) -> None:
    verdict = judged(base, head, drift(3))
    assert (verdict.verdict, verdict.direction, verdict.change) == (Verdict.NEEDS_MORE_RUNS, None, None)
    assert verdict.sentence == f"{side} has no value."


def test_revisions_are_compared_on_each_host_and_in_the_environment_that_both_have() -> None:
    base = [run(1), run(1, environment="new"), run(1, host="other")]
    head = [run(5, environment="new"), run(5, environment="newest"), run(5, host="third")]
    matched = match_runs(base, head, by_host=True)
    assert [(pair.base[0].environment, pair.head[0].environment) for pair in matched.pairs] == [("new", "new")]
    assert [only.host for only in matched.only_base] == ["other"]
    assert [only.host for only in matched.only_head] == ["third"]


def test_environments_are_compared_at_the_newest_revision_that_both_have() -> None:
    base, head = [run(1), run(3), run(4)], [run(number, environment="new") for number in (2, 3, 6)]
    (pair,) = match_runs(base, head, by_host=True).pairs
    assert (pair.base[0].position, pair.head[0].position) == (3, 3)


def test_hosts_are_compared_with_each_other() -> None:
    (pair,) = match_runs([run(3)], [run(3, host="other")], by_host=False).pairs
    assert (pair.base[0].host, pair.head[0].host) == ("box", "other")


def test_runs_that_repeat_each_other_are_taken_together() -> None:
    again = [run(3, started_at=AT + timedelta(days=day)) for day in range(5)]
    (pair,) = match_runs(again, [run(5)], by_host=True).pairs
    assert [repeat.started_at.day for repeat in pair.base] == [5, 4, 3]


def test_a_drift_of_the_trend_between_both_is_a_change_on_one_sample() -> None:
    verdict = judged((100,), (110,), drift(3))
    assert (verdict.verdict, verdict.rule, verdict.direction) == (Verdict.CHANGED, "trend", "regression")
    assert "+10\N{NO-BREAK SPACE}faults" in verdict.sentence


@pytest.mark.parametrize("position", [1, 6])
def test_a_drift_outside_of_the_stretch_has_no_say(position: int) -> None:
    assert judged((100,), (100,), drift(position)).verdict is Verdict.SAME


def test_the_order_of_both_sides_has_no_say() -> None:
    pair = Pair((run(5),), (run(1),))
    verdict = judged((110,), (100,), drift(3), pair=pair)
    assert (verdict.verdict, verdict.direction) == (Verdict.CHANGED, "improvement")


def test_drifts_that_cancel_out_are_no_change() -> None:
    assert judged((100,), (100,), drift(2), drift(4, -10)).verdict is Verdict.SAME


def test_a_configuration_change_counts_between_its_two_environments_only() -> None:
    config = drift(3, cause=Cause.CONFIG, environment_after="new")
    across = Pair((run(3),), (run(3, environment="new", number=4),))
    assert judged((100,), (110,), config, pair=across).verdict is Verdict.CHANGED
    assert judged((100,), (110,), config).verdict is Verdict.NEEDS_MORE_RUNS


def test_single_runs_that_differ_are_in_doubt_however_many_samples_they_have() -> None:
    verdict = judged((100,) * 40, (101,) * 40)
    assert (verdict.verdict, verdict.rule, verdict.direction) == (Verdict.NEEDS_MORE_RUNS, "apart", None)
    assert "not measured interleaved" in verdict.sentence
    assert judged((100, 130) * 20, (100, 130) * 20).verdict is Verdict.NEEDS_MORE_RUNS


def test_a_drift_in_doubt_is_no_fact() -> None:
    verdict = judged((100,), (110,), drift(3)._replace(in_doubt=True))
    assert (verdict.verdict, verdict.rule) == (Verdict.NEEDS_MORE_RUNS, "trend")
    assert judged((100,), (120,), drift(2)._replace(in_doubt=True), drift(4)).verdict is Verdict.CHANGED
    mostly = judged((100,), (60,), drift(2), drift(4, change=-50)._replace(in_doubt=True))
    assert mostly.verdict is Verdict.NEEDS_MORE_RUNS
    assert "The certain ones explain less than half of the difference" in mostly.sentence


def test_from_zero_to_anything_has_no_percent() -> None:
    verdict = judged((0,) * 5, (12,) * 5, drift(3, 12), name="major-faults")
    assert (verdict.verdict, verdict.percent, verdict.change) == (Verdict.CHANGED, None, 12)
    assert verdict.direction == "regression"


def test_noise_of_different_sessions_is_never_told_apart() -> None:
    low, high = tuple(100 + n % 5 for n in range(40)), tuple(103 + n % 5 for n in range(40))
    for head in (low, high):
        verdict = judged(low, head, name="throughput")
        assert (verdict.verdict, verdict.rule) == (Verdict.NEEDS_MORE_RUNS, "apart")


def test_without_a_drift_on_a_judged_trend_a_comparison_says_no_more_and_no_less() -> None:
    pair = Pair((run(1),), (run(5),))
    sides = {1: {"minor-faults": readings((100,))}, 5: {"minor-faults": readings((101,))}}
    (row,) = compare_pairs([pair], sides, {}, {}, judged_series={1})
    assert (row.is_without_drift, row.decision.verdict) == (True, Verdict.NEEDS_MORE_RUNS)
    assert row.decision.sentence.startswith("No drift lies between base and head.")
    (row,) = compare_pairs([pair], sides, {}, {})
    assert not row.is_without_drift, "nobody judged the trend"
    (row,) = compare_pairs([pair], sides, {1: [drift(3)._replace(in_doubt=True)]}, {}, judged_series={1})
    assert not row.is_without_drift, "one is suspected"
    sides[5] = {"minor-faults": readings((100,))}
    (row,) = compare_pairs([pair], sides, {}, {}, judged_series={1})
    assert row.decision.verdict is Verdict.SAME, "equal counts are still the same"


def test_an_estimate_is_no_exact_count() -> None:
    assert judged((100,) * 5, (101,) * 5, counted=False).rule == "apart"


def test_an_absent_value_is_undecided() -> None:
    assert judged((), (101,)).rule == "absent"


def test_runs_that_repeat_each_other_are_judged_by_all_their_samples() -> None:
    pair = Pair((run(2), run(1)), (run(5), run(4)))
    values = {number: {"minor-faults": readings((100 + number // 4,) * 10)} for number in (1, 2, 4, 5)}
    (row,) = compare_pairs([pair], values, {}, {})
    verdict = row.build_verdict()
    assert (verdict.rule, verdict.verdict, verdict.base.n, verdict.head.level) == ("exact", Verdict.CHANGED, 20, 101)


def test_points_of_different_series_share_no_trend() -> None:
    pair = Pair((run(1),), (run(5, host="other"),))
    sides = {1: {"minor-faults": readings((100,))}, 5: {"minor-faults": readings((110,))._replace(series=2)}}
    (row,) = compare_pairs([pair], sides, {1: [drift(3)], 2: [drift(3)]}, {})
    assert row.build_verdict().rule == "apart"


def test_a_metric_without_any_value_has_no_row() -> None:
    pair = Pair((run(1),), (run(5),))
    assert compare_pairs([pair], {1: {"minor-faults": readings(())}, 5: {}}, {}, {}) == []


def test_what_was_measured_in_turns_is_judged_by_that() -> None:
    verdict = judged((100,) * 5, (101,) * 5, drift(3))
    pair = Pair((run(1),), (run(5),))
    sides = {1: {"minor-faults": readings((100,))}, 5: {"minor-faults": readings((100,))}}
    (row,) = compare_pairs([pair], sides, {}, {"minor-faults": verdict})
    assert (row.decision.verdict, row.size, row.build_verdict()) == (Verdict.CHANGED, 1, verdict)
