"""Cross-measurements: the runs that hosts still have to measure, and the results for an event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from runner.contract import Outcome
from runner.contract.level import compute_median
from service.rules.plan.settled_revisions import MAX_ATTEMPTS
from service.rules.series.split_change import CrossLevels, split_change
from service.schemas import triage
from service.schemas.history import Drift as DriftView
from service.schemas.history import Number
from service.store.events import event_drifts
from service.store.models import (
    Case,
    CrossMeasurementRow,
    Environment,
    EventDriftRow,
    Host,
    Point,
    Revision,
    Run,
    Series,
    Subject,
)
from service.store.series import points, series


class _Sides(NamedTuple):
    """The revisions and the environments of a cross-measurement."""

    revision_before: str
    revision_after: str
    environment_before: str
    environment_after: str


class CrossMeasuredRun(NamedTuple):
    """A case, and the revision at which to measure it."""

    case_key: str
    revision: str


def list_ordered_runs(session: Session, subject: str, host: str, environment: str) -> set[CrossMeasuredRun]:
    """Return the runs of requested cross-measurements that a host can take in an environment.

    A cross-measurement runs one side's revision in the other side's environment, to divide a change between them.
    """
    old_revision, new_revision = aliased(Revision), aliased(Revision)
    old_environment, new_environment = aliased(Environment), aliased(Environment)
    rows = session.execute(
        select(Case.key, old_revision.commit, new_revision.commit, new_environment.hash)
        .select_from(CrossMeasurementRow)
        .join(Series, CrossMeasurementRow.series_id == Series.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .join(old_revision, CrossMeasurementRow.revision_before_id == old_revision.id)
        .join(new_revision, CrossMeasurementRow.revision_after_id == new_revision.id)
        .join(old_environment, CrossMeasurementRow.environment_before_id == old_environment.id)
        .join(new_environment, CrossMeasurementRow.environment_after_id == new_environment.id)
        .where(
            Subject.name == subject,
            Host.name == host,
            (old_environment.hash == environment) | (new_environment.hash == environment),
        )
    )
    # The old revision in the new environment, or the new revision in the old environment.
    return {
        CrossMeasuredRun(key, old_commit if new_hash == environment else new_commit)
        for key, old_commit, new_commit, new_hash in rows
    }


def list_cross_measurements(session: Session, event_id: str) -> list[triage.CrossMeasurement]:
    """Return the cross-measurements of the series and revisions of an event."""
    event_condition = EventDriftRow.event_id == event_id, EventDriftRow.still_detected
    series_of_event = select(EventDriftRow.series_id).where(*event_condition)
    old_revision, new_revision = aliased(Revision), aliased(Revision)
    old_environment, new_environment = aliased(Environment), aliased(Environment)
    query = (
        select(
            CrossMeasurementRow,
            *(old_revision.commit, new_revision.commit, old_environment.hash, new_environment.hash),
        )
        .join(old_revision, CrossMeasurementRow.revision_before_id == old_revision.id)
        .join(new_revision, CrossMeasurementRow.revision_after_id == new_revision.id)
        .join(old_environment, CrossMeasurementRow.environment_before_id == old_environment.id)
        .join(new_environment, CrossMeasurementRow.environment_after_id == new_environment.id)
        .where(CrossMeasurementRow.series_id.in_(series_of_event))
        .order_by(CrossMeasurementRow.id)
    )
    rows = session.execute(query).all()
    if not rows:  # most events have none, so that their drifts need not be read
        return []
    drifts = session.scalars(select(EventDriftRow.drift_id).where(*event_condition))
    drifts_by_series: dict[int, list[DriftView]] = defaultdict(list)
    for drift in event_drifts.read_drifts(session, list(drifts)):
        drifts_by_series[drift.series_id].append(drift)
    # A series has a cross-measurement for each of its changes of settings, few of which belong to this event.
    return [
        _build_view(session, row, _Sides(*sides))
        for row, *sides in rows
        if any(_is_split_drift(_Sides(*sides), drift) for drift in drifts_by_series[row.series_id])
    ]


def _build_view(session: Session, row: CrossMeasurementRow, sides: _Sides) -> triage.CrossMeasurement:
    """Return a cross-measurement with its four levels and, once they are measured, the parts of the change."""
    series_row = series.find_series(session, row.series_id)
    assert series_row is not None
    old_commit, new_commit, old_environment, new_environment = sides
    levels: dict[tuple[str, str], list[Number]] = defaultdict(list)
    is_of_sides = Run.revision_id.in_((row.revision_before_id, row.revision_after_id))
    query = points.select_joined_points(Revision.commit, Environment.hash, Point.value).where(
        Point.series_id == row.series_id, Point.value.is_not(None), Run.quarantine.is_(None), is_of_sides
    )
    for commit, environment, value in session.execute(query):
        levels[commit, environment].append(value)
    cross_levels = CrossLevels(
        old_in_old=compute_median(levels[old_commit, old_environment]),
        old_in_new=compute_median(levels[old_commit, new_environment]),
        new_in_old=compute_median(levels[new_commit, old_environment]),
        new_in_new=compute_median(levels[new_commit, new_environment]),
    )
    parts = split_change(cross_levels)
    split = None
    if parts is not None:
        split = triage.Split(commit=parts.commit, config=parts.config, interaction=parts.interaction)
    return triage.CrossMeasurement(
        series_id=row.series_id,
        case=series_row.case.name,
        host=series_row.host.name,
        metric=series_row.metric,
        **sides._asdict(),
        old_in_old=cross_levels.old_in_old,
        old_in_new=cross_levels.old_in_new,
        new_in_old=cross_levels.new_in_old,
        new_in_new=cross_levels.new_in_new,
        status=_find_status(session, row, series_row, settled=parts is not None),
        split=split,
    )


def _find_status(
    session: Session, row: CrossMeasurementRow, series_row: Series, *, settled: bool
) -> Literal["ordered", "settled", "impossible"]:
    """Return how far the change is divided between the revision and the environment.

    ``settled`` if it is divided, ``ordered`` if it still can be, ``impossible`` if both cross-measurements failed and
    are not attempted again. One of them is enough: the old revision in the new environment, or the new revision in the
    old environment.
    """
    if settled:
        return "settled"
    cross_measured: Sequence[tuple[int, int]] = (
        (row.revision_before_id, row.environment_after_id),
        (row.revision_after_id, row.environment_before_id),
    )
    is_given_up = all(
        _is_given_up(session, series_row, revision, environment) for revision, environment in cross_measured
    )
    return "impossible" if is_given_up else "ordered"


def _is_given_up(session: Session, series_row: Series, revision_id: int, environment_id: int) -> bool:
    """Return whether a case failed at a revision in an environment, and no plan orders another attempt."""
    failures = session.scalars(
        select(Run.failure_temporary).where(
            Run.subject_id == series_row.subject_id,
            Run.host_id == series_row.host_id,
            Run.case_id == series_row.case_id,
            Run.revision_id == revision_id,
            Run.environment_id == environment_id,
            Run.outcome != Outcome.MEASURED,
        )
    ).all()
    return len(failures) >= MAX_ATTEMPTS or not all(failures)


def _is_split_drift(sides: _Sides, drift: DriftView) -> bool:
    """Return whether a drift is the one that a cross-measurement divides between commits and settings, or a part."""
    revisions = {sides.revision_before, sides.revision_after}
    environments = {sides.environment_before, sides.environment_after}
    return {drift.previous_revision, drift.revision} <= revisions and {
        drift.environment_before,
        drift.environment_after,
    } <= environments
