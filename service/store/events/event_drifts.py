"""The drifts of events with their locations, including drifts that are no longer detected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import inspect, select, update
from sqlalchemy.orm import Session, aliased

from runner.contract import get_metric
from runner.contract.report import hash_document
from service.rules.events.grouping import LocatedDrift
from service.schemas import history
from service.schemas.history import Cause, Direction
from service.schemas.triage import State
from service.store.engine import bulk
from service.store.models import DriftRow, Event, EventDriftRow, Revision, Run, Series, SuiteCheck
from service.store.series.trend_points import arrange_trends

_IDS_PER_QUERY = 500
"""At most this many ids per query, because SQLite limits the number of parameters."""
_MAX_LEVEL_DEVIATION = 0.01
"""Levels may move by at most this share of the step before the event is rebuilt."""


class DriftUpdate(NamedTuple):
    """The changes of the stored drifts of a subject."""

    new_rows: list[EventDriftRow]
    """Rows that have no event yet. They are inserted once they have one."""
    refreshed_drifts: set[str]
    """Drifts that were detected again, or for the first time."""
    has_moved: bool
    """Whether any drift is new, has disappeared, or has another location, other levels or other facts."""


def map_events_of_unchanged_drifts(session: Session, subject_id: int) -> dict[str, str]:
    """Return the event of each drift that was detected again with the same place, levels and facts; store nothing."""
    with session.no_autoflush:  # so that the changed rows are compared with the stored ones, but not written
        rows = _update_rows(session, subject_id)
        stored_rows = [row for row in rows if row in session]
        return {row.drift_id: row.event_id for row in stored_rows if not session.is_modified(row)}


def update_drifts(session: Session, subject_id: int) -> DriftUpdate:
    """Update the stored drifts of a subject from its detected drifts."""
    has_undetected = _mark_undetected_drifts(session, subject_id)
    rows = _update_rows(session, subject_id)
    new_rows = [row for row in rows if row not in session]
    has_moved = has_undetected or bool(new_rows) or any(map(session.is_modified, rows))
    session.flush()
    return DriftUpdate(new_rows, {row.drift_id for row in rows}, has_moved)


def mark_withdrawn_drifts(session: Session, reasons: Mapping[str, str]) -> None:
    """Store why drifts are withdrawn, by the drift's id."""
    for drift_id, reason in reasons.items():
        mark = update(EventDriftRow).where(EventDriftRow.drift_id == drift_id).values(withdrawal=reason)
        session.execute(mark.execution_options(synchronize_session=False))


def map_withdrawn_drifts(session: Session, event_ids: Sequence[str]) -> dict[str, list[EventDriftRow]]:
    """Return the withdrawn drifts, largest change first, by the event's id."""
    rows_by_event: dict[str, list[EventDriftRow]] = defaultdict(list)
    for chunk in bulk.split_into_chunks(event_ids, _IDS_PER_QUERY):
        rows = session.scalars(
            select(EventDriftRow).where(EventDriftRow.event_id.in_(chunk), EventDriftRow.withdrawal.is_not(None))
        )
        for row in rows:
            rows_by_event[row.event_id].append(row)
    # Sort by the size relative to the level before; for a change from zero, by the size itself.
    for drifts_of_event in rows_by_event.values():
        drifts_of_event.sort(key=lambda row: (-abs(row.after - row.before) / (abs(row.before) or 1), row.drift_id))
    return rows_by_event


def insert_rows(session: Session, rows: Sequence[EventDriftRow]) -> None:
    """Insert new rows in bulk, because a configuration change can bring thousands while other writers wait."""
    attributes = inspect(EventDriftRow).column_attrs
    columns, names = [attribute.columns[0].name for attribute in attributes], attributes.keys()
    bulk.insert_rows(
        session, bulk.get_table(EventDriftRow), columns, ([getattr(row, name) for name in names] for row in rows)
    )


def list_located_drifts(session: Session, subject_id: int) -> list[LocatedDrift]:
    """Return all stored drifts of a subject, including those that are no longer detected."""
    first_revision, last_revision = aliased(Revision), aliased(Revision)
    rows = session.execute(
        select(
            EventDriftRow,
            first_revision.position,
            last_revision.position,
            last_revision.author,
            last_revision.title,
            last_revision.patch,
        )
        .join(first_revision, EventDriftRow.first_revision_id == first_revision.id)
        .join(last_revision, EventDriftRow.last_revision_id == last_revision.id)
        .where(EventDriftRow.subject_id == subject_id)
    )
    return [
        _build_located_drift(row, (first_position, last_position), change=f"{author}\n{title}", patch=patch)
        for row, first_position, last_position, author, title, patch in rows
    ]


