"""The data of the drift map: the commits of its columns, the drifts of its cells, and descriptions of their events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import starmap
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Float,
    Integer,
    ScalarSelect,
    Select,
    bindparam,
    cast,
    func,
    select,
    type_coerce,
)
from sqlalchemy.orm import Session, load_only

from runner.contract import Outcome
from service.rules.drift_map.columns import Columns, MapCommit
from service.rules.drift_map.layout import SUSPECTED_WEIGHT, MapDrift, compute_move
from service.schemas.history import Cause, SettingChange
from service.schemas.triage import EventDirection, State
from service.store.engine import bulk
from service.store.models import (
    Case,
    DecisionRow,
    DriftRow,
    Environment,
    EnvironmentCount,
    Event,
    EventDriftRow,
    Revision,
    Run,
    Series,
    Subject,
)

_WHOLE_SUITE_ROW = "all cases together"
"""The row for shifts of a whole suite."""
_IDS_PER_QUERY = 500
"""At most this many ids per query, because SQLite limits the number of parameters."""
_MAX_CONFIG_EVENTS = 200
"""At most this many events of changes of settings fit."""
_Place = tuple[tuple[str, str, str], str, str]
"""Where the map shows a drift: its row, the key of its case in this row, and its metric."""
_MAX_ENVIRONMENTS = 200
"""With more environments than this, changes of settings are not counted: reading them all would take too long."""
_IS_SHOWN = (
    Event.still_detected.is_(True),
    Event.merged_into.is_(None),
    Event.below_floor.is_(False),
    Event.state != State.FALSE_ALARM,
)
"""Conditions of the events on the map. Unlike lists, the map shows closed events too, because they moved levels."""
_EVENTS = (
    select(Event, Subject.name)
    .join(Subject, Event.subject_id == Subject.id)
    .options(load_only(Event.id, Event.state, Event.cause, Event.direction, Event.confirmed, Event.document))
)


@dataclass(frozen=True, slots=True)
class MapEvent:
    """The description of an event on the map."""

    id: str
    subject: str
    state: State
    cause: Cause
    direction: EventDirection
    confirmed: bool
    headline: str
    blamed: str
    """The commit, the commits or the settings that caused it."""
    author: str
    n_series: int
    settings: tuple[SettingChange, ...]
    setting_commit: int | None = None
    """The id of the commit at which the settings have their new values for the first time; None if it is unknown."""

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
    places_by_series = _read_places_of_series(session, conditions)
    events_query = select(Event.id, Event.importance).where(*_IS_SHOWN)
    event_rows = session.connection().execute(events_query).all()
    importance_by_event = {event_id: importance for event_id, importance in event_rows}  # noqa: C416 - mypy does not know that rows are pairs
    places_of_suites = _read_places_of_suites(session, conditions)
    drifts_query = select(
        EventDriftRow.drift_id,
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
    column_of = _map_columns(session, columns, {row[2] for row in rows})
    drifts = []
    for drift_id, series_id, commit_id, event_id, before, after, is_worse, is_unsure, has_returned in rows:
        importance = importance_by_event.get(event_id)
        if importance is None:
            continue
        map_row, key, metric = places_of_suites[event_id] if series_id is None else places_by_series[series_id]
        # The levels of a shift of a whole suite are relative to zero.
        move = 0.0 if series_id is None else compute_move(before, after)
        weight = move * SUSPECTED_WEIGHT if is_unsure else move
        drifts.append(
            MapDrift(  # positional arguments: keyword arguments take twice as long
                drift_id, map_row, key, column_of[commit_id], metric, before, after, move, weight, is_worse == 1,
                is_unsure == 0, has_returned == 1, event_id, importance,
            )
        )  # fmt: skip
    return drifts


def _read_places_of_series(session: Session, conditions: Sequence[ColumnElement[bool]]) -> dict[int, _Place]:
    """Return the place of each series that has drifts under some conditions, by its id."""
    query = (
        select(Series.id, Series.metric, Subject.name, Case.workload, Case.name, Case.key)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Case, Series.case_id == Case.id)
        .where(Series.id.in_(select(EventDriftRow.series_id).where(*conditions)))
    )
    return {
        series_id: ((subject, workload, case), key, metric)
        for series_id, metric, subject, workload, case, key in session.connection().execute(query).all()
    }


def _read_places_of_suites(session: Session, conditions: Sequence[ColumnElement[bool]]) -> dict[str, _Place]:
    """Return the place of each shift of a whole suite, which has no series, by the id of its event."""
    query = (
        select(EventDriftRow.event_id, Subject.name)
        .join(Subject, EventDriftRow.subject_id == Subject.id)
        .where(EventDriftRow.series_id.is_(None), *conditions)
    )
    return {
        event_id: ((subject, "", _WHOLE_SUITE_ROW), "", "")
        for event_id, subject in session.connection().execute(query).all()
    }


def update_levels(session: Session, drifts: Sequence[MapDrift]) -> list[MapDrift]:
    """Return drifts with the levels that their events show.

    The levels that the map reads are stored again only if they have moved by more than noise.
    """
    query = select(DriftRow.id, DriftRow.document).where(DriftRow.id.in_([drift.drift_id for drift in drifts]))
    levels = {drift_id: (document["before"], document["after"]) for drift_id, document in session.execute(query)}
    updated_drifts = []
    for drift in drifts:
        before, after = levels.get(drift.drift_id, (drift.before, drift.after))
        updated_drifts.append(drift._replace(before=before, after=after))
    return updated_drifts


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


def list_config_events(
    session: Session, subject_id: int | None, leading_drifts: Mapping[str, MapDrift]
) -> list[MapEvent]:
    """Return the events of the map that changes of settings caused or may have caused, most important first.

    Each contains the commit at which its settings changed, because a drift can begin some commits later: the commit is
    looked up for the case and on the host of the event's leading drift.
    """
    settings_query = _select_important(subject_id).where(Event.cause.in_((Cause.CONFIG, Cause.COMMIT_AND_CONFIG)))
    all_rows = session.execute(settings_query.limit(_MAX_CONFIG_EVENTS)).all()
    rows = [(event, subject) for event, subject in all_rows if event.id in leading_drifts]
    cases = _list_measured_cases(session, [leading_drifts[event.id].drift_id for event, _ in rows])
    list_environments = cache(partial(_list_environments, session))
    return [
        replace(
            _describe_event(event, subject),
            setting_commit=_find_setting_commit(session, event, cases[event.id], list_environments)
            if event.id in cases
            else None,
        )
        for event, subject in rows
    ]


def list_successive_settings(session: Session, subject_id: int | None) -> list[list[Mapping[str, str]]]:
    """Return the settings of the environments of each host of a subject, or of all, in the order of their first runs.

    Empty if there are more than :data:`_MAX_ENVIRONMENTS`.
    """
    query = (
        select(EnvironmentCount.subject_id, EnvironmentCount.host_id, Environment.settings)
        .join(Environment, EnvironmentCount.environment_id == Environment.id)
        .order_by(EnvironmentCount.subject_id, EnvironmentCount.host_id, EnvironmentCount.id)
    )
    if subject_id is not None:
        query = query.where(EnvironmentCount.subject_id == subject_id)
    rows = session.connection().execute(query.limit(_MAX_ENVIRONMENTS + 1)).all()
    if len(rows) > _MAX_ENVIRONMENTS:
        return []
    settings_by_host: dict[tuple[int, int], list[Mapping[str, str]]] = {}
    for subject, host, settings in rows:
        settings_by_host.setdefault((subject, host), []).append(settings)
    return list(settings_by_host.values())


class _MeasuredCase(NamedTuple):
    """A case of a subject on a host."""

    subject_id: int
    host_id: int
    case_id: int


def _select_position(name: str) -> ScalarSelect[int]:
    """Return the query for the position of a commit, which is the parameter with this name."""
    is_commit = Revision.subject_id == bindparam("subject_id"), Revision.commit == bindparam(name)
    return select(Revision.position).where(*is_commit).scalar_subquery()


_FIRST_COMMIT = (
    select(Run.revision_id)
    .join(Revision, Run.revision_id == Revision.id)
    .where(
        Run.subject_id == bindparam("subject_id"),
        Run.host_id == bindparam("host_id"),
        Run.case_id == bindparam("case_id"),
        Run.environment_id.in_(bindparam("environment_ids", expanding=True)),
        Run.outcome == Outcome.MEASURED,
        Revision.position.between(_select_position("after"), _select_position("up_to")),
    )
    .order_by(Revision.position)
    .limit(1)
)
"""The first commit of a case that was measured in some environments, in a range of commits. Built once, because a map
asks for it up to :data:`_MAX_CONFIG_EVENTS` times."""
_EnvironmentLister = Callable[[int, int], Sequence[tuple[int, Mapping[str, str]]]]
"""Returns the environments of a subject on a host: the id and the settings of each."""


def _list_measured_cases(session: Session, drift_ids: Iterable[str]) -> dict[str, _MeasuredCase]:
    """Return the case and the host of each drift of a series, by the event's id."""
    query = select(EventDriftRow.event_id, Series.subject_id, Series.host_id, Series.case_id).join(
        Series, EventDriftRow.series_id == Series.id
    )
    rows = session.connection().execute(query.where(EventDriftRow.drift_id.in_(drift_ids)))
    return {event_id: _MeasuredCase(*ids) for event_id, *ids in rows}


