"""Finds the hosts that measured both sides of a drift, and have no drift there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from service.schemas.history import Drift, Number
from service.schemas.triage import UnmovedHost
from service.store.models import DriftRow, Host, Point, Revision, Run, Series
from service.store.series.points import IS_ON_TREND

_MAX_HOSTS = 20
"""At most this many other hosts are looked at."""


class _OtherSeries(NamedTuple):
    """The same metric of the same case on another host."""

    series_id: int
    host: str


def list_unmoved_hosts(session: Session, drift: Drift) -> list[UnmovedHost]:
    """Return the other hosts that measured the case before and after a drift, and have no drift between the two.

    Empty if the commit is the same on both sides, because then only a setting of the drift's own host differs.
    """
    if drift.series_id == 0 or drift.good == drift.bad:
        return []
    hosts = []
    for other in _list_other_series(session, drift.series_id):
        before, after = (_find_level(session, other.series_id, commit) for commit in (drift.good, drift.bad))
        if before is None or after is None or _has_drift_between(session, other.series_id, drift):
            continue
        hosts.append(UnmovedHost(host=other.host, series_id=other.series_id, before=before, after=after))
    return hosts


def _list_other_series(session: Session, series_id: int) -> Sequence[_OtherSeries]:
    """Return the judged series of the same metric, case and subject on other hosts, by the name of the host."""
    own = aliased(Series)
    query = (
        select(Series.id, Host.name)
        .join(Host, Series.host_id == Host.id)
        .join(own, (own.case_id == Series.case_id) & (own.subject_id == Series.subject_id))
        .where(own.id == series_id, own.metric == Series.metric, own.host_id != Series.host_id, Series.judged)
        .order_by(Host.name)
        .limit(_MAX_HOSTS)
    )
    return [_OtherSeries(*row) for row in session.execute(query)]


def _find_level(session: Session, series_id: int, commit: str) -> Number | None:
    """Return the newest value of a series at a commit; None if it was not measured there."""
    query = (
        select(Point.value)
        .join(Series, Point.series_id == Series.id)
        .join(Run, Point.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .where(Series.id == series_id, Revision.subject_id == Series.subject_id, Revision.commit == commit)
        .where(IS_ON_TREND, Point.value.is_not(None))
        .order_by(Run.started_at.desc())
        .limit(1)
    )
    return session.scalar(query)


def _has_drift_between(session: Session, series_id: int, drift: Drift) -> bool:
    """Return whether a series has a drift that one of the candidates of another drift could have caused."""
    documents = session.scalars(select(DriftRow.document).where(DriftRow.series_id == series_id)).all()
    ranges = [
        (document["last_good"] or document["previous_revision"], document["first_bad"] or document["revision"])
        for document in documents
    ]
    commits = {drift.good, drift.bad, *(commit for ends in ranges for commit in ends)}
    positions = _map_positions(session, series_id, commits)
    start, end = positions[drift.good], positions[drift.bad]
    return any(positions.get(good, start) < end and positions.get(bad, end) > start for good, bad in ranges)


def _map_positions(session: Session, series_id: int, commits: Collection[str]) -> dict[str, int]:
    """Return the positions of commits in the history of the subject of a series, of those that it has."""
    subject_id = select(Series.subject_id).where(Series.id == series_id).scalar_subquery()
    query = select(Revision.commit, Revision.position).where(
        Revision.subject_id == subject_id, Revision.commit.in_(commits)
    )
    return dict(session.execute(query).all())