def locate_drifts(session: Session, rows: Sequence[EventDriftRow]) -> list[LocatedDrift]:
    """Return the located drifts of rows that are not stored yet, as the rules read them."""
    revisions = _read_revisions(session, rows)
    located_drifts = []
    for row in rows:
        first_revision, last_revision = revisions[row.first_revision_id], revisions[row.last_revision_id]
        ends = first_revision.position, last_revision.position
        change = f"{last_revision.author}\n{last_revision.title}"
        located_drifts.append(_build_located_drift(row, ends, change=change, patch=last_revision.patch))
    return located_drifts


def _build_located_drift(row: EventDriftRow, ends: tuple[int, int], *, change: str, patch: str) -> LocatedDrift:
    """Return the fields of a row that the rules read.

    Parameters
    ----------
    ends
        The positions of the first and the last candidate.
    change
        Author and title of the last candidate.
    patch
        The patch id of the last candidate; empty if it is unknown.
    """
    return LocatedDrift(
        drift_id=row.drift_id,
        series=row.drift_id if row.series_id is None else row.series_id,  # a suite shift stands for a series of its own
        cause=row.cause,
        detail=row.detail,
        first=min(ends),
        last=max(ends),
        change=change,
        patch=patch,
        since=row.since.timestamp(),
        until=row.until.timestamp(),
        before=row.before,
        after=row.after,
        spread=row.spread,
        worse=row.worse,
        revision=row.revision,
        returned=row.returned,
        event=row.event_id,
        still_detected=row.still_detected,
        is_certain=not row.unsure,
    )


class _RevisionFacts(NamedTuple):
    """The columns of a revision that locate a drift."""

    position: int
    author: str
    title: str
    patch: str


def _read_revisions(session: Session, rows: Sequence[EventDriftRow]) -> dict[int, _RevisionFacts]:
    """Return the first and last revisions of rows, by the id of the revision."""
    ids = {revision_id for row in rows for revision_id in (row.first_revision_id, row.last_revision_id)}
    facts_by_id: dict[int, _RevisionFacts] = {}
    columns = select(Revision.id, Revision.position, Revision.author, Revision.title, Revision.patch)
    for chunk in bulk.split_into_chunks(sorted(ids), _IDS_PER_QUERY):
        selected_rows = session.execute(columns.where(Revision.id.in_(chunk)))
        facts_by_id |= {row.id: _RevisionFacts(row.position, row.author, row.title, row.patch) for row in selected_rows}
    return facts_by_id


def read_units(session: Session, series_ids: Iterable[int | str]) -> dict[int | str, str]:
    """Return the units of series, by the id of the series; ids of suite shifts, which are texts, are left out."""
    unit_by_series: dict[int | str, str] = {}
    ids = sorted(series_id for series_id in series_ids if isinstance(series_id, int))
    for chunk in bulk.split_into_chunks(ids, _IDS_PER_QUERY):
        rows = session.execute(select(Series.id, Series.metric).where(Series.id.in_(chunk)))
        unit_by_series |= {series_id: get_metric(name).unit for series_id, name in rows}
    return unit_by_series


def read_drifts(session: Session, drift_ids: Sequence[str], cause: Cause | None = None) -> list[history.Drift]:
    """Return drifts and suite shifts as the API serves them; given a cause, only drifts with this cause."""
    views: list[history.Drift] = []
    for chunk in bulk.split_into_chunks(drift_ids, _IDS_PER_QUERY):
        query = select(DriftRow.document).where(DriftRow.id.in_(chunk))
        documents = session.scalars(query if cause is None else query.where(DriftRow.cause == cause))
        views += map(history.Drift.model_validate, documents)
        if cause is None:
            shifts = session.scalars(select(SuiteCheck.document).where(SuiteCheck.id.in_(chunk)))
            views += map(history.Drift.model_validate, shifts)
    return sorted(views, key=lambda drift: drift.id)


def map_events_by_drift(session: Session, drift_ids: Sequence[str]) -> dict[str, str]:
    """Return the event of each drift, by the drift's id."""
    event_by_drift: dict[str, str] = {}
    for chunk in bulk.split_into_chunks(drift_ids, _IDS_PER_QUERY):
        rows = session.execute(
            select(EventDriftRow.drift_id, EventDriftRow.event_id).where(EventDriftRow.drift_id.in_(chunk))
        )
        event_by_drift |= dict(rows.all())
    return event_by_drift


