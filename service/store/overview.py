"""What the overview asks that no other page does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Float, Text, bindparam, case, cast, func, select
from sqlalchemy.orm import Session, contains_eager

from runner.contract import CATALOGUE
from runner.contract.report import hash_of
from service.rules.events import headline
from service.rules.events.lifecycle import CLOSED
from service.schemas.directory import Activity
from service.schemas.history import Drift as DriftView
from service.schemas.history import DriftList, SeriesSummary
from service.store import event_drifts, series
from service.store.jobs import OPEN
from service.store.models import Case, Decision, Drift, Event, EventDrift, Host, Job, Revision, Run, Series

_LATELY = 100_000
"""Runs of late that are counted at most."""
_JUDGED = [name for name, entry in CATALOGUE.items() if entry.judged]


def judged(session: Session, limit: int) -> tuple[list[SeriesSummary], int]:
    """Return the series that are judged and were measured last, and how many there are."""
    wanted = select(Series).where(Series.metric.in_(_JUDGED))
    total = session.scalar(select(func.count()).select_from(wanted.with_only_columns(Series.id).subquery())) or 0
    newest = wanted.order_by(Series.latest_at.desc(), Series.id).limit(limit)
    rows = session.scalars(
        newest.join(Series.subject)
        .join(Series.case)
        .join(Series.host)
        .options(contains_eager(Series.subject), contains_eager(Series.case), contains_eager(Series.host))
    )
    found = [SeriesSummary(**series.head(row).model_dump(), n_points=row.n_points, latest=row.latest) for row in rows]
    return found, total


_NEWEST = (Drift.committed_at.desc(), Drift.position.desc(), Drift.series_id, Drift.id)
_CLOSED = select(Event.id).where(Event.state.in_(CLOSED))


def open_drifts(session: Session, limit: int) -> DriftList:
    """Return the drifts that no closed event has, those of the newest commits first."""
    wanted = select(Drift).where(Drift.event_id.is_(None) | Drift.event_id.not_in(_CLOSED))
    total = session.scalar(select(func.count()).select_from(wanted.with_only_columns(Drift.id).subquery())) or 0
    rows = session.scalars(wanted.order_by(*_NEWEST).limit(limit))
    return DriftList(items=[DriftView.model_validate(row.document) for row in rows], total=total)


_BEFORE, _AFTER = cast(EventDrift.before, Float), cast(EventDrift.after, Float)
_SIZE = case(
    (EventDrift.series_id.is_(None), 0.0),
    (_BEFORE == 0, float(headline.FROM_ZERO)),
    else_=100 * func.abs((_AFTER - _BEFORE) / func.nullif(_BEFORE, 0)),
)
_PLACE = func.row_number().over(
    partition_by=EventDrift.event_id,
    order_by=(EventDrift.returned, EventDrift.worse.desc(), _SIZE.desc(), Case.name, EventDrift.drift_id),
)
_RANKED = (
    select(EventDrift.event_id, EventDrift.drift_id, _PLACE.label("place"))
    .outerjoin(Series, EventDrift.series_id == Series.id)
    .outerjoin(Case, Series.case_id == Case.id)
    .where(EventDrift.event_id.in_(bindparam("events", expanding=True)), EventDrift.found)
    .subquery()
)
_LEADING = (
    select(_RANKED.c.event_id, _RANKED.c.drift_id, Drift.document)
    .outerjoin(Drift, Drift.id == _RANKED.c.drift_id)
    .where(_RANKED.c.place <= bindparam("limit"))
    .order_by(_RANKED.c.place)
)


def leading_drifts(session: Session, event_ids: Sequence[str], limit: int) -> dict[str, list[DriftView]]:
    """Return the leading drifts of each of some events, by the id of the event.

    The first one is the drift that the headline of the event speaks of: regressions come before improvements, then the
    largest change in percent of the level before. Drifts with which an event came back are last.
    """
    rows = session.execute(_LEADING, {"events": event_ids, "limit": limit}).all() if event_ids else []
    of_suites = [drift_id for _, drift_id, document in rows if document is None]
    suite_drifts = {drift.id: drift for drift in event_drifts.drifts(session, of_suites)} if of_suites else {}
    leading: dict[str, list[DriftView]] = {event_id: [] for event_id in event_ids}
    for event_id, drift_id, document in rows:
        drift = suite_drifts.get(drift_id) if document is None else DriftView.model_validate(document)
        if drift is not None:
            leading[event_id].append(drift)
    return leading


def activity(session: Session, since: datetime) -> list[Activity]:
    """Return what each host has measured since then: how many runs, and the newest of them."""
    # Grouped apart from the condition: else SQLite walks the index that has the hosts in order, past all runs.
    lately = select(Run.host_id, Run.number).where(Run.started_at >= since).limit(_LATELY).subquery()
    counts = session.execute(
        select(lately.c.host_id, func.count(), func.max(lately.c.number)).group_by(lately.c.host_id)
    ).all()
    numbers = {number: count for _, count, number in counts}
    rows = session.execute(
        select(Run.number, Run.id, Host.name, Case.name, Revision.commit, Revision.title, Run.finished_at)
        .join(Run.host)
        .join(Run.case)
        .join(Run.revision)
        .where(Run.number.in_(numbers))
        .order_by(Run.finished_at.desc())
    )
    return [
        Activity(
            host=host, runs=numbers[number], run_id=run_id, case=case, revision=commit, title=title, finished_at=at
        )
        for number, run_id, host, case, commit, title, at in rows
    ]


def state(session: Session) -> str:
    """Return a text that is another one where anything was measured or judged meanwhile."""
    newest = session.scalar(select(func.max(Run.number))) or 0
    drifts = session.scalar(select(func.count()).select_from(Drift)) or 0
    events, changed = session.execute(select(func.count(), func.max(Event.changed_at)).select_from(Event)).one()
    decided = session.scalar(select(func.max(Decision.id))) or 0
    return f"{newest}.{drifts}.{decided}.{events}.{changed.timestamp() if changed else 0}"


def jobs_state(session: Session) -> str:
    """Return the same of jobs: another text where one was ordered, changed, or came further."""
    newest = session.execute(select(func.max(Job.id), func.max(Job.changed_at))).one()
    open_ones = session.execute(
        select(Job.id, func.length(cast(Job.runs, Text)), Job.runs_left, Job.seconds_left, Job.sentence)
        .where(Job.state.in_(OPEN))
        .order_by(Job.id)
    ).all()
    return hash_of([str(newest), str(open_ones)])


def series_state(session: Session, series_id: int) -> str:
    """Return the same of one series."""
    found = session.execute(select(Series.version, Series.judged_version).where(Series.id == series_id)).first()
    return "none" if found is None else f"{found[0]}.{found[1]}"
