"""Detects shifts of whole suites: simultaneous changes of many series, too small to be detected in one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from runner.contract import CATALOGUE
from runner.contract.report import hash_document
from service.pipeline import update_events
from service.pipeline.judging_schedule import are_all_judged
from service.rules import detect
from service.rules.detect.pooled_shift import MAX_HISTORY_POINTS
from service.rules.series import suite_shift_drift
from service.rules.series.candidate_commits import list_commits_between
from service.rules.series.point_order import Points
from service.schemas import history as views
from service.store.engine import bulk
from service.store.engine.database import Database
from service.store.models import DriftRow, EnvironmentCount, Host, Revision, Run, Series, Subject, SuiteCheck
from service.store.revisions import revisions
from service.store.series import points
from service.store.series.history_window import find_history_window
from service.store.series.series import SeriesFilter
from service.store.series.trend_points import arrange_trends

_JUDGED_METRICS = [name for name, entry in CATALOGUE.items() if entry.judged]
_SERIES_PER_QUERY = 50
_MAX_REVISIONS = MAX_HISTORY_POINTS + 32
"""How many of the newest revisions are read: more than are judged, because not every case is measured at each one."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A revision that a host measured, and the measured revision before it."""

    subject: Subject
    host: Host
    newest_revision: Revision
    previous_revision: Revision


def detect_shifts(database: Database) -> None:
    """Check the newest revision of each subject on each host once, when all its cases are measured and judged."""
    with database.reading() as session:
        due_suites = list(_select_due_suites(session))
    # Judge the series first, because a series with a drift of its own is left out.
    subjects = {suite.subject.name for suite, _ in due_suites}
    judged_subjects = {name for name in subjects if are_all_judged(database, [SeriesFilter(subject=name)])}
    due_suites = [(suite, metric) for suite, metric in due_suites if suite.subject.name in judged_subjects]
    for suite, metric in due_suites:
        with database.reading() as session:
            shift = _detect_suite_shift(session, suite, metric)
        with database.writing([suite.subject.name]) as session:
            _store_shift(session, suite, metric, shift)
    if due_suites:
        update_events.update_events(database)


def _select_due_suites(session: Session) -> Iterator[tuple[Suite, str]]:
    """Yield each complete suite with each metric for which it has to be checked."""
    for suite in _list_suites(session):
        metrics = _list_unchecked_metrics(session, suite)
        if metrics and _is_complete(session, suite):
            yield from ((suite, metric) for metric in metrics)


def _list_suites(session: Session) -> Iterator[Suite]:
    """Yield the two newest revisions of each subject that each host has measured for the history."""
    subject_hosts = select(EnvironmentCount.subject_id, EnvironmentCount.host_id).distinct()
    for subject_id, host_id in session.execute(subject_hosts.order_by("subject_id", "host_id")).all():
        subject, host = session.get_one(Subject, subject_id), session.get_one(Host, host_id)
        runs = select(Run.number).where(Run.revision_id == Revision.id, Run.host_id == host_id, points.IS_ON_TREND)
        has_run = runs.exists()
        revisions_query = select(Revision).where(Revision.subject_id == subject_id, has_run)
        newest_revisions = session.scalars(revisions_query.order_by(Revision.position.desc()).limit(2)).all()
        if len(newest_revisions) == 2:  # a single one has no predecessor with which it could be compared
            yield Suite(subject, host, *newest_revisions)


def _is_complete(session: Session, suite: Suite) -> bool:
    """Return whether all cases of the previous revision were run at the newest one."""
    return _list_cases(session, suite.previous_revision, suite.host) <= _list_cases(
        session, suite.newest_revision, suite.host
    )


def _list_cases(session: Session, revision: Revision, host: Host) -> set[int]:
    """Return the cases that were run at a revision for the history, with any outcome."""
    is_of_revision = Run.revision_id == revision.id, Run.host_id == host.id
    return set(session.scalars(select(Run.case_id).where(*is_of_revision, points.IS_ON_TREND)))


def _list_unchecked_metrics(session: Session, suite: Suite) -> Sequence[str]:
    """Return the metrics for which the newest revision of a suite has not been checked for a shift yet."""
    checked_query = select(SuiteCheck.metric).where(
        SuiteCheck.subject_id == suite.subject.id,
        SuiteCheck.host_id == suite.host.id,
        SuiteCheck.revision_id == suite.newest_revision.id,
    )
    checked_metrics = set(session.scalars(checked_query))
    return [metric for metric in _JUDGED_METRICS if metric not in checked_metrics]