def map_states_by_drift(session: Session, drift_ids: Sequence[str]) -> dict[str, State]:
    """Return the state of the event of each drift, by the drift's id."""
    state_by_drift: dict[str, State] = {}
    for chunk in bulk.split_into_chunks(drift_ids, _IDS_PER_QUERY):
        query = select(EventDriftRow.drift_id, Event.state).join(Event, EventDriftRow.event_id == Event.id)
        state_by_drift |= dict(session.execute(query.where(EventDriftRow.drift_id.in_(chunk))).all())
    return state_by_drift


def _update_rows(session: Session, subject_id: int) -> list[EventDriftRow]:
    """Return the rows of all newly detected drifts with their current values; new rows are in no session."""
    detected_drifts = [*_read_new_drifts(session, subject_id), *_read_new_suite_shifts(session, subject_id)]
    views = {drift_id: history.Drift.model_validate(document) for drift_id, document in detected_drifts}
    start_times = _map_start_times(session, views.values())
    revision_ids = _read_revision_ids(session, subject_id, views.values())
    rows = {row.drift_id: row for row in _read_rows(session, list(views))}
    now = datetime.now(UTC)
    for drift_id, drift in views.items():
        if drift_id not in rows:
            rows[drift_id] = EventDriftRow(drift_id=drift_id, subject_id=subject_id, returned=False, found_at=now)
        _fill_row(session, rows[drift_id], drift, start_times, revision_ids)
    return list(rows.values())


def _read_new_drifts(session: Session, subject_id: int) -> Iterable[tuple[str, object]]:
    """Yield the detected drifts that have no event yet, with their documents."""
    drifts_query = select(DriftRow.id, DriftRow.document).join(Series, DriftRow.series_id == Series.id)
    query_without_event = drifts_query.where(Series.subject_id == subject_id, DriftRow.event_id.is_(None))
    yield from session.execute(query_without_event)


def _read_new_suite_shifts(session: Session, subject_id: int) -> Iterable[tuple[str, object]]:
    """Yield the shifts of whole suites that are not stored as drifts of events yet."""
    stored_ids = select(EventDriftRow.drift_id).where(EventDriftRow.subject_id == subject_id)
    query = select(SuiteCheck).where(SuiteCheck.subject_id == subject_id, SuiteCheck.id.not_in(stored_ids))
    for suite_check in session.scalars(query):
        if suite_check.document:  # otherwise the check found no shift
            yield suite_check.id, suite_check.document


def _mark_undetected_drifts(session: Session, subject_id: int) -> bool:
    """Mark the stored drifts that are no longer detected; return whether there were any."""
    is_of_subject = EventDriftRow.subject_id == subject_id
    drifts = select(DriftRow.id).join(Series, DriftRow.series_id == Series.id).where(Series.subject_id == subject_id)
    is_undetected = (
        is_of_subject,
        EventDriftRow.still_detected,
        EventDriftRow.series_id.is_not(None),
        EventDriftRow.drift_id.not_in(drifts),
    )
    rows = list(session.scalars(select(EventDriftRow.drift_id).where(*is_undetected)))
    for chunk in bulk.split_into_chunks(rows, _IDS_PER_QUERY):
        mark_as_undetected = update(EventDriftRow).where(EventDriftRow.drift_id.in_(chunk)).values(still_detected=False)
        session.execute(mark_as_undetected.execution_options(synchronize_session=False))
    return bool(rows)


def _map_start_times(session: Session, drifts: Iterable[history.Drift]) -> dict[UUID, datetime]:
    """Return when the runs on both sides of drifts began, by the run's id."""
    run_ids = list({run for drift in drifts for run in (drift.run_before, drift.run_after)})
    started_at: dict[UUID, datetime] = {}
    for chunk in bulk.split_into_chunks(run_ids, _IDS_PER_QUERY):
        started_at |= dict(session.execute(select(Run.id, Run.started_at).where(Run.id.in_(chunk))).all())
    return started_at


def _read_revision_ids(session: Session, subject_id: int, drifts: Iterable[history.Drift]) -> dict[str, int]:
    """Return the ids of the first and last candidates of drifts, by hash."""
    commits = sorted({commit for drift in drifts for commit in _find_ends(drift)})
    ids: dict[str, int] = {}
    for chunk in bulk.split_into_chunks(commits, _IDS_PER_QUERY):
        revisions_query = select(Revision.commit, Revision.id).where(Revision.subject_id == subject_id)
        ids |= dict(session.execute(revisions_query.where(Revision.commit.in_(chunk))).all())
    return ids


