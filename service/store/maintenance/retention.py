"""Thins and reduces the reports of old runs, and thins or deletes old profiles; levels and drifts do not change."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, case, func, select, tuple_, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from runner.contract import Report
from service.errors import ServiceError
from service.rules.thinned_reports_and_profiles import reduce_report, thin_report
from service.schemas.history import Number
from service.store import profiles
from service.store.engine import bulk, table_partitions
from service.store.engine.database import Database
from service.store.models import Point, Run, Series, StoredReport, Subject
from service.store.runs import packed_levels
from service.store.runs.stored_reports import unpack_report
from service.store.series.encoded_samples import encode_samples
from service.store.series.points import select_points_by_run

_REPORTS_PER_TRANSACTION = 40
"""How many reports are written in one transaction, while new runs of the subject have to wait: about 100 ms."""
_COMPRESSION_LEVEL = 9
"""The best compression, because each report is written once, and nobody waits for it."""
_RUNS_PER_QUERY = 500
"""At most this many runs per query, because SQLite limits the number of parameters."""
_ESTIMATE_REPORTS = 200
"""How many reports are shrunk on trial to estimate how many bytes all of them would free."""


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """What retention removes from old runs. Each step applies to runs measured before a time; None skips the step.

    Attributes
    ----------
    thin_before
        Remove text from reports, and merge the lightest stacks of profiles.
    reduce_before
        Reduce each noisy metric of a run to its level and, if it is judged, its lowest and highest sample.
    delete_profiles_before
        Delete profiles.
    subjects
        Names of the affected subjects; empty for all.
    """

    thin_before: datetime | None = None
    reduce_before: datetime | None = None
    delete_profiles_before: datetime | None = None
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """The result, or the estimated result, of retention.

    Attributes
    ----------
    thinned, reduced
        Numbers of reports. A reduced report is not counted as thinned.
    profiles_thinned, profiles_deleted
        Numbers of profiles.
    freed
        Bytes by which reports, points and profiles shrink, without their overhead in the database.
    returned
        Bytes returned to the file system; 0 for SQLite, which reuses the space.
    """

    thinned: int = 0
    reduced: int = 0
    profiles_thinned: int = 0
    profiles_deleted: int = 0
    freed: int = 0
    returned: int = 0


Progress = Callable[[int, int], None]
"""Called with the number of reports done and the total number."""


class _ShrunkReport(NamedTuple):
    """The remaining content of a report.

    Attributes
    ----------
    remaining_samples
        The remaining samples of each metric that loses samples.
    """

    number: int
    document: bytes
    remaining_samples: Mapping[str, Sequence[Number]]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class _ShrinkStep:
    """A way to make reports smaller, for reports from before a time.

    Attributes
    ----------
    flag
        The column that marks the reports already shrunk in this way.
    """

    before: datetime
    flag: InstrumentedAttribute[bool]
    shrink_report: Callable[[Report], tuple[Report, Mapping[str, Sequence[Number]]]]
    """Returns the remaining content of a report, and the remaining samples of each reduced metric."""
    since: datetime | None = None
    """Only reports from this time on."""

    def shrink(self, number: int, document: bytes) -> _ShrunkReport:
        """Return the remaining content of a report."""
        report, remaining = self.shrink_report(unpack_report(document))
        packed_report = zlib.compress(report.model_dump_json(exclude_defaults=True).encode(), _COMPRESSION_LEVEL)
        return _ShrunkReport(number, packed_report, remaining, len(document) - len(packed_report))

    @property
    def conditions(self) -> tuple[ColumnElement[bool], ...]:
        """The conditions that select the reports to shrink: in the time range, and not yet flagged as shrunk."""
        since = [] if self.since is None else [Run.started_at >= self.since]
        return (Run.started_at < self.before, *since, self.flag.is_(False))


def apply_rule(
    database: Database, rule: RetentionRule, progress: Progress = lambda _done, _total: None
) -> RetentionResult:
    """Apply a rule while the service runs; after an interruption, the next call continues.

    Raises
    ------
    ServiceError
        If another process is already shrinking or deleting old runs.
    """
    with hold_retention_lock(database):
        return _apply_rule(database, rule, progress)


@contextmanager
def hold_retention_lock(database: Database) -> Iterator[None]:
    """Allow only one process at a time to shrink or delete old runs.

    Raises
    ------
    ServiceError
        If another process is doing this.
    """
    with database.run_exclusively("retention") as is_alone:
        if not is_alone:
            raise ServiceError(
                "Another command is already changing old runs", database.name, "Wait until that command has ended."
            )
        yield


def _apply_rule(database: Database, rule: RetentionRule, progress: Progress) -> RetentionResult:
    """Apply a rule: delete and thin profiles, then thin and reduce reports, and reclaim the space."""
    result = RetentionResult()
    if rule.delete_profiles_before:
        n_deleted, freed_bytes = profiles.delete_old_profiles(database, rule.delete_profiles_before, rule.subjects)
        result = replace(result, profiles_deleted=n_deleted, freed=freed_bytes)
    if rule.thin_before:
        n_thinned, freed_bytes = profiles.thin_old_profiles(database, rule.thin_before, rule.subjects)
        result = replace(result, profiles_thinned=n_thinned, freed=result.freed + freed_bytes)
    subject_ids = _read_subjects(database, rule)
    steps = _list_steps(rule)
    total = sum(_count_reports(database, step, subject_ids.values()) for step in steps)
    for step in steps:
        for name, subject_id in subject_ids.items():
            for n_reports, freed_bytes in _shrink_reports(database, step, name, subject_id):
                result = _add_step_to_result(result, step, n_reports, freed_bytes)
                # Further runs may have become old enough since they were counted.
                progress(result.thinned + result.reduced, max(total, result.thinned + result.reduced))
    return replace(result, returned=table_partitions.reclaim_space(database))


def estimate_rule(database: Database, rule: RetentionRule) -> RetentionResult:
    """Return the estimated result of a rule without changing anything, from a sample of the reports."""
    thinned, deleted, freed = profiles.count_old_profiles(
        database, rule.thin_before, rule.delete_profiles_before, rule.subjects
    )
    result = RetentionResult(profiles_thinned=thinned, profiles_deleted=deleted, freed=freed)
    subject_ids = _read_subjects(database, rule).values()
    for step in _list_steps(rule):
        count = _count_reports(database, step, subject_ids)
        with database.reading() as session:
            rows = session.execute(
                _select_stored_reports(step, subject_ids, one_in=max(1, count // _ESTIMATE_REPORTS))
            ).all()
            examples = [step.shrink(number, document) for _, number, document in rows]
            freed_by_examples = sum(example.freed_bytes for example in examples) + sum(
                point.freed_bytes for point in _list_smaller_points(session, examples)
            )
        estimated_bytes = freed_by_examples * count // len(examples) if examples else 0
        result = _add_step_to_result(result, step, count, estimated_bytes)
    return result


def _list_steps(rule: RetentionRule) -> list[_ShrinkStep]:
    """Return the steps of a rule: first the reduction of reports, then their thinning."""
    steps = []
    if rule.reduce_before:
        steps.append(_ShrinkStep(rule.reduce_before, StoredReport.reduced, reduce_report))
    if rule.thin_before:
        steps.append(_ShrinkStep(rule.thin_before, StoredReport.thinned, _thin_report, since=rule.reduce_before))
    return steps


def _thin_report(report: Report) -> tuple[Report, Mapping[str, Sequence[Number]]]:
    """Return a thinned report; the empty mapping says that no metric has lost samples."""
    return thin_report(report), {}


def _add_step_to_result(
    result: RetentionResult, step: _ShrinkStep, n_reports: int, freed_bytes: int
) -> RetentionResult:
    """Return the result with the number of reports that a step has shrunk, and the bytes that it has freed."""
    freed = result.freed + freed_bytes
    if step.flag is StoredReport.reduced:
        return replace(result, reduced=result.reduced + n_reports, freed=freed)
    return replace(result, thinned=result.thinned + n_reports, freed=freed)


def _read_subjects(database: Database, rule: RetentionRule) -> dict[str, int]:
    """Return the ids of the affected subjects, by name."""
    query = select(Subject.name, Subject.id).order_by(Subject.name)
    with database.reading() as session:
        return dict(session.execute(query.where(Subject.name.in_(rule.subjects)) if rule.subjects else query).all())


def _select_stored_reports(step: _ShrinkStep, subject_ids: Collection[int], one_in: int = 1) -> Any:
    """Return the query for the time, the number and the report of runs in order; only every ``one_in``-th run."""
    query = (
        select(Run.started_at, Run.number, StoredReport.document)
        .join(StoredReport, StoredReport.run_number == Run.number)
        .order_by(Run.started_at, Run.number)
    )
    conditions = Run.subject_id.in_(subject_ids), *step.conditions
    if one_in == 1:
        return query.where(*conditions)
    rank = func.row_number().over(order_by=(Run.started_at, Run.number))
    ranks = select(Run.number, rank.label("rank")).join(StoredReport, StoredReport.run_number == Run.number)
    ranked = ranks.where(*conditions).subquery()
    return query.where(Run.number.in_(select(ranked.c.number).where(ranked.c.rank % one_in == 0)))


def _count_reports(database: Database, step: _ShrinkStep, subject_ids: Collection[int]) -> int:
    """Return how many reports of subjects a step has to shrink."""
    query = select(func.count(StoredReport.run_number)).join(Run, StoredReport.run_number == Run.number)
    with database.reading() as session:
        return session.scalar(query.where(Run.subject_id.in_(subject_ids), *step.conditions)) or 0


def _shrink_reports(database: Database, step: _ShrinkStep, name: str, subject_id: int) -> Iterator[tuple[int, int]]:
    """Yield, for each transaction, the number of reports of a subject that were shrunk, and the bytes freed."""
    query = _select_stored_reports(step, [subject_id]).limit(_REPORTS_PER_TRANSACTION)
    last: tuple[datetime, int] | None = None
    while True:
        # Continue after the last report of the previous transaction, so that no report is read twice.
        next_rows = query if last is None else query.where(tuple_(Run.started_at, Run.number) > tuple_(*last))
        with database.reading() as session:
            rows = session.execute(next_rows).all()
        if not rows:
            return
        # Computed outside of the write lock, which is safe because a report never changes.
        shrunk_reports = [step.shrink(number, document) for _, number, document in rows]
        last = rows[-1].started_at, rows[-1].number
        with database.writing([name]) as session:
            freed = _write_reports(session, step, shrunk_reports)
        yield len(shrunk_reports), freed + sum(report.freed_bytes for report in shrunk_reports)


class _SmallerPoint(NamedTuple):
    """A point with the columns that change."""

    series_id: int
    run_number: int
    n: int
    samples: str | None
    freed_bytes: int


def _list_smaller_points(session: Session, reports: Collection[_ShrunkReport]) -> list[_SmallerPoint]:
    """Return the points that lose samples."""
    samples_by_run = {report.number: report.remaining_samples for report in reports if report.remaining_samples}
    if not samples_by_run:
        return []
    query = select_points_by_run(Series.id, Run.number, Series.metric, func.length(Point.samples))
    smaller_points = []
    for chunk in table_partitions.group_neighbours(samples_by_run, _RUNS_PER_QUERY):
        conditions = (
            Run.number.in_(chunk),
            Point.samples.is_not(None),
            *table_partitions.build_partition_conditions(session, chunk),
        )
        for series_id, number, name, size in session.execute(query.where(*conditions)):
            if name in samples_by_run[number]:
                _, n, samples = encode_samples(samples_by_run[number][name])
                smaller_points.append(_SmallerPoint(series_id, number, n, samples, size - len(samples or "")))
    return smaller_points


def _write_reports(session: Session, step: _ShrinkStep, reports: Collection[_ShrunkReport]) -> int:
    """Replace reports and the samples of their points by what remains of them; return the bytes freed in points."""
    # A reduced report is also thinned.
    flags = ["thinned", "reduced"] if step.flag is StoredReport.reduced else ["thinned"]
    columns = ["document", *flags]
    documents = [(report.number, report.document, *(True for _ in flags)) for report in reports]
    bulk.update_rows(session, bulk.get_table(StoredReport), columns, documents, key=["run_number"])
    points = _list_smaller_points(session, reports)
    point_rows = [(point.series_id, point.run_number, point.n, point.samples) for point in points]
    bulk.update_rows(session, bulk.get_table(Point), ["n", "samples"], point_rows, key=["series_id", "run_number"])
    packed_levels.write_levels(session, {point.run_number for point in points})
    _invalidate_caches(session, {point.series_id for point in points})
    freed_by_run = {report.number: report.freed_bytes for report in reports}
    for point in points:
        freed_by_run[point.run_number] += point.freed_bytes
    table_partitions.record_freed_space(session, freed_by_run)
    return sum(point.freed_bytes for point in points)


def _invalidate_caches(session: Session, series_ids: Iterable[int]) -> None:
    """Increase the versions of series, which invalidates their caches, without having them judged again.

    A series that was judged at its version counts as judged at the new version.
    """
    is_judged = Series.judged_version == Series.version
    judged_version = case((is_judged, Series.version + 1), else_=Series.judged_version)
    for chunk in bulk.split_into_chunks(sorted(series_ids), bulk.MAX_PARAMETERS):
        renewed = (
            update(Series).where(Series.id.in_(chunk)).values(version=Series.version + 1, judged_version=judged_version)
        )
        session.execute(renewed.execution_options(synchronize_session=False))
