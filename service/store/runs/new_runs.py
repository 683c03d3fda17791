"""Inserts reports that are new: their runs, their points, and the newest level of their series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.orm import Session

from runner import contract
from service.rules.same_bytes import read_program_bytes
from service.store import shared_rows
from service.store.engine import bulk
from service.store.models import Point, Revision, Run, Series, StoredReport
from service.store.newest_levels import SERIES_COLUMNS, SeriesUpdate
from service.store.revisions import revisions
from service.store.runs.packed_levels import EncodedPoint, pack_levels
from service.store.runs.prepared_reports import NewRun, PreparedReport, SeriesGroup
from service.store.runs.run_counts import add_runs_to_counts

_CASES_PER_QUERY = 500
"""At most this many cases per query, because SQLite limits the number of parameters."""
_RUN_COLUMNS = (
    *("number", "id", "subject_id", "revision_id", "case_id", "host_id", "environment_id", "outcome"),
    *("failure_stage", "failure_message", "quarantine", "session", "started_at", "finished_at"),
    *("own_bytes", "system_bytes", "doubt_least", "doubt_most", "failure_temporary", "levels"),
)
_POINT_COLUMNS = ("series_id", "run_number", "status", "value", "n", "samples")


def insert_reports(session: Session, reports: Sequence[PreparedReport]) -> None:
    """Insert reports that are not stored yet, with their runs and points; update their series and the stored counts."""
    if not reports:
        return
    runs = _number_runs(session, reports)
    series = _get_or_create_series(session, runs)
    run_rows = [_build_run_row(run, series[run.group]) for run in runs]
    bulk.insert_rows(session, bulk.get_table(Run), _RUN_COLUMNS, run_rows)
    documents = [(run.number, run.prepared_report.document, False) for run in runs]
    bulk.insert_rows(session, bulk.get_table(StoredReport), ("run_number", "document", "thinned"), documents)
    add_runs_to_counts(session, runs)
    newest_reports: dict[int, contract.Report] = {}  # by series: its newest report decides how it is judged
    for run in runs:
        report = run.prepared_report.report
        series_of_group = series[run.group]
        number = run.number
        revision_id = run.revision_id
        is_judged = not report.quarantine
        for metric, status, value, n, samples in run.prepared_report.points:
            update = series_of_group[metric]
            update.points.append((update.id, number, status, value, n, samples))
            newest_report = newest_reports.get(update.id)
            if newest_report is None or report.started_at >= newest_report.started_at:
                newest_reports[update.id] = report
            if is_judged and value is not None:
                update.update_latest_level(value, revision_id, run.position, report.started_at)
    # Sorted by primary key, so that each page of the table is written once.
    updates = (update for series_of_group in series.values() for update in series_of_group.values() if update.points)
    changed_series = sorted(updates, key=attrgetter("id"))
    for update in changed_series:
        newest_report = newest_reports[update.id]
        update.update_judging(newest_report.judging, newest_report.started_at)
    points = chain.from_iterable(update.points for update in changed_series)
    bulk.insert_rows(session, bulk.get_table(Point), _POINT_COLUMNS, points, encoded_columns=_POINT_COLUMNS)
    bulk.update_rows(
        session,
        bulk.get_table(Series),
        SERIES_COLUMNS,
        [update.as_update_row() for update in changed_series],
        encoded_columns=("latest",),
    )


def _number_runs(session: Session, batch: Sequence[PreparedReport]) -> list[NewRun]:
    """Return the runs with numbers, and with the ids of the rows to which they refer; insert missing rows."""
    reports = [prepared.report for prepared in batch]
    subjects = shared_rows.ensure_subjects(session, dict.fromkeys(report.subject for report in reports))
    shared_ids = shared_rows.ensure_shared_rows(
        session,
        dict.fromkeys(report.host.name for report in reports),
        {prepared.case: prepared.report.case for prepared in batch},
        {prepared.environment: prepared.report.environment for prepared in batch},
    )
    commits = {
        name: revisions.ensure_commits(
            session, subject_id, (report.revision for report in reports if report.subject == name)
        )
        for name, subject_id in subjects.items()
    }
    runs: list[NewRun] = []
    for number, prepared in zip(bulk.reserve_run_numbers(session, len(batch)), batch, strict=True):
        report = prepared.report
        revision_id, position = commits[report.subject][report.revision.commit]
        group = SeriesGroup(
            subjects[report.subject], shared_ids.hosts[report.host.name], shared_ids.cases[prepared.case]
        )
        environment_id = shared_ids.environments[prepared.environment]
        runs.append(NewRun(number, group, revision_id, position, environment_id, prepared))
    return runs


def _build_run_row(run: NewRun, series: Mapping[str, SeriesUpdate]) -> tuple[object, ...]:
    """Return the values of a run's row, in the order of ``_RUN_COLUMNS``; ``series`` are those of its points."""
    report = run.prepared_report.report
    failure = (report.failure.stage, report.failure.message) if report.failure else (None, None)
    subject_id, host_id, case_id = run.group
    return (
        *(run.number, report.run_id, subject_id, run.revision_id, case_id, host_id, run.environment_id),
        *(report.outcome, *failure, report.quarantine or None, report.session, report.started_at, report.finished_at),
        *(value or None for value in read_program_bytes(report)),
        report.failure.temporary if report.failure else None,
        pack_levels(
            EncodedPoint(point.metric, series[point.metric].id, point.status, point.n, point.value, point.samples)
            for point in run.prepared_report.points
        ),
    )


