"""Finds the certain drifts of a series that are no longer certain after it was judged again, and says why."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from uuid import UUID

from runner.contract import Kind
from runner.contract.level import compute_median
from runner.contract.number_text import format_count
from service.rules.detect.level_change import format_level
from service.rules.page_cache_effect import may_be_due_to_page_cache
from service.rules.series.point_order import PathPoint
from service.schemas.history import Drift, Number

_RUNS_PER_SIDE = 20
"""How many runs on each side of a former drift are examined."""
_MAX_SIZE_DIFFERENCE = 0.5
"""A change at another commit is the former change if their sizes differ by at most this share of the former size."""


def explain_withdrawals(
    former_drifts: Sequence[Drift],
    current_drifts: Sequence[Drift],
    points: Iterable[PathPoint],
    rewritten_points: Iterable[PathPoint] = (),
    *,
    is_judged: bool = True,
) -> dict[str, str]:
    """Return one sentence for each certain drift that is withdrawn, by the drift's id: why it is.

    A drift is withdrawn unless a certain drift in the same direction lies at the same location. Suspicions are left
    out, because nobody was notified of them.

    Parameters
    ----------
    former_drifts
        The drifts of a series at its previous judging.
    current_drifts
        Its drifts now.
    points
        The points that are judged now.
    rewritten_points
        The points of branches that have been rewritten since.
    is_judged
        Whether the workload still judges the series.
    """
    sorted_points = sorted(points, key=lambda point: (point.position, point.measured_at, point.run_id))
    certain_ids = {drift.id for drift in former_drifts if not drift.evidence.wants_rerun}
    rewritten_runs = {point.run_id for point in rewritten_points}
    reasons: dict[str, str] = {}
    for drift in former_drifts:
        same_drifts = [other_drift for other_drift in current_drifts if _are_same_change(drift, other_drift)]
        if drift.evidence.wants_rerun or any(not other_drift.evidence.wants_rerun for other_drift in same_drifts):
            continue
        if not is_judged:
            reasons[drift.id] = "The workload no longer judges this metric."
        elif same_drifts:
            reasons[drift.id] = f"The drift is in doubt again: {same_drifts[0].evidence.sentence.rstrip('.')}."
        else:
            new_drifts = [other_drift for other_drift in current_drifts if other_drift.id not in certain_ids]
            is_rewritten = not rewritten_runs.isdisjoint({drift.run_before, drift.run_after})
            reasons[drift.id] = (
                _explain_rewriting(drift, new_drifts)
                if is_rewritten
                else _explain_withdrawal(drift, new_drifts, sorted_points)
            )
    return reasons


def _explain_rewriting(drift: Drift, new_drifts: Iterable[Drift]) -> str:
    """Return a sentence on the rewritten branch, and if the change is found elsewhere, on its new commit."""
    moved_drift = _find_moved_drift(drift, new_drifts)
    moved_clause = (
        "" if moved_drift is None else f" The same change is now found at commit {moved_drift.revision[:12]}."
    )
    return f"The branch was rewritten, and the commits are no longer part of any branch or tag.{moved_clause}"


def _are_same_change(former: Drift, current: Drift) -> bool:
    """Return whether a former drift and a current one are the same change.

    Their locations may differ in precision, so it is enough if they share a candidate, or the change of environment.
    """
    if former.direction is not current.direction:
        return False
    if former.id == current.id or (former.run_before, former.run_after) == (current.run_before, current.run_after):
        return True
    environments = (former.environment_before, former.environment_after)
    has_environment_change = former.environment_before != former.environment_after
    if has_environment_change and environments == (current.environment_before, current.environment_after):
        return True
    return not _list_candidate_commits(former).isdisjoint(_list_candidate_commits(current))


def _list_candidate_commits(drift: Drift) -> set[str]:
    return {candidate.commit for candidate in drift.candidates}


def _explain_withdrawal(drift: Drift, new_drifts: Iterable[Drift], points: Sequence[PathPoint]) -> str:
    """Return why a drift is no longer detected: removed runs, another commit, unprepared files, or later runs."""
    # Reason 1: a run at the edge of the drift is no longer judged.
    environment_of_run = {point.run_id: point.environment for point in points}
    missing_runs = _describe_missing_runs(drift, environment_of_run)
    if missing_runs:
        return f"{missing_runs} deleted or put in quarantine."
    # Reason 2: a new drift of about the same size lies at another commit, or between other runs of the same one.
    moved_drift = _find_moved_drift(drift, new_drifts)
    if moved_drift is not None:
        place = f"the change lies at commit {moved_drift.revision[:12]} instead"
        if moved_drift.revision == drift.revision:
            place = f"the change still lies at commit {drift.revision[:12]}, but between other runs"
        return f"With the runs measured since then, {place}."
    # Reason 3: faults in unprepared files explain the change.
    # The environments are those of the points: since the drift was found, another one may stand for a pool's machines.
    environment_before = environment_of_run[drift.run_before]
    environment_after = environment_of_run[drift.run_after]
    before = [point for point in points if point.environment == environment_before]
    after = [point for point in points if point.environment == environment_after]
    last_old = next(index for index, point in enumerate(before) if point.run_id == drift.run_before)
    first_new = next(index for index, point in enumerate(after) if point.run_id == drift.run_after)
    old_points, new_points = before[: last_old + 1][-_RUNS_PER_SIDE:], after[first_new:][:_RUNS_PER_SIDE]
    if drift.kind is Kind.COUNT and _is_explained_by_unprepared_files(drift, old_points, new_points):
        return "The change may come from faults in files whose state in the page cache was not prepared."
    # Reason 4: later runs contradict the drift, after its new level or between its two sides.
    later_points = after[first_new + drift.evidence.n_after :][:_RUNS_PER_SIDE]
    if later_points and _is_level_back(drift, later_points):
        return (
            f"Later runs contradict the drift: {format_count(len(later_points), 'run')} after it, at "
            f"{_format_level(later_points)}. The level before the drift was {format_level(drift.before)}."
        )
    runs_between = after[last_old + 1 : first_new] if environment_before == environment_after else []
    if runs_between:
        runs, levels = format_count(len(runs_between), "run"), _format_range(runs_between)
        return f"Later runs contradict the drift: {runs} between its two sides, at {levels}."
    return (
        f"With the {len(points):,} runs that are judged now, the change is no longer certain: the runs before it have "
        f"{_format_range(old_points)}, those after it {_format_range(new_points)}."
    )


def _describe_missing_runs(drift: Drift, judged_runs: Container[UUID]) -> str:
    """Return the beginning of the sentence on the runs around a drift that are not judged; empty if both are."""
    is_before_missing, is_after_missing = (run not in judged_runs for run in (drift.run_before, drift.run_after))
    if is_before_missing and is_after_missing:
        return "The runs before and after the change are no longer judged: they were"
    if is_before_missing or is_after_missing:
        return f"The run {'before' if is_before_missing else 'after'} the change is no longer judged: it was"
    return ""


def _find_moved_drift(drift: Drift, new_drifts: Iterable[Drift]) -> Drift | None:
    """Return the new certain drift that is the same change at another commit; None if there is none."""
    return next(
        (
            other_drift
            for other_drift in new_drifts
            if other_drift.direction is drift.direction
            and not other_drift.evidence.wants_rerun
            and abs(other_drift.change - drift.change) <= _MAX_SIZE_DIFFERENCE * abs(drift.change)
        ),
        None,
    )


def _is_explained_by_unprepared_files(
    drift: Drift, old_points: Sequence[PathPoint], new_points: Sequence[PathPoint]
) -> bool:
    """Return whether faults in files whose page-cache state was not prepared explain the change only now.

    They did not explain it when the drift was detected, because its levels were known less precisely.
    """
    ends = old_points[-1].program_bytes, new_points[0].program_bytes
    change = _compute_median(new_points) - _compute_median(old_points)
    return may_be_due_to_page_cache(change, *ends) and not may_be_due_to_page_cache(drift.change, *ends)


def _is_level_back(drift: Drift, later_points: Sequence[PathPoint]) -> bool:
    """Return whether later runs are nearer to the level before the drift than to the one after it."""
    level = _compute_median(later_points)
    return abs(level - drift.before) < abs(level - drift.after)


def _compute_median(points: Sequence[PathPoint]) -> Number:
    level = compute_median([point.value for point in points])
    assert level is not None
    return level


def _format_level(points: Sequence[PathPoint]) -> str:
    return format_level(_compute_median(points))


def _format_range(points: Sequence[PathPoint]) -> str:
    low, high = min(point.value for point in points), max(point.value for point in points)
    return format_level(low) if low == high else f"{format_level(low)} … {format_level(high)}"
