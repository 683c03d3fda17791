"""Finds the drifts that a nightly run reports: those that are new in it. Each drift is reported by only one run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from runner.contract.nightly import NightlyCell, NightlyDrift
from service.schemas.history import Cause, Direction, Drift
from service.store import shared_rows
from service.store.engine import bulk
from service.store.models import Case, DriftRow, Event, EventDriftRow, Host, NightlyRun, Revision, Series, Subject

_KEYS_PER_QUERY = 500
_OTHER_DETECTION = aliased(EventDriftRow)
"""Another detection of the same drift, before or after its range was narrowed or its level moved."""


def mark_series_as_measured(session: Session, nightly_run: NightlyRun, cells: Iterable[NightlyCell]) -> None:
    """Record that a nightly run has measured the series of these cells."""
    nightly_times = {
        "first_nightly_at": func.coalesce(Series.first_nightly_at, nightly_run.started_at),
        "last_nightly_at": nightly_run.started_at,
    }
    for cell in cells:
        for chunk in _list_case_keys(cell):
            series = select(Series.id).where(*_build_cell_conditions(cell, chunk)).scalar_subquery()
            is_later = or_(Series.last_nightly_at.is_(None), Series.last_nightly_at < nightly_run.started_at)
            statement = update(Series).where(Series.id.in_(series), is_later).values(nightly_times)
            session.execute(statement.execution_options(synchronize_session=False))


def list_unreported_drifts(session: Session, nightly_run: NightlyRun, cells: Iterable[NightlyCell]) -> list[str]:
    """Return the drifts that are new in a nightly run: above the floor, and not reported by any nightly run.

    For each series, only the last nightly run that has measured it reports new drifts: those that begin at the run's
    revision, and earlier ones that were found after the first nightly run of the series began. The time of measurement
    does not matter: the drift of a noisy metric is found only after many nightly runs, and a host's clock can be wrong.
    """
    new_drifts: list[str] = []
    for cell in cells:
        newest_position = (
            select(Revision.position)
            .join(Subject, Revision.subject_id == Subject.id)
            .where(Subject.name == cell.subject, Revision.commit == cell.revision)
            .scalar_subquery()
        )
        conditions = (
            Series.last_nightly_at == nightly_run.started_at,
            DriftRow.position <= newest_position,
            Event.below_floor.is_(False),
            ~_build_any_detection_condition(_OTHER_DETECTION.reported_in.is_not(None)),
            or_(
                DriftRow.position == newest_position,
                ~_build_any_detection_condition(_OTHER_DETECTION.found_at < Series.first_nightly_at),
            ),
        )
        for chunk in _list_case_keys(cell):
            rows = session.scalars(
                select(DriftRow.id)
                .join(Series, DriftRow.series_id == Series.id)
                .join(EventDriftRow, EventDriftRow.drift_id == DriftRow.id)
                .join(Event, EventDriftRow.event_id == Event.id)
                .where(Series.id.in_(select(Series.id).where(*_build_cell_conditions(cell, chunk))), *conditions)
            )
            new_drifts += rows
    return sorted(set(new_drifts))


def mark_drifts_as_reported(session: Session, nightly_run_name: str, drift_ids: Iterable[str]) -> None:
    """Record that a nightly run reports these drifts, except those that another one has reported meanwhile."""
    for chunk in bulk.split_into_chunks(drift_ids, _KEYS_PER_QUERY):
        unreported = EventDriftRow.drift_id.in_(chunk), EventDriftRow.reported_in.is_(None)
        statement = update(EventDriftRow).where(*unreported).values(reported_in=nightly_run_name)
        session.execute(statement.execution_options(synchronize_session=False))


def list_reported_drifts(session: Session, nightly_run: NightlyRun) -> list[NightlyDrift]:
    """Return the drifts that a nightly run has reported, in their present state.

    If a drift is no longer detected, it is shown as withdrawn with the reason, or left out if it was only provisional.
    """
    rows = session.execute(
        select(EventDriftRow, Host.name, Case.name, Series.metric, DriftRow.document)
        .join(Series, EventDriftRow.series_id == Series.id)
        .join(Series.host)
        .join(Series.case)
        .join(_OTHER_DETECTION, and_(_build_detection_condition(), _OTHER_DETECTION.still_detected), isouter=True)
        .join(DriftRow, DriftRow.id == _OTHER_DETECTION.drift_id, isouter=True)
        .where(EventDriftRow.reported_in == nightly_run.name)
        .order_by(EventDriftRow.drift_id, DriftRow.id)
    )
    drifts: dict[str, NightlyDrift] = {}
    for reported_drift, host, case, metric, document in rows:
        if document is not None:
            drifts[document["id"]] = _build_present_drift(document)
        elif reported_drift.withdrawal is not None:
            drifts[reported_drift.drift_id] = _build_withdrawn_drift(reported_drift, host, case, metric)
    return list(drifts.values())


def _list_case_keys(cell: NightlyCell) -> Iterable[list[str]]:
    """Yield the keys of the cases of a cell in chunks; nothing if the cell has not measured any."""
    measured_cases = cell.cases if cell.carried_out and cell.subject and cell.revision else ()
    return bulk.split_into_chunks((shared_rows.make_case_key(case) for case in measured_cases), _KEYS_PER_QUERY)


def _build_cell_conditions(cell: NightlyCell, keys: Iterable[str]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that select the series of a cell's cases with these keys."""
    return (
        Series.subject_id == select(Subject.id).where(Subject.name == cell.subject).scalar_subquery(),
        Series.host_id == select(Host.id).where(Host.name == cell.host).scalar_subquery(),
        Series.case_id.in_(select(Case.id).where(Case.key.in_(keys))),
    )


def _build_detection_condition() -> ColumnElement[bool]:
    """Return the condition that two rows are detections of the same drift of an event."""
    return and_(
        _OTHER_DETECTION.event_id == EventDriftRow.event_id,
        _OTHER_DETECTION.series_id == EventDriftRow.series_id,
        _OTHER_DETECTION.returned == EventDriftRow.returned,
    )


def _build_any_detection_condition(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the SQL condition that ``condition`` holds for any detection of a drift, including the present one."""
    return exists().where(_build_detection_condition(), condition)


def _build_present_drift(document: Mapping[str, Any]) -> NightlyDrift:
    """Return a drift that is still detected, from its document; its title is the cause if that is certain."""
    drift = Drift.model_validate(document)
    has_single_candidate = drift.cause is Cause.COMMIT and drift.candidates_known and len(drift.candidates) == 1
    title = drift.cause_words if has_single_candidate or drift.cause is Cause.CONFIG else ""
    fields = {name: document[name] for name in NightlyDrift.model_fields}
    return NightlyDrift.model_validate_json(json.dumps(fields | {"title": title}))


def _build_withdrawn_drift(row: EventDriftRow, host: str, case: str, metric: str) -> NightlyDrift:
    """Return a reported drift that is no longer detected, with the reason."""
    return NightlyDrift(
        id=row.drift_id,
        host=host,
        case=case,
        metric=metric,
        cause=row.cause.value,
        direction=(Direction.REGRESSION if row.worse else Direction.IMPROVEMENT).value,
        revision=row.revision,
        title=f"withdrawn: {row.withdrawal}",
        before=row.before,
        after=row.after,
    )