_SeriesByMetric = dict[str, SeriesUpdate]
"""The series of one group."""


def _get_or_create_series(session: Session, runs: Iterable[NewRun]) -> dict[SeriesGroup, _SeriesByMetric]:
    """Return the series of the points of these runs; new ones are inserted in the order of the runs."""
    metrics_by_group: dict[SeriesGroup, dict[str, None]] = {}
    for run in runs:
        metrics_by_group.setdefault(run.group, {}).update(
            dict.fromkeys(point.metric for point in run.prepared_report.points)
        )
    series = _find_series(session, metrics_by_group)
    rows_to_insert = [
        {**group._asdict(), "metric": metric, "version": 0, "judged_version": 0, "n_points": 0, "judged": False}
        for group, metrics in metrics_by_group.items()
        for metric in metrics
        if metric not in series[group]
    ]
    if not rows_to_insert:
        return series
    ids = bulk.reserve_series_ids(session, len(rows_to_insert))
    if ids is not None:
        rows_to_insert = [{"id": number, **row} for number, row in zip(ids, rows_to_insert, strict=True)]
    bulk.insert_missing_rows(session, bulk.get_table(Series), rows_to_insert)
    return _find_series(session, metrics_by_group)


def _find_series(session: Session, groups: Iterable[SeriesGroup]) -> dict[SeriesGroup, _SeriesByMetric]:
    """Return the stored series of the given groups, by group and metric."""
    series: dict[SeriesGroup, _SeriesByMetric] = {group: {} for group in groups}
    # By the ids of subject and host: the series of each case, by its id.
    series_of_cases: dict[tuple[int, int], dict[int, _SeriesByMetric]] = {}
    for group, series_by_metric in series.items():
        series_of_cases.setdefault((group.subject_id, group.host_id), {})[group.case_id] = series_by_metric
    for (subject_id, host_id), series_by_case in series_of_cases.items():
        for chunk in bulk.split_into_chunks(series_by_case, _CASES_PER_QUERY):
            rows = session.connection().execute(  # twice as fast as through the session
                select(
                    *(Revision.position, Series.case_id, Series.latest_at, Series.metric, Series.id, Series.version),
                    *(Series.n_points, type_coerce(Series.latest, Text), Series.latest_revision_id),
                    *(Series.judged, Series.budget),
                )
                .outerjoin(Revision, Series.latest_revision_id == Revision.id)
                .where(Series.subject_id == subject_id, Series.host_id == host_id, Series.case_id.in_(chunk))
            )
            for position, case_id, measured_at, metric, *columns in rows:
                series_by_case[case_id][metric] = SeriesUpdate(metric, position, measured_at, *columns)
    return series
