"""Finds the hosts that have no drift of an event: they did not move, or did not measure both sides of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from service.rules.events.grouping import do_overlap
from service.rules.events.unmoved_hosts import ComparedSeries, choose_unmoved_hosts, list_unmeasured_hosts
from service.schemas.history import Drift, Number
from service.schemas.triage import UnmovedHost
from service.store.engine import bulk
from service.store.models import Case, DriftRow, Host, Point, Revision, Run, Series
from service.store.series.points import IS_ON_TREND

_MAX_DRIFTS = 100
"""Only so many drifts of an event, the first ones, are looked for on other hosts."""

_MAX_COMMITS_PER_QUERY = 500


class _OtherSeries(NamedTuple):
    """The metric and the case of a drift on a host that has no drift of the event."""

    series_id: int
    host: str
    case: str
    subject_id: int
    drifting_series: int


class OtherHosts(NamedTuple):
    """The hosts that measure cases of an event, but have no drift of it.

    Attributes
    ----------
    unmoved
        Those that measured some of its cases before and after, and did not move.
    unmeasured
        Those that measured none of its cases on both sides, by name.
    """

    unmoved: list[UnmovedHost]
    unmeasured: list[str]


def compare_other_hosts(session: Session, drifts: Sequence[Drift]) -> OtherHosts:
    """Return what hosts without a drift of an event say about it.

    A drift whose two sides are the same commit does not count: there, only a setting of its own host differs.

    Parameters
    ----------
    drifts
        The drifts of an event that are still detected, the most important first.
    """
    drift_of_series = {drift.series_id: drift for drift in drifts[:_MAX_DRIFTS] if drift.good != drift.bad}
    others = _list_other_series(session, drift_of_series.keys(), {drift.host for drift in drifts})
    if not others:
        return OtherHosts([], [])
    ranges = _list_ranges_of_drifts(session, [other.series_id for other in others])
    commits = {commit for drift in drift_of_series.values() for commit in (drift.good, drift.bad)}
    levels = _read_levels(session, [other.series_id for other in others], commits)
    commits |= {commit for ends in ranges.values() for end in ends for commit in end}
    positions = _map_positions(session, others[0].subject_id, commits)
    importance = {series_id: number for number, series_id in enumerate(drift_of_series)}
    compared = []
    for other in sorted(others, key=lambda other: importance[other.drifting_series]):
        drift = drift_of_series[other.drifting_series]
        before, after = (levels.get((other.series_id, commit)) for commit in (drift.good, drift.bad))
        if before is not None and after is not None:
            moved = _can_have_moved(ranges.get(other.series_id, ()), (drift.good, drift.bad), positions)
            compared.append(ComparedSeries(other.host, other.series_id, other.case, before, after, moved))
    return OtherHosts(choose_unmoved_hosts(compared), list_unmeasured_hosts((other.host for other in others), compared))


def _list_other_series(session: Session, series_ids: Collection[int], hosts: Collection[str]) -> list[_OtherSeries]:
    """Return the judged series with the metric, case and subject of some series on other hosts than the given ones."""
    own = aliased(Series)
    query = (
        select(Series.id, Host.name, Case.name, Series.subject_id, own.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .join(
            own,
            (own.case_id == Series.case_id) & (own.subject_id == Series.subject_id) & (own.metric == Series.metric),
        )
        .where(bulk.is_among(session, own.id, series_ids), Host.name.not_in(hosts), Series.judged)
        .order_by(Host.name, Series.id)
    )
    return [_OtherSeries(*row) for row in session.execute(query)]


def _read_levels(
    session: Session, series_ids: Collection[int], commits: Collection[str]
) -> dict[tuple[int, str], Number]:
    """Return the newest value of some series at some commits, by the series and the commit."""
    query = (
        select(Series.id, Revision.commit, Point.value)
        .select_from(Revision)
        .join(Run, Run.revision_id == Revision.id)
        .join(Series, (Series.subject_id == Run.subject_id) & (Series.host_id == Run.host_id))
        .join(Point, (Point.series_id == Series.id) & (Point.run_number == Run.number))
        .where(
            Revision.commit.in_(commits), Series.case_id == Run.case_id, bulk.is_among(session, Series.id, series_ids)
        )
        .where(IS_ON_TREND)
        .order_by(Run.started_at)
    )
    return {(series_id, commit): value for series_id, commit, value in session.execute(query) if value is not None}


def _list_ranges_of_drifts(session: Session, series_ids: Collection[int]) -> dict[int, list[tuple[str, str]]]:
    """Return the last commit before and the newest candidate of each drift of some series, by series."""
    query = select(DriftRow.series_id, DriftRow.document).where(bulk.is_among(session, DriftRow.series_id, series_ids))
    ranges: dict[int, list[tuple[str, str]]] = {}
    for series_id, document in session.execute(query):
        good, bad = document["last_good"] or document["previous_revision"], document["first_bad"]
        ranges.setdefault(series_id, []).append((good, bad or document["revision"]))
    return ranges


def _map_positions(session: Session, subject_id: int, commits: Collection[str]) -> dict[str, int]:
    """Return the positions of commits in the history of a subject, of those that it has."""
    positions: dict[str, int] = {}
    for chunk in bulk.split_into_chunks(sorted(commits), _MAX_COMMITS_PER_QUERY):
        query = select(Revision.commit, Revision.position).where(
            Revision.subject_id == subject_id, Revision.commit.in_(chunk)
        )
        positions |= dict(session.execute(query).all())
    return positions


def _can_have_moved(
    ranges: Collection[tuple[str, str]], own_range: tuple[str, str], positions: Mapping[str, int]
) -> bool:
    """Return whether a drift between some commits can have been caused by a commit of another range.

    The first commit of each range is the last one before its candidates.
    """
    start, end = (positions[commit] for commit in own_range)
    return any(
        do_overlap((positions.get(good, start) + 1, positions.get(bad, end)), (start + 1, end)) for good, bad in ranges
    )
