"""Lists of series, and single series in detail."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import Session, contains_eager

from runner.contract import Outcome, get_metric
from service.rules.series.cause import list_setting_changes
from service.rules.series.point_order import Points
from service.schemas import history
from service.store.models import Case, DriftRow, Host, Revision, Run, Series, Subject
from service.store.series import arranged_points_cache, drifts, points


@dataclass(frozen=True, slots=True)
class SeriesFilter:
    """Selects series; None selects all."""

    subject: str | None = None
    case: str | None = None
    metric: str | None = None
    host: str | None = None
    definition: str | None = None

    def list_conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the joined tables."""
        filters = (
            (Subject.name, self.subject),
            (Case.name, self.case),
            (Series.metric, self.metric),
            (Host.name, self.host),
            (Case.definition, self.definition),
        )
        return [column == value for column, value in filters if value is not None]


class StaleSeries(NamedTuple):
    """A series that has changed since it was judged."""

    version: int
    judged_version: int
    n_points: int


SELECT_STALE_SERIES = select(Series.id).where(
    Series.version != Series.judged_version,
    Series.judged | Series.id.in_(select(DriftRow.series_id)),
)
"""Selects the series that have changed since they were judged; a series that is no longer judged may have drifts."""

_SELECT_SERIES = (
    select(Series)
    .join(Series.subject)
    .join(Series.case)
    .join(Series.host)
    .options(contains_eager(Series.subject), contains_eager(Series.case), contains_eager(Series.host))
)


def mark_stale(session: Session, series_filter: SeriesFilter, metrics: Collection[str]) -> list[int]:
    """Mark series to be judged again although their points have not changed; return their ids."""
    query = _SELECT_SERIES.where(*series_filter.list_conditions(), Series.metric.in_(metrics))
    ids = list(session.scalars(query.with_only_columns(Series.id)))
    session.execute(update(Series).where(Series.id.in_(ids)).values(version=Series.version + 1))
    return ids


def list_page(
    session: Session, series_filter: SeriesFilter, limit: int | None = None, offset: int = 0
) -> history.SeriesPage:
    """Return a page of series, sorted by subject, host, case and metric; without a limit, all from the offset on."""
    query = _SELECT_SERIES.where(*series_filter.list_conditions())
    # Without a filter, the series are counted without their subjects, cases and hosts.
    counted_query = query.with_only_columns(Series.id).subquery() if series_filter != SeriesFilter() else Series
    total = session.scalar(select(func.count()).select_from(counted_query)) or 0
    order = (Subject.name, Host.name, Case.name, Case.definition, Series.metric, Series.id)
    rows = session.scalars(query.order_by(*order).limit(limit).offset(offset)).all()
    items = [
        history.SeriesSummary(**read_head(row).model_dump(), n_points=row.n_points, latest=row.latest) for row in rows
    ]
    return history.SeriesPage(items=items, total=total, limit=total if limit is None else limit, offset=offset)


def list_judged_series(session: Session, series_filter: SeriesFilter) -> list[Series]:
    """Return the series that a filter selects and that are judged, with their subjects, cases and hosts."""
    return list(
        session.scalars(_SELECT_SERIES.where(*series_filter.list_conditions(), Series.judged).order_by(Series.id))
    )


def find_series(session: Session, series_id: int) -> Series | None:
    """Return the series with this id, with its subject, case and host; None if there is none."""
    return session.scalar(_SELECT_SERIES.where(Series.id == series_id))


def map_stale_series(session: Session, filters: Collection[SeriesFilter] = (SeriesFilter(),)) -> dict[int, StaleSeries]:
    """Return the series selected by any of the filters that have changed since they were judged, by id."""
    stale_series: dict[int, StaleSeries] = {}
    for series_filter in filters:
        query = SELECT_STALE_SERIES.add_columns(Series.version, Series.judged_version, Series.n_points)
        conditions = series_filter.list_conditions()
        if conditions:
            query = query.join(Series.subject).join(Series.case).join(Series.host).where(*conditions)
        stale_series |= {series_id: StaleSeries(*fields) for series_id, *fields in session.execute(query)}
    return stale_series


def find_stale_series(session: Session, series_ids: Collection[int]) -> list[Series]:
    """Return those of the given series that have changed since they were judged, with subjects, cases and hosts."""
    return list(
        session.scalars(_SELECT_SERIES.where(Series.id.in_(series_ids), Series.version != Series.judged_version))
    )


def read_head(row: Series) -> history.SeriesHead:
    """Return the subject, host, case and metric of a series."""
    entry = get_metric(row.metric)
    return history.SeriesHead(
        id=row.id,
        subject=row.subject.name,
        host=row.host.name,
        case=row.case.name,
        workload=row.case.workload,
        definition=row.case.definition,
        parameters=row.case.parameters,
        metric=row.metric,
        title=entry.title,
        unit=entry.unit,
        kind=entry.kind,
        better=entry.better,
        judged=row.judged,
        budget=None if row.budget is None else json.loads(row.budget),
    )


def read_series(session: Session, series_id: int) -> history.SeriesDetail | None:
    """Return one series with its points, configuration changes, drifts and failures; None if there is none."""
    row = find_series(session, series_id)
    if row is None:
        return None
    layout = arranged_points_cache.find_layout(session, row)
    path = layout.path
    # Not validated again, which would take long for thousands of points.
    return history.SeriesDetail.model_construct(
        **dict(read_head(row)),
        n_points=len(layout.points),
        points=layout.points,
        changes=_list_changes(session, path, {point.run_id: point.committed_at for point in layout.points}),
        drifts=drifts.list_series_drifts(session, series_id),
        failures=_list_failures(session, row),
    )


def _list_changes(session: Session, path: Points, committed_at: Mapping[UUID, datetime]) -> list[history.ConfigChange]:
    """Return the changes of the environment along a path, with the settings that differ.

    Parameters
    ----------
    committed_at
        When the commit of each run was made, by the run's id.
    """
    return [
        history.ConfigChange(
            revision=after.revision,
            committed_at=committed_at[after.run_id],
            run_before=before.run_id,
            run_after=after.run_id,
            environment_before=before.environment,
            environment_after=after.environment,
            settings=list_setting_changes(
                points.find_settings(session, before.environment),
                points.find_settings(session, after.environment),
            ),
        )
        for before, after in pairwise(path)
        if before.environment != after.environment
    ]


def _list_failures(session: Session, row: Series) -> list[history.SeriesFailure]:
    """Return the newest failure of each revision at which this case was never measured."""
    is_of_series = (Run.subject_id == row.subject_id, Run.host_id == row.host_id, Run.case_id == row.case_id)
    measured_revisions = select(Run.revision_id).where(
        *is_of_series, Run.outcome == Outcome.MEASURED, Run.quarantine.is_(None)
    )
    failed_runs = session.execute(
        select(Run, Revision)
        .join(Revision, Run.revision_id == Revision.id)
        .where(*is_of_series, Run.failure_stage.is_not(None), Run.revision_id.not_in(measured_revisions))
        .order_by(Revision.position, Run.started_at, Run.number)
    )
    # By revision: if there are several failures, the last one is kept.
    newest_failures = {
        revision.commit: history.SeriesFailure(
            revision=revision.commit,
            title=revision.title,
            position=revision.position,
            run_id=run.id,
            stage=run.failure_stage,
            message=run.failure_message or "",
        )
        for run, revision in failed_runs
        if run.failure_stage is not None
    }
    return list(newest_failures.values())
