"""Looks at whole suites: a shift of many series at once that none of them shows by itself. Once a revision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from runner.contract import CATALOGUE
from runner.contract.report import hash_of
from service.pipeline import update_events
from service.rules import detect
from service.rules.series import suite_shift
from service.rules.series.path import Points
from service.schemas import history as views
from service.store import points
from service.store.engine.database import Database
from service.store.models import Drift, Host, Revision, Run, Series, Subject, SuiteLook

_JUDGED = [name for name, entry in CATALOGUE.items() if entry.judged]


class Suite(NamedTuple):
    """One revision as a host measured it, and the one before."""

    subject: Subject
    host: Host
    newest: Revision
    before: Revision


def look(database: Database) -> None:
    """Look at the newest revision of each subject on each host, once it is measured in all cases."""
    with database.reading() as session:
        due = [(one, metric) for one in _complete(session) for metric in _unseen(session, one)]
    for one, metric in due:
        with database.reading() as session:
            found = _judge(session, one, metric)
        with database.writing() as session:
            _note(session, one, metric, found)
    if due:
        update_events.refresh(database)


def _complete(session: Session) -> Iterable[Suite]:
    for subject in session.scalars(select(Subject)):
        for host in session.scalars(select(Host)):
            measured = select(Run.number).where(Run.revision_id == Revision.id, Run.host_id == host.id).exists()
            of_subject = select(Revision).where(Revision.subject_id == subject.id, measured)
            newest = session.scalars(of_subject.order_by(Revision.position.desc()).limit(2)).all()
            if len(newest) == 2 and _cases(session, newest[1], host) <= _cases(session, newest[0], host):
                yield Suite(subject, host, *newest)


def _cases(session: Session, revision: Revision, host: Host) -> set[int]:
    """Return the cases that were tried at a revision, whatever came of that."""
    return set(session.scalars(select(Run.case_id).where(Run.revision_id == revision.id, Run.host_id == host.id)))


def _unseen(session: Session, one: Suite) -> Sequence[str]:
    looked = select(SuiteLook.metric).where(
        SuiteLook.subject_id == one.subject.id,
        SuiteLook.host_id == one.host.id,
        SuiteLook.revision_id == one.newest.id,
    )
    seen = set(session.scalars(looked))
    return [metric for metric in _JUDGED if metric not in seen]


def _judge(session: Session, one: Suite, metric: str) -> views.Drift | None:
    """Return the shift of a suite between its two newest revisions, as a drift without a series."""
    paths = _paths(session, one, metric)
    histories = [suite_shift.level_before(path, last_change) for path, last_change in paths]
    shift = detect.find_pooled_shift(
        [[point.value for point in history] for history in histories], [path[-1].value for path, _ in paths]
    )
    if shift is None:
        return None
    path = paths[0][0]
    knobs = [points.knobs(session, point.environment) for point in (path[-2], path[-1])]
    return suite_shift.describe_suite_shift(
        identity=hash_of(["suite", one.subject.name, one.host.name, metric, one.newest.commit]),
        suite=suite_shift.SuiteKey(one.subject.name, one.host.name, metric),
        shift=shift,
        ends=(path[-2], path[-1]),
        knobs=(knobs[0], knobs[1]),
        candidates=_candidates(session, one, path),
        committed_at=one.newest.committed_at,
    )


def _paths(session: Session, one: Suite, metric: str) -> list[tuple[Points, int]]:
    """Return each series that ends with the two revisions, with the place of its last known change.

    A series that shows a drift at the newest revision by itself is left out: that is told already. All have to be in
    the environments that most are in, so that they have one cause.
    """
    newest, changes = aliased(Revision), aliased(Drift)
    told = (
        select(changes.id)
        .join(newest, newest.id == one.newest.id)
        .where(changes.series_id == Series.id, changes.position >= newest.position)
        .exists()
    )
    of_suite = select(Series.id).where(
        Series.subject_id == one.subject.id, Series.host_id == one.host.id, Series.metric == metric, ~told
    )
    found = []
    for series_id in session.scalars(of_suite.order_by(Series.id)).all():
        path = points.trend_of(session, series_id).path
        if len(path) > 1 and path[-1].revision == one.newest.commit and path[-2].revision == one.before.commit:
            last = session.scalars(select(Drift.position).where(Drift.series_id == series_id)).all()
            found.append((path, max(last, default=-1)))
    return suite_shift.in_common_environments(found)


def _candidates(session: Session, one: Suite, path: Points) -> list[views.Candidate]:
    between = (Revision.position > path[-2].position, Revision.position <= path[-1].position)
    rows = session.scalars(
        select(Revision).where(Revision.subject_id == one.subject.id, *between).order_by(Revision.position)
    )
    return [views.Candidate(commit=row.commit, title=row.title, author=row.author) for row in rows]


def _note(session: Session, one: Suite, metric: str, found: views.Drift | None) -> None:
    place: dict[str, Any] = {
        "subject_id": one.subject.id,
        "host_id": one.host.id,
        "metric": metric,
        "revision_id": one.newest.id,
    }
    if session.scalar(select(SuiteLook.id).filter_by(**place)) is not None:
        return
    identity = hash_of(["suite", one.subject.name, one.host.name, metric, one.newest.commit])
    session.add(SuiteLook(id=identity, **place, document=found and found.model_dump(mode="json")))
    if found is not None:
        session.get_one(Subject, one.subject.id).drifts_version += 1
