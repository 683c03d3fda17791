"""The data of the drift map: the commits of its columns, the drifts of its cells, and descriptions of their events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from itertools import starmap

from sqlalchemy import ColumnElement, Float, Integer, Select, cast, func, select, type_coerce
from sqlalchemy.orm import Session

from runner.contract import Outcome
from service.rules.drift_map.columns import Columns, MapCommit
from service.rules.drift_map.layout import SUSPECTED_WEIGHT, MapDrift, compute_move
from service.schemas.history import Cause, SettingChange
from service.schemas.triage import EventDirection, State
from service.store.engine import bulk
from service.store.models import Case, DecisionRow, Event, EventDriftRow, Revision, Run, Series, Subject

_WHOLE_SUITE_ROW = "all cases together"
"""The row for shifts of a whole suite."""
_IDS_PER_QUERY = 500
"""At most this many ids per query, because SQLite limits the number of parameters."""
_MAX_CONFIG_EVENTS = 200
"""At most this many events of changes of settings fit."""
_IS_SHOWN = (
    Event.still_detected.is_(True),
    Event.merged_into.is_(None),
    Event.below_floor.is_(False),
    Event.state != State.FALSE_ALARM,
)
"""Conditions of the events on the map. Unlike lists, the map shows closed events too, because they moved levels."""
_EVENTS = select(Event, Subject.name).join(Subject, Event.subject_id == Subject.id)


@dataclass(frozen=True, slots=True)
class MapEvent:
    """The description of an event on the map."""

    id: str
    subject: str
    cause: Cause
    direction: EventDirection
    confirmed: bool
    headline: str
    blamed: str
    """The commit, the commits or the settings that caused it."""
    author: str
    n_series: int
    settings: tuple[SettingChange, ...]

    def with_settings(self, settings: tuple[SettingChange, ...]) -> MapEvent:
        """Return the event with other settings."""
        return replace(self, settings=settings)


def read_map_version(session: Session) -> tuple[int, int]:
    """Return two numbers, at least one of which increases when drifts appear or disappear, or an event is decided."""
    versions = session.scalar(select(func.sum(Subject.events_version)))
    return versions or 0, session.scalar(select(func.max(DecisionRow.id))) or 0


def list_measured_commits(session: Session, subject_id: int | None) -> list[MapCommit]:
    """Return the measured commits of a subject in the order of its history; of all subjects, by time."""
    # With LIMIT instead of EXISTS, PostgreSQL looks up one run of each commit, and never reads all runs.
    run = select(Run.number).where(Run.revision_id == Revision.id, Run.outcome == Outcome.MEASURED).limit(1)
    columns = select(Revision.id, Revision.commit, Revision.committed_at).where(run.scalar_subquery().is_not(None))
    if subject_id is None:
        query = columns.order_by(Revision.committed_at, Revision.subject_id, Revision.position)
    else:
        query = columns.where(Revision.subject_id == subject_id).order_by(Revision.position)
    # Fetch all rows at once: iterating over a result fetches them one by one, which takes three times as long.
    return list(starmap(MapCommit, session.connection().execute(query).all()))


def list_map_drifts(session: Session, subject_id: int | None, columns: Columns) -> list[MapDrift]:
    """Return the drifts of a subject, or of all, that the map shows: drifts of events that are still detected.

    Data that drifts share is read once and joined here, not once for each drift.
    """
    conditions: list[ColumnElement[bool]] = [EventDriftRow.still_detected.is_(True)]
    if subject_id is not None:
        conditions.append(EventDriftRow.subject_id == subject_id)
    series_query = (
        select(Series.id, Series.metric, Subject.name, Case.workload, Case.name, Case.key)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Case, Series.case_id == Case.id)
        .where(Series.id.in_(select(EventDriftRow.series_id).where(*conditions)))
    )
    rows_by_series = {
        series_id: ((subject, workload, case), key, metric)
        for series_id, metric, subject, workload, case, key in session.connection().execute(series_query).all()
    }
    events_query = select(Event.id, Event.importance, Subject.name).join(Subject, Event.subject_id == Subject.id)
    # The importance of each event, and for shifts of whole suites the values that replace those of a series.
    events = {
        event_id: (importance, ((subject, "", _WHOLE_SUITE_ROW), "", ""))
        for event_id, importance, subject in session.connection().execute(events_query.where(*_IS_SHOWN)).all()
    }
    drifts_query = select(
        EventDriftRow.series_id,
        EventDriftRow.last_revision_id,
        EventDriftRow.event_id,
        cast(EventDriftRow.before, Float),
        cast(EventDriftRow.after, Float),
        # Read flags as they are stored: SQLAlchemy's conversion of three columns would take a third of the time.
        type_coerce(EventDriftRow.worse, Integer),
        type_coerce(EventDriftRow.unsure, Integer),
        type_coerce(EventDriftRow.returned, Integer),
    ).where(*conditions)
    rows = session.connection().execute(drifts_query).all()
    column_of = _map_columns(session, columns, {commit_id for _, commit_id, *_ in rows})
    drifts = []
    for series_id, commit_id, event_id, before, after, is_worse, is_unsure, has_returned in rows:
        event_facts = events.get(event_id)
        if event_facts is None:
            continue
        importance, whole_suite = event_facts
        map_row, key, metric = whole_suite if series_id is None else rows_by_series[series_id]
        # The levels of a shift of a whole suite are relative to zero.
        move = 0.0 if series_id is None else compute_move(before, after)
        weight = move * SUSPECTED_WEIGHT if is_unsure else move
        is_certain = not is_unsure
        column = column_of[commit_id]
        drifts.append(
            MapDrift(  # positional arguments: keyword arguments take twice as long
                map_row, key, column, metric, before, after, move, weight, bool(is_worse), is_certain,
                bool(has_returned), event_id, importance,
            )
        )  # fmt: skip
    return drifts


def _map_columns(session: Session, columns: Columns, commit_ids: Set[int]) -> Mapping[int, int]:
    """Return the column of each commit, by id, including unmeasured commits that are candidates of a drift."""
    column_of_commit = dict(columns.column_of)
    for chunk in bulk.split_into_chunks(sorted(commit_ids - column_of_commit.keys()), _IDS_PER_QUERY):
        times = session.execute(select(Revision.id, Revision.committed_at).where(Revision.id.in_(chunk)))
        column_of_commit |= {commit_id: columns.find_column(at) for commit_id, at in times}
    return column_of_commit


def read_map_events(session: Session, event_ids: Iterable[str]) -> dict[str, MapEvent]:
    """Return the descriptions of events on the map, by id."""
    events: dict[str, MapEvent] = {}
    for chunk in bulk.split_into_chunks(sorted(set(event_ids)), _IDS_PER_QUERY):
        events |= {event.id: event for event in _read_events(session, _EVENTS.where(Event.id.in_(chunk)))}
    return events


def list_important_events(session: Session, subject_id: int | None, limit: int) -> list[MapEvent]:
    """Return the most important events that a commit could have caused, and those without a known cause."""
    return _read_events(session, _select_important(subject_id).where(Event.cause != Cause.CONFIG).limit(limit))


def list_config_events(session: Session, subject_id: int | None) -> list[MapEvent]:
    """Return the events that changes of settings caused or may have caused, most important first."""
    settings_query = _select_important(subject_id).where(Event.cause.in_((Cause.CONFIG, Cause.COMMIT_AND_CONFIG)))
    return _read_events(session, settings_query.limit(_MAX_CONFIG_EVENTS))


def _select_important(subject_id: int | None) -> Select[Event, str]:
    """Return the query for the shown events of a subject, or of all (None), the most important first."""
    query = _EVENTS.where(*_IS_SHOWN)
    if subject_id is not None:
        query = query.where(Event.subject_id == subject_id)
    return query.order_by(Event.importance.desc(), Event.id)


def _read_events(session: Session, query: Select[Event, str]) -> list[MapEvent]:
    """Return the events that a query selects, each with its subject, as the map shows them."""
    return [
        MapEvent(
            id=event.id,
            subject=subject,
            cause=event.cause,
            direction=event.direction,
            confirmed=event.confirmed,
            headline=event.document["headline"],
            blamed=event.document.get("blamed", ""),
            author=event.document.get("author", ""),
            n_series=event.document.get("n_series", 0),
            settings=tuple(SettingChange.model_validate(entry) for entry in event.document["settings"]),
        )
        for event, subject in session.execute(query)
    ]