def _detect_suite_shift(session: Session, suite: Suite, metric: str) -> views.Drift | None:
    """Return the shift of a suite between its two newest revisions, as a drift without a series; None without one."""
    paths = _list_paths(session, suite, metric)
    earlier_values = []
    newest_values = []
    for path, last_drift_position in paths:
        points_before = suite_shift_drift.select_points_before(path, last_drift_position)
        earlier_values.append([point.value for point in points_before])
        newest_values.append(path[-1].value)
    shift = detect.find_pooled_shift(earlier_values, newest_values)
    if shift is None:
        return None
    path = suite_shift_drift.choose_representative([path for path, _ in paths])
    previous_point, newest_point = path[-2:]
    settings_before = points.find_settings(session, previous_point.environment)
    settings_after = points.find_settings(session, newest_point.environment)
    return suite_shift_drift.build_suite_shift_drift(
        identity=hash_document(["suite", suite.subject.name, suite.host.name, metric, suite.newest_revision.commit]),
        suite=suite_shift_drift.SuiteKey(suite.subject.name, suite.host.name, metric),
        shift=shift,
        ends=(previous_point, newest_point),
        settings=(settings_before, settings_after),
        candidates=_list_candidates(session, suite, path),
        committed_at=suite.newest_revision.committed_at,
    )


def _list_paths(session: Session, suite: Suite, metric: str) -> list[tuple[Points, int]]:
    """Return the paths that end with the two revisions, each with the position of its last drift, or -1 without one.

    A series with its own drift at the newest revision is left out. All paths end in the most common pair of
    environments, so that they share one cause.
    """
    # Select the series of the suite without a drift of their own at the newest revision.
    newest_revision, drift_rows = aliased(Revision), aliased(DriftRow)
    has_own_drift = (
        select(drift_rows.id)
        .join(newest_revision, newest_revision.id == suite.newest_revision.id)
        .where(drift_rows.series_id == Series.id, drift_rows.position >= newest_revision.position)
        .exists()
    )
    series_query = select(Series.id).where(
        Series.subject_id == suite.subject.id, Series.host_id == suite.host.id, Series.metric == metric, ~has_own_drift
    )
    # Read the end of each path; if it is not enough to decide, read the whole path.
    window = find_history_window(session, suite.subject.id, suite.host.id, _MAX_REVISIONS)
    paths = []
    for chunk in bulk.split_into_chunks(session.scalars(series_query.order_by(Series.id)).all(), _SERIES_PER_QUERY):
        drift_positions = select(DriftRow.series_id, func.max(DriftRow.position)).where(DriftRow.series_id.in_(chunk))
        last_drift_position: dict[int, int] = dict(session.execute(drift_positions.group_by(DriftRow.series_id)).all())
        trends = arrange_trends(session, chunk, window)
        if window is not None:
            start = window.position
            undecided_series = [
                candidate_id
                for candidate_id in chunk
                if not suite_shift_drift.has_enough_points(
                    trends[candidate_id], start, last_drift_position.get(candidate_id, -1)
                )
            ]
            trends |= arrange_trends(session, undecided_series)
        for series_id, trend in trends.items():
            path = trend.path
            if (
                len(path) > 1
                and path[-1].revision == suite.newest_revision.commit
                and path[-2].revision == suite.previous_revision.commit
            ):
                paths.append((path, last_drift_position.get(series_id, -1)))
    return suite_shift_drift.select_common_environments(paths)


def _list_candidates(session: Session, suite: Suite, path: Points) -> list[views.Candidate]:
    """Return the commits that can have caused a shift at the last point of a path: those after the point before it."""
    parents = revisions.map_parents(session, suite.subject.id)
    contained_commits = list_commits_between(parents, path[-2].revision, path[-1].revision)
    return revisions.list_candidates(session, suite.subject.id, contained_commits)


def _store_shift(session: Session, suite: Suite, metric: str, shift: views.Drift | None) -> None:
    """Store that a metric of a suite was checked, with the shift that was found; None if there was none."""
    key: dict[str, Any] = {
        "subject_id": suite.subject.id,
        "host_id": suite.host.id,
        "metric": metric,
        "revision_id": suite.newest_revision.id,
    }
    if session.scalar(select(SuiteCheck.id).filter_by(**key)) is not None:
        return  # another process has stored it in the meantime
    shift_id = hash_document(["suite", suite.subject.name, suite.host.name, metric, suite.newest_revision.commit])
    document = None if shift is None else shift.model_dump(mode="json")
    session.add(SuiteCheck(id=shift_id, **key, document=document))
    if shift is not None:
        session.get_one(Subject, suite.subject.id).drifts_version += 1
