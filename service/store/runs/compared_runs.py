"""The runs and points that a comparison of stored runs reads."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, func, or_, select, true, type_coerce
from sqlalchemy.orm import Session

from runner.contract import Outcome, Status
from service.rules.comparison.compare_stored_runs import ByRun, DriftSummary, SideReadings, summarise_drift
from service.rules.comparison.run_pairing import ComparableRun, Pair
from service.rules.series.candidate_commits import collect_history
from service.rules.series.path_and_branches import Branches
from service.store.engine import bulk, table_partitions
from service.store.models import Case, DriftRow, Environment, Host, Point, Revision, Run, Series, Subject
from service.store.revisions import named_commits, revisions
from service.store.runs import runs as runs_store
from service.store.runs.packed_levels import PACKED_METRICS, unpack_levels
from service.store.series import points, pool_environments
from service.store.series.trend_points import read_points_on_trend

Kind = Literal["revision", "run", "environment", "host"]

MAX_RUNS = 1000
"""At most this many of the newest runs of a side are read."""
_RUNS_PER_QUERY = 1000
"""One query reads the points of at most this many runs."""
_MIN_HASH_CHARACTERS = 4
"""At least this many characters of a hash are needed to select it."""
_MAX_ENVIRONMENTS = 5
"""At most this many environments are returned for a part of a hash, which is ambiguous if there are two or more."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison."""

    kind: Kind
    key: str
    """Its key in addresses."""
    title: str
    subject: str | None = None
    committed_at: datetime | None = None
    """When the commit was made; None if the side is not a commit."""


def find_sides(session: Session, text: str, subject: str | None = None) -> list[Side]:
    """Return the sides that a text can name: by a commit, a run's id, an environment's hash or a host's name.

    A commit is named by a tag, a branch, a date or a part of its hash: see
    :func:`service.store.revisions.named_commits.find_commits`.

    The text may begin with the kind: ``host:lab-1``.
    """
    kind, colon, name = text.strip().partition(":")
    finders = {"run": _find_run, "host": _find_host, "environment": _find_environments, "revision": _find_revisions}
    has_kind = bool(colon) and kind in finders
    key = name if has_kind else text.strip()
    finders_to_try = [finders[kind]] if has_kind else list(finders.values())
    return [side for finder in finders_to_try for side in finder(session, key, subject)]


def narrow_to_common_subject(base: list[Side], head: list[Side]) -> tuple[list[Side], list[Side]]:
    """Return the sides of the only subject in which both texts name something; all sides if there is no such subject.

    So a date, which names a commit of each subject, needs no subject beside a branch that only one of them has.
    """
    common_subjects = ({side.subject for side in base} & {side.subject for side in head}) - {None}
    if len(common_subjects) != 1:
        return base, head
    (subject,) = common_subjects
    return [side for side in base if side.subject == subject], [side for side in head if side.subject == subject]


class SideRuns(NamedTuple):
    """The runs of one side, with their packed levels by run number; runs of an older version have none."""

    runs: list[ComparableRun]
    levels: dict[int, str]


def list_runs(session: Session, side: Side, host: str | None = None, workload: str | None = None) -> SideRuns:
    """Return the measured runs of a side that are not in quarantine: at most :data:`MAX_RUNS`, the newest.

    Parameters
    ----------
    host, workload
        If given, only the runs of this host or workload.
    """
    # The newest runs of an environment or a host are read in the order of an index. No index has this order for a
    # revision, which has few runs; the sum keeps the database from reading all runs in the order of their numbers.
    newest_first = (Run.started_at if side.kind in {"environment", "host"} else Run.number + 0).desc()
    conditions = [_build_side_condition(session, side), Run.outcome == Outcome.MEASURED, Run.quarantine.is_(None)]
    if host:
        conditions.append(Host.name == host)
    if workload:
        conditions.append(Case.workload == workload)
    query = runs_store.select_joined_runs(
        Run.levels,
        Run.id,
        Run.number,
        Subject.name,
        Case.name,
        Case.key,
        Host.name,
        Environment.hash,
        Revision.commit,
        Revision.title,
        Revision.position,
        Run.started_at,
    )
    rows = session.connection().execute(query.where(*conditions).order_by(newest_first).limit(MAX_RUNS)).all()
    runs = [ComparableRun._make(columns) for _, *columns in rows]
    levels = {run.number: packed_levels for run, (packed_levels, *_) in zip(runs, rows, strict=True)}
    return SideRuns(
        runs, {number: packed_levels for number, packed_levels in levels.items() if packed_levels is not None}
    )


