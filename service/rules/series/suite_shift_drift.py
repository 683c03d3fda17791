"""Describes a shift of a whole suite as a drift that belongs to no single series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from runner.contract import get_metric
from service.rules.detect import PooledShift
from service.rules.detect.pooled_shift import MAX_HISTORY_POINTS
from service.rules.series.cause import find_cause, list_setting_changes
from service.rules.series.point_order import PathPoint, Points, Trend
from service.schemas.history import Candidate, Cause, Direction, Drift, Evidence

NO_SERIES = 0
"""The series number of a drift that belongs to no series."""
_CAUSES_BY_EXTENT = (Cause.UNKNOWN, Cause.CONFIG, Cause.COMMIT, Cause.COMMIT_AND_CONFIG)
"""The causes of the programs of one suite: a cause that some of them show outweighs the causes before it."""


@dataclass(frozen=True, slots=True)
class SuiteKey:
    """A suite's subject, host and metric."""

    subject: str
    host: str
    metric: str


def select_common_environments(paths: Sequence[tuple[Points, int]]) -> list[tuple[Points, int]]:
    """Return the series whose two newest points have the most common pair of environments.

    Each series is given as its points, at least two, oldest first, and the position of its last change of level.
    """
    pairs = Counter((path[-2].environment, path[-1].environment) for path, _ in paths)
    commonest_pair = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
    return [
        (path, last_change)
        for path, last_change in paths
        if (path[-2].environment, path[-1].environment) == commonest_pair
    ]


def choose_representative(paths: Sequence[Points]) -> Points:
    """Return the points of the series whose two newest points differ by the cause of the largest extent.

    There is at least one series, and each is given as its points, at least two, oldest first. The points of all series
    end with runs of the same commits in the same environments. But a commit may have changed only some of the programs,
    and a system upgrade only some of the files that they map. Therefore only the largest cause includes everything that
    can have shifted the suite.
    """
    return max(paths, key=lambda path: _CAUSES_BY_EXTENT.index(find_cause(path[-2], path[-1])))


def select_points_before(path: Points, last_change: int) -> Points:
    """Return the points with which the newest is compared: since the last change, in its predecessor's environment."""
    environment = path[-2].environment
    return tuple(point for point in path[:-1] if point.position >= last_change and point.environment == environment)


def has_enough_points(newest_trend: Trend, start: int, last_change: int) -> bool:
    """Return whether the newest points of a series are enough to decide whether its suite has shifted.

    That decision reads only the newest points of the path since the last change.

    Parameters
    ----------
    newest_trend
        The trend of the revisions from position ``start`` on.
    start
        The position of the first of these revisions.
    last_change
        The position of the last drift.
    """
    points = newest_trend.path
    # With several environments or lines, earlier points can change which of these points are on the path.
    if newest_trend.points_beside or len({point.environment for point in points}) > 1:
        return False
    # Points before ``start`` are not read if the last change is later, or if there are as many points as are read.
    return last_change >= start or len(points) > MAX_HISTORY_POINTS


def build_suite_shift_drift(
    *,
    identity: str,
    suite: SuiteKey,
    shift: PooledShift,
    ends: tuple[PathPoint, PathPoint],
    settings: tuple[Mapping[str, str], Mapping[str, str]],
    candidates: Sequence[Candidate],
    committed_at: datetime,
) -> Drift:
    """Return a shift as a drift of the API; a suite has no level, so the levels are relative to zero.

    Parameters
    ----------
    identity
        The id of the drift.
    ends
        The two newest points of one of the series, older first.
    settings
        The settings of the environments of these two points.
    candidates
        The commits between the two, oldest first.
    committed_at
        When the revision of the newer point was committed.
    """
    before, after = ends
    metric_entry = get_metric(suite.metric)
    blamed_commit = candidates[-1] if candidates else Candidate(commit=after.revision, title="", author="")
    is_regression = (shift.shift > 0) == (metric_entry.better == "lower")
    return Drift(
        id=identity,
        series_id=NO_SERIES,
        subject=suite.subject,
        host=suite.host,
        case=f"{shift.benchmarks} cases together",
        workload="",
        metric=suite.metric,
        unit=metric_entry.unit,
        kind=metric_entry.kind,
        cause=find_cause(before, after),
        direction=Direction.REGRESSION if is_regression else Direction.IMPROVEMENT,
        revision=after.revision,
        title=blamed_commit.title,
        author=blamed_commit.author,
        committed_at=committed_at,
        previous_revision=before.revision,
        candidates=list(candidates),
        before=0,
        after=shift.shift,
        change=shift.shift,
        percent=None,
        rule="pooled",
        evidence=Evidence(
            n_before=shift.benchmarks,
            n_after=shift.benchmarks,
            spread=0,
            sentence=shift.evidence,
            wants_rerun=False,
        ),
        settings=list_setting_changes(*settings),
        run_before=before.run_id,
        run_after=after.run_id,
        environment_before=before.environment,
        environment_after=after.environment,
        companions=[],
    )
