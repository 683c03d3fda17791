"""Exports all stored data, row by row, so that it need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from uuid import UUID

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from runner.contract import Report, build_suite, get_metric
from runner.contract.quarantine import REUSED
from service.store.models import Case, Environment, Host, Point, Revision, Run, Series, StoredReport, Subject
from service.store.runs.stored_reports import unpack_report
from service.store.series.encoded_samples import decode_samples
from service.store.series.points import select_joined_points, select_points_by_run
from service.text.sample_rows import SampleRow, format_csv, format_json_lines

_ROWS_PER_FETCH = 1000
"""How many rows of the database are in memory at a time."""
_COLUMNS = (
    Run.id,
    Subject.name,
    Revision.commit,
    Revision.position,
    Revision.committed_at,
    Host.name,
    Environment.hash,
    Case.workload,
    Case.name,
    Case.definition,
    Series.metric,
    Point.status,
    Run.quarantine,
    Run.started_at,
    Point.value,
    Point.n,
    Point.samples,
)


def list_samples(
    session: Session, subject: str | None = None, runs: tuple[int, int] | None = None
) -> Iterator[SampleRow]:
    """Yield every sample of every point, series by series, in the order in which the runs arrived.

    A point without samples gives one row without a value.

    Parameters
    ----------
    runs
        Only runs with numbers above the first number and up to the second; None for all.
    """
    if runs is None:
        query = select_joined_points(*_COLUMNS).join(Series, Point.series_id == Series.id)
    else:
        query = select_points_by_run(*_COLUMNS).join(Run.revision).join(Run.environment)
        query = query.where(Run.number > runs[0], Run.number <= runs[1])
    if subject is not None:
        query = query.where(Subject.name == subject)
    query = query.join(Series.subject).join(Series.host).join(Series.case).order_by(Point.series_id, Point.run_number)
    query = query.execution_options(yield_per=_ROWS_PER_FETCH)
    for run_id, *columns, metric_name, status, quarantine, started_at, value, n, packed_samples in session.execute(
        query
    ):
        values = decode_samples(value, n, packed_samples)
        # The fields before and after the sample's own fields: its number, its value, and the level of the run.
        fields_before = (
            *(str(run_id), *columns, metric_name, get_metric(metric_name).unit),
            *(status.value, quarantine is not None, started_at),
        )
        fields_after = quarantine == REUSED, quarantine or ""
        if not values:
            yield SampleRow._make((*fields_before, None, None, None, *fields_after))
        for index, sample in enumerate(values):
            yield SampleRow._make((*fields_before, index, sample, value, *fields_after))


def list_reports(session: Session, subject: str | None = None) -> Iterator[Report]:
    """Yield every report as it is stored, in the order of arrival: retention may have thinned or reduced old ones."""
    query = select(StoredReport.document).join(Run, StoredReport.run_number == Run.number).order_by(Run.number)
    if subject is not None:
        query = query.join(Subject, Run.subject_id == Subject.id).where(Subject.name == subject)
    for document in session.scalars(query.execution_options(yield_per=_ROWS_PER_FETCH)):
        yield unpack_report(document)


def list_report_lines(session: Session, subject: str | None = None) -> Iterator[str]:
    """Yield every report as a JSON document on one line, which another service can ingest."""
    for report in list_reports(session, subject):
        yield report.model_dump_json(exclude_defaults=True) + "\n"


def list_suites(session: Session, subject: str | None = None) -> Iterator[tuple[UUID, str]]:
    """Yield the id of each run that can have a pyperf suite file, with the text of this file."""
    for report in list_reports(session, subject):
        suite = build_suite(report)
        if suite is not None:
            text = StringIO()
            suite.dump(text)
            yield report.run_id, text.getvalue()


def count_rows(session: Session, export_format: str, subject: str | None = None) -> int:
    """Return the number of rows of an export: samples for ``csv`` and ``jsonl``, reports for any other format."""
    if export_format in {"csv", "jsonl"}:
        # A point without values is one row.
        query = select(func.sum(case((Point.n == 0, 1), else_=Point.n))).join(Series, Point.series_id == Series.id)
        query = query.join(Series.subject)
    else:
        query = select(func.count(StoredReport.run_number)).join(Run, StoredReport.run_number == Run.number)
        query = query.join(Subject, Run.subject_id == Subject.id)
    if subject is not None:
        query = query.where(Subject.name == subject)
    return int(session.scalar(query) or 0)


def list_lines(session: Session, export_format: str, subject: str | None = None) -> Iterator[str]:
    """Return the lines of an export: samples as `csv` or `jsonl`, or whole `reports`."""
    if export_format == "csv":
        return format_csv(list_samples(session, subject))
    if export_format == "reports":
        return list_report_lines(session, subject)
    return format_json_lines(list_samples(session, subject))
