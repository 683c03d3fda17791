"""Ingests batches of reports; each is stored once and never changed.

:func:`prepare_reports` does the slow part before the database is accessed, so that other writers wait only while rows
are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Reading, Report, Status
from service.rules.series.run_level import compute_run_level
from service.store import shared_rows
from service.store.engine import bulk, table_partitions
from service.store.engine.database import Database
from service.store.models import Run, StoredReport
from service.store.runs import new_runs
from service.store.runs.fast_parse import PlainReport
from service.store.runs.prepared_reports import PreparedPoint, PreparedReport
from service.store.runs.same_report import is_same_report
from service.store.runs.stored_reports import pack_report
from service.store.series.encoded_samples import encode_samples

_COUNTED_STATUS = Status.COUNTED.value
_IDS_PER_QUERY = 500
"""At most this many ids per query, because SQLite limits the number of parameters."""
_POINTS_PER_TRANSACTION = 5_000
"""Storing this many points takes about 40 ms."""


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The result of ingesting a batch of reports."""

    created_ids: frozenset[UUID]
    conflicting_ids: tuple[UUID, ...]
    """Ids that different reports already have; the stored reports are kept, because a run never changes."""


def ingest_reports(database: Database, reports: Iterable[Report | PlainReport]) -> IngestResult:
    """Store reports, a large batch in several transactions, so that no other writer has to wait for the whole batch."""
    created_ids: set[UUID] = set()
    conflicting_ids: list[UUID] = []
    with database.ingesting():
        table_partitions.ensure_partitions(database)
        for batch in split_batch_into_parts(prepare_reports(reports)):
            subjects = {prepared.report.subject for prepared in batch}
            result = database.write(subjects, partial(store_reports, reports=batch))
            created_ids |= result.created_ids
            conflicting_ids += result.conflicting_ids
    return IngestResult(frozenset(created_ids), tuple(conflicting_ids))


def prepare_reports(reports: Iterable[Report | PlainReport]) -> list[PreparedReport]:
    """Compute the rows of reports, which takes longer than storing them."""
    # Hashes are slow, so each case is hashed once, and an environment only if the report before has another one.
    case_keys: dict[tuple[str, str, str], str] = {}
    previous_settings: dict[str, str] | None = None
    prepared_reports = []
    for report in reports:
        head = report.head if isinstance(report, PlainReport) else report
        case = head.case.workload, head.case.definition, repr(head.case.parameters)
        if case not in case_keys:
            case_keys[case] = shared_rows.make_case_key(head.case)
        if head.environment.settings != previous_settings:
            previous_settings, environment = head.environment.settings, head.environment.hash
        # A run with settings that a search tried would be noise in the series of its environment.
        points = () if head.experimental else tuple(_prepare_points(report))
        prepared_reports.append(PreparedReport(head, case_keys[case], environment, pack_report(report), points))
    return prepared_reports


def split_batch_into_parts(
    reports: Iterable[PreparedReport], max_points: int = _POINTS_PER_TRANSACTION
) -> Iterator[list[PreparedReport]]:
    """Split a batch into parts of about ``max_points`` points, case by case, because a series is adjacent on disk."""
    batch: list[PreparedReport] = []
    n_points = 0
    for report in sorted(reports, key=attrgetter("case")):
        if batch and n_points + len(report.points) > max_points:
            yield batch
            batch, n_points = [], 0
        batch.append(report)
        n_points += len(report.points) + 1  # storing a report without points also takes time
    if batch:
        yield batch


def store_reports(session: Session, reports: Sequence[PreparedReport]) -> IngestResult:
    """Store the reports that are new, with their points; a stored report is never replaced."""
    new_reports: dict[UUID, PreparedReport] = {}
    conflicting_ids: list[UUID] = []
    # If reports of one request have the same id, the first one counts.
    for report in reports:
        first_report = new_reports.setdefault(report.report.run_id, report)
        if not is_same_report(report.document, first_report.document):
            conflicting_ids.append(report.report.run_id)
    for chunk in bulk.split_into_chunks(list(new_reports), _IDS_PER_QUERY):
        stored_query = (
            select(Run.id, StoredReport.document, StoredReport.thinned, StoredReport.reduced)
            .join(StoredReport, StoredReport.run_number == Run.number)
            .where(Run.id.in_(chunk))
        )
        # A report with a stored id is not new: it is equal to the stored report, or conflicts with it.
        for run_id, document, thinned, reduced in session.execute(stored_query):
            if not is_same_report(new_reports.pop(run_id).document, document, thinned=thinned, reduced=reduced):
                conflicting_ids.append(run_id)
    new_runs.insert_reports(session, list(new_reports.values()))
    return IngestResult(frozenset(new_reports), tuple(conflicting_ids))


def _prepare_points(report: Report | PlainReport) -> Iterator[PreparedPoint]:
    """Yield a point for each metric of a report, encoded as the columns of its row."""
    if isinstance(report, PlainReport):
        for name, values in report.values.items():
            level, n, samples = encode_samples(values)
            yield PreparedPoint(name, _COUNTED_STATUS, level, n, samples)
        return
    readings_by_metric: dict[str, list[Reading]] = {}
    for sample in report.samples:
        for name, reading in sample.readings.items():
            readings_by_metric.setdefault(name, []).append(reading)
    for name, readings in readings_by_metric.items():
        status, _, values = compute_run_level(readings)
        yield PreparedPoint(name, status.value, *encode_samples(values))