def read_version(session: Session, sides: Sequence[Side]) -> Hashable | None:
    """Return a value that changes whenever the comparison of two commits changes; None for other sides.

    Stored runs never change, but further runs arrive, and drifts are detected between them.
    """
    if any(side.kind != "revision" for side in sides):
        return None
    is_of_sides = or_(*((Revision.commit == side.key) & (Subject.name == side.subject) for side in sides))
    query = (
        select(Revision.id, Revision.position, func.count(Run.number), func.max(Run.number))
        .join(Subject, Revision.subject_id == Subject.id)
        .outerjoin(Run, Run.revision_id == Revision.id)
        .group_by(Revision.id, Revision.position)
        .order_by(Revision.id)
    )
    rows = session.connection().execute(query.where(is_of_sides)).all()
    drifts_version = session.scalar(select(func.sum(Subject.drifts_version)))
    return (*map(tuple, rows), drifts_version)


def read_readings(
    session: Session, run_numbers: Iterable[int], metrics: Collection[str] | None, levels: Mapping[int, str]
) -> dict[int, dict[str, SideReadings]]:
    """Return the readings of runs by run number and metric, for the given metrics or for all.

    They come from the packed levels of the runs if these hold the metrics; otherwise, from the points.

    Parameters
    ----------
    metrics
        The metrics; None for all.
    levels
        The packed levels, by the number of the run.
    """
    numbers = set(run_numbers)
    if metrics is None or not PACKED_METRICS.issuperset(metrics):
        return _read_points(session, numbers, metrics)
    unpacked_levels = unpack_levels({number: levels[number] for number in numbers if number in levels}, metrics)
    return unpacked_levels | _read_points(session, numbers - unpacked_levels.keys(), metrics)


def _read_points(
    session: Session, run_numbers: Collection[int], metrics: Collection[str] | None
) -> dict[int, dict[str, SideReadings]]:
    """Return the readings of runs from their points."""
    rows: list[Any] = []
    for chunk in table_partitions.group_neighbours(run_numbers, _RUNS_PER_QUERY):
        query = _select_points(session, chunk)
        if metrics is not None:
            query = query.where(Series.metric.in_(metrics))
        rows += session.connection().execute(query).all()  # twice as fast as through the session
    # The levels are parsed all at once. If all samples of a point equal its level, they are not stored.
    levels = json.loads(f"[{','.join([level_text or 'null' for *_, level_text, _samples in rows])}]")
    readings_by_run: dict[int, dict[str, SideReadings]] = defaultdict(dict)
    for (run, series, metric, counted, n, _level_text, samples), level in zip(rows, levels, strict=True):
        readings_by_run[run][metric] = SideReadings(samples or (level,) * n, n, level, counted, series)
    return readings_by_run


def _select_points(session: Session, run_numbers: Sequence[int]) -> Select[Any]:
    """Return the query for the points of runs with neighbouring numbers."""
    # Levels are read as text, so that thousands of them can be parsed all at once.
    columns = (Point.status == Status.COUNTED, Point.n, type_coerce(Point.value, Text), Point.samples)
    is_in_runs = bulk.is_among(session, Run.number, run_numbers)
    if session.get_bind().dialect.name != "postgresql":
        return points.select_points_by_run(Run.number, Series.id, Series.metric, *columns).where(is_in_runs)
    # The OFFSET makes PostgreSQL look up each point by the primary key, because it does not flatten a subquery with it.
    # Otherwise it would overestimate the number of runs, and read all runs stored between them.
    first_point = (
        select(*(column.label(f"column_{number}") for number, column in enumerate(columns)))
        .where(
            Point.series_id == Series.id,
            Point.run_number == Run.number,
            *table_partitions.build_partition_conditions(session, run_numbers),
        )
        .correlate(Series, Run)
        .offset(0)
        .lateral()
    )
    points_of_run = (
        select(Run.number, Series.id, Series.metric, *first_point.c).select_from(Run).join(Series, points.SERIES_OF_RUN)
    )
    return points_of_run.join(first_point, true()).where(is_in_runs)


def map_drifts_between(
    session: Session, pairs: Sequence[Pair], readings_by_run: ByRun
) -> dict[int, list[DriftSummary]]:
    """Return the drifts that can lie between the two sides of a pair, by the id of their series.

    Parameters
    ----------
    readings_by_run
        The readings of the runs of all pairs.
    """
    # All runs of one side of a pair are of the same commit: the newest run, at index 0, stands for them.
    positions = [runs[0].position for pair in pairs for runs in (pair.base, pair.head)]
    first_position, last_position = min(positions, default=0), max(positions, default=0)
    before = DriftRow.document["environment_before"].as_string()
    after = DriftRow.document["environment_after"].as_string()
    # The sides may be runs of one commit in two environments: a change of environment lies at no position between them.
    query = (
        select(DriftRow.series_id, DriftRow.position, DriftRow.document)
        .where(((DriftRow.position > first_position) & (DriftRow.position <= last_position)) | (before != after))
        .order_by(DriftRow.position, DriftRow.id)
    )
    is_compared = bulk.is_among(session, DriftRow.series_id, _collect_series(pairs, readings_by_run))
    rows = session.connection().execute(query.where(is_compared)).all()
    stand_ins = _map_stand_ins(session, pairs, {series for series, _, _ in rows})
    drifts_by_series: dict[int, list[DriftSummary]] = {}
    for series, position, document in rows:
        drifts_by_series.setdefault(series, []).append(summarise_drift(position, document, stand_ins.get(series, {})))
    return drifts_by_series