def _find_ends(drift: history.Drift) -> tuple[str, str]:
    """Return the first and the last commit that could have caused a drift."""
    if drift.candidates and drift.cause in {Cause.COMMIT, Cause.COMMIT_AND_CONFIG}:
        return drift.candidates[0].commit, drift.candidates[-1].commit
    return drift.revision, drift.revision


def _fill_row(
    session: Session,
    row: EventDriftRow,
    drift: history.Drift,
    start_times: Mapping[UUID, datetime],
    revision_ids: Mapping[str, int],
) -> None:
    """Write a detected drift to its row; the stored levels change only if they moved by more than noise."""
    first, last = _find_ends(drift)
    moments = sorted((start_times[drift.run_before], start_times[drift.run_after]))
    row.series_id = drift.series_id or None  # a suite shift belongs to no series
    row.cause = drift.cause
    row.detail = _build_group_key(drift)
    row.first_revision_id = revision_ids[first]
    row.last_revision_id = revision_ids[last]
    row.since, row.until = moments
    if row.before is None or _levels_differ(row, drift):
        row.before, row.after, row.spread = drift.before, drift.after, drift.evidence.spread
    row.worse = drift.direction is Direction.REGRESSION
    row.revision = drift.revision
    row.rule = drift.rule
    row.facts = _hash_facts(drift)
    row.run_after = _find_first_run_at_new_level(session, drift, last)
    row.unsure = drift.evidence.wants_rerun
    row.still_detected = True
    if not row.unsure:  # a change that is certain again is no longer withdrawn
        row.withdrawal = None


def _hash_facts(drift: history.Drift) -> str:
    """Return a hash of the facts by which an event is described and ranked, besides location, levels and doubt."""
    candidates = [candidate.commit for candidate in drift.candidates]
    settings = [setting.model_dump(mode="json") for setting in drift.settings]
    proof_and_limits = drift.evidence.pairs, drift.within_budget, drift.floor
    prices = []
    if drift.price is not None:
        # Rounded, because every further run moves a cost that profiles of both sides give together.
        costs = f"{drift.price.fault_before:.2g}", f"{drift.price.fault_after:.2g}"
        prices.append([drift.price.source, *costs])
    return hash_document([*proof_and_limits, candidates, drift.candidates_known, settings, *prices])


def _levels_differ(row: EventDriftRow, drift: history.Drift) -> bool:
    """Return whether the levels differ from the stored ones by more than the shifts that each noisy run causes."""
    difference = max(abs(drift.before - row.before), abs(drift.after - row.after))
    return difference > _MAX_LEVEL_DEVIATION * abs(row.after - row.before)


def _find_first_run_at_new_level(session: Session, drift: history.Drift, last_commit: str) -> UUID | None:
    """Return the first run at the new level; None for a shift of a whole suite, which belongs to no series.

    The new level of a ramp, which spreads over several commits, begins with the first judged run at its end.
    ``last_commit`` is the last commit that could have caused the drift.
    """
    if drift.rule != "ramp":
        return drift.run_after if drift.series_id else None
    end = (drift.environment_after, last_commit)
    judged_points = arrange_trends(session, [drift.series_id])[drift.series_id].measured
    return next((point.run_id for point in judged_points if (point.environment, point.revision) == end), None)


def _build_group_key(drift: history.Drift) -> str:
    """Return what the drifts of an event share besides the kind of cause and the location: host or hash of settings."""
    if drift.cause is Cause.COMMIT:
        return ""
    if drift.cause is Cause.UNKNOWN:
        return drift.host
    return hash_document([[setting.name, setting.before, setting.after] for setting in drift.settings])


def list_series_of_events(session: Session, event_ids: Sequence[str]) -> list[int]:
    """Return the ids of the series of the drifts of events that are still detected."""
    series_id = EventDriftRow.series_id
    query = select(series_id).where(
        EventDriftRow.event_id.in_(event_ids), EventDriftRow.still_detected, series_id.is_not(None)
    )
    return [series for series in session.scalars(query.distinct().order_by(series_id)) if series is not None]


def _read_rows(session: Session, drift_ids: Sequence[str]) -> Iterable[EventDriftRow]:
    """Yield the stored rows of drifts."""
    for chunk in bulk.split_into_chunks(drift_ids, _IDS_PER_QUERY):
        yield from session.scalars(select(EventDriftRow).where(EventDriftRow.drift_id.in_(chunk)))