def _find_setting_commit(
    session: Session, event: Event, case: _MeasuredCase, list_environments: _EnvironmentLister
) -> int | None:
    """Return the first commit between both levels that was measured with the new values of the settings of an event.

    None if there is no such commit: for example, a file of the system changed, which is no setting of an environment.
    """
    new_values = {setting["name"]: setting["after"] for setting in event.document["settings"]}
    environment_ids = [
        environment_id
        for environment_id, values in list_environments(case.subject_id, case.host_id)
        if all(values.get(name) == value for name, value in new_values.items())
    ]
    ends = event.document.get("previous_revision"), event.document.get("first_bad")
    if not new_values or not environment_ids or None in ends:
        return None
    values = {**case._asdict(), "environment_ids": environment_ids, "after": ends[0], "up_to": ends[1]}
    return session.connection().execute(_FIRST_COMMIT, values).scalar()


def _list_environments(session: Session, subject_id: int, host_id: int) -> Sequence[tuple[int, Mapping[str, str]]]:
    """Return the environments of a subject on a host: the id and the settings of each."""
    is_of_host = EnvironmentCount.subject_id == subject_id, EnvironmentCount.host_id == host_id
    ids = select(EnvironmentCount.environment_id).where(*is_of_host)
    query = select(Environment.id, Environment.settings).where(Environment.id.in_(ids)).order_by(Environment.id.desc())
    return [(environment_id, settings) for environment_id, settings in session.execute(query.limit(_IDS_PER_QUERY))]


def _select_important(subject_id: int | None) -> Select[Event, str]:
    """Return the query for the shown events of a subject, or of all (None), the most important first."""
    query = _EVENTS.where(*_IS_SHOWN)
    if subject_id is not None:
        query = query.where(Event.subject_id == subject_id)
    return query.order_by(Event.importance.desc(), Event.id)


def _read_events(session: Session, query: Select[Event, str]) -> list[MapEvent]:
    """Return the events that a query selects, each with its subject, as the map shows them."""
    return [_describe_event(event, subject) for event, subject in session.execute(query)]


def _describe_event(event: Event, subject: str) -> MapEvent:
    """Return an event as the map shows it."""
    return MapEvent(
        id=event.id,
        subject=subject,
        state=event.state,
        cause=event.cause,
        direction=event.direction,
        confirmed=event.confirmed,
        headline=event.document["headline"],
        blamed=event.document.get("blamed", ""),
        author=event.document.get("author", ""),
        n_series=event.document.get("n_series", 0),
        settings=tuple(SettingChange.model_validate(entry) for entry in event.document["settings"]),
    )