def list_judged_series(session: Session, pairs: Sequence[Pair], readings_by_run: ByRun) -> set[int]:
    """Return the compared series in which all drifts are known: they are judged, and have no newer point."""
    is_compared = bulk.is_among(session, Series.id, _collect_series(pairs, readings_by_run))
    is_judged = Series.judged.is_(True) & (Series.judged_version == Series.version)
    return set(session.scalars(select(Series.id).where(is_compared, is_judged)))


def _collect_series(pairs: Iterable[Pair], readings_by_run: ByRun) -> set[int]:
    """Return the series of the base runs of pairs."""
    base_runs = (run.number for pair in pairs for run in pair.base)
    sides = (side for number in base_runs for side in readings_by_run.get(number, {}).values())
    return {side.series for side in sides if side.series is not None}


def map_histories(session: Session, pairs: Iterable[Pair]) -> dict[str, frozenset[str]]:
    """Return the commits that each commit of the pairs contains, from the oldest of them on.

    Empty if these commits are on one line, so that their positions say which commits lie between two of them.
    """
    commits_of_subject: dict[str, dict[str, int]] = defaultdict(dict)
    # All runs of one side of a pair are of the same commit: the newest run, at index 0, stands for them.
    for run in {runs[0] for pair in pairs for runs in (pair.base, pair.head)}:
        commits_of_subject[run.subject][run.revision] = run.position
    histories: dict[str, frozenset[str]] = {}
    for subject, positions in commits_of_subject.items():
        subject_id = session.scalars(select(Subject.id).where(Subject.name == subject)).one()
        parents = revisions.map_parents(session, subject_id, min(positions.values()))
        if not Branches(parents, ()).is_single_line:
            histories |= {commit: collect_history(parents, commit) for commit in positions}
    return histories


def _map_stand_ins(session: Session, pairs: Iterable[Pair], series: Collection[int]) -> dict[int, dict[str, str]]:
    """Return, by series id, the environment that stands for each environment of a pool.

    Only environments of a pool, whose machines are interchangeable, can be equivalent; empty if no run is of a pool.
    """
    environments = {run.environment for pair in pairs for run in (*pair.base, *pair.head)}
    if not series or not pool_environments.read_pool_settings(session, environments):
        return {}  # most hosts are single machines, so that no points have to be read
    return pool_environments.map_stand_ins(session, read_points_on_trend(session, series))


def _build_side_condition(session: Session, side: Side) -> ColumnElement[bool]:
    """Return the condition that selects the runs of a side, by ids, so that the database uses the column's index."""
    if side.kind == "run":
        return Run.id == UUID(side.key)
    if side.kind == "revision":
        revision = select(Revision.id).join(Subject, Revision.subject_id == Subject.id)
        commit_query = revision.where(Revision.commit == side.key, Subject.name == side.subject)
        return Run.revision_id == session.scalar(commit_query)
    if side.kind == "environment":
        return Run.environment_id == session.scalar(select(Environment.id).where(Environment.hash == side.key))
    return Run.host_id == session.scalar(select(Host.id).where(Host.name == side.key))


def _find_run(session: Session, key: str, _: str | None) -> list[Side]:
    """Return the run with this id as the only side; empty if there is none."""
    try:
        run_id = UUID(key)
    except ValueError:
        return []
    row = session.execute(
        select(Run.id, Case.name, Revision.commit, Subject.name)
        .join(Run.case)
        .join(Run.revision)
        .join(Run.subject)
        .where(Run.id == run_id)
    ).first()
    if row is None:
        return []
    stored_id, case, commit, subject = row
    return [Side("run", str(stored_id), f"{case} at {commit[:10]}", subject)]


def _find_host(session: Session, key: str, _: str | None) -> list[Side]:
    """Return the host with this name as the only side; empty if there is none."""
    return [Side("host", name, name) for name in session.scalars(select(Host.name).where(Host.name == key))]


def _find_environments(session: Session, key: str, _: str | None) -> list[Side]:
    """Return the environments whose hash has this prefix as sides of a comparison."""
    if len(key) < _MIN_HASH_CHARACTERS:
        return []
    query = select(Environment.hash).where(Environment.hash.startswith(key.lower(), autoescape=True))
    hashes = session.scalars(query.limit(_MAX_ENVIRONMENTS))
    return [Side("environment", environment, environment) for environment in hashes]


def _find_revisions(session: Session, key: str, subject: str | None) -> list[Side]:
    """Return the commits that a text can name as sides of a comparison."""
    return [
        Side("revision", entry.commit, entry.title or entry.commit[:10], entry.subject, entry.committed_at)
        for entry in named_commits.find_commits(session, key, subject)
    ]
