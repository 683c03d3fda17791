"""What the pages read, from the store."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from runner.contract import Outcome, Report
from service.pages.source import Glance
from service.store import drifts, points, runs, series
from service.store.database import Database
from service.views import Direction, Drift, RunSummary, SeriesDetail, SeriesSummary

_EVERYTHING = 1_000_000
_FAILURES = 200


class StoreSource:
    """Answers the questions of the pages, each from one state of the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def drifts(self) -> list[Drift]:
        """All drifts, the newest first."""
        with self._database.reading() as session:
            return drifts.listed(session, drifts.DriftFilter(), _EVERYTHING).items

    def glances(self) -> list[Glance]:
        """All series, by subject, host, case and metric."""
        with self._database.reading() as session:
            return [_glance(session, summary) for summary in series.page(session, series.SeriesFilter()).items]

    def failures(self) -> list[RunSummary]:
        """The newest runs that measured nothing, the newest first."""
        with self._database.reading() as session:
            failed = [
                run
                for outcome in (Outcome.FAILED, Outcome.SKIPPED)
                for run in runs.page(session, runs.RunFilter(outcome=outcome), _FAILURES, 0).items
            ]
        return sorted(failed, key=lambda run: run.started_at, reverse=True)

    def series(self, series_id: int) -> SeriesDetail | None:
        """One series with its points."""
        with self._database.reading() as session:
            return series.detail(session, series_id)

    def drift(self, drift_id: str) -> Drift | None:
        """One drift."""
        with self._database.reading() as session:
            return drifts.find(session, drift_id)

    def run(self, run_id: UUID) -> Report | None:
        """One run, as it was reported."""
        with self._database.reading() as session:
            return runs.report(session, run_id)


def _glance(session: Session, summary: SeriesSummary) -> Glance:
    path = points.arrange(points.of_series(session, summary.id)).path
    places = {point.run_id: index for index, point in enumerate(path)}
    flagged = tuple(
        (places[drift.run_after], drift.direction is Direction.REGRESSION)
        for drift in drifts.of_series(session, summary.id)
        if drift.run_after in places
    )
    return Glance(summary, tuple(point.value for point in path), flagged)
