"""What the pages read: one method for each question that a page asks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Protocol, cast
from uuid import UUID

from flask import current_app
from sqlalchemy.orm import Session

from runner.contract import Outcome, Report
from service.rules.series.outline import Outline
from service.schemas.directory import Activity, HostEntry
from service.schemas.events import EventDetail, State
from service.schemas.history import Drift, DriftList, RunSummary, SeriesDetail, SeriesHead, SeriesSummary
from service.store import drifts, event_drifts, events, hosts, outlines, overview, runs, series
from service.store import sibling_series as siblings
from service.store.runs import RunFilter
from service.store.series import SeriesFilter
from service.store.sibling_series import Sibling
from service.web.current import database

EXTENSION = "faultwatch.pages"

_DRIFTS = 60
_DECIDED = 10
_FAILURES = 50
_SIBLINGS = 100
_SERIES = 40

LATELY = timedelta(minutes=10)
"""What is measured is told as being measured for so long."""


class Source(Protocol):
    """Answers the questions of the pages."""

    def drifts(self) -> DriftList:
        """Return the newest drifts that are not decided about, and how many there are."""

    def decided(self) -> tuple[list[tuple[Drift, State]], int]:
        """Return the newest drifts that are decided about and how, and how many there are."""

    def judged(self) -> tuple[list[SeriesSummary], int]:
        """Return the judged series that were measured last, and how many there are."""

    def outlines(self, series_ids: Iterable[int]) -> dict[int, Outline]:
        """Return how some series are drawn small, by their ids."""

    def hosts(self) -> list[HostEntry]:
        """Return all hosts, each by its newest run."""

    def activity(self) -> list[Activity]:
        """Return what each host has measured lately."""

    def failures(self) -> list[RunSummary]:
        """Return the newest runs that measured nothing and were not made good since."""

    def quarantined(self) -> list[RunSummary]:
        """Return the newest measured run of each host where that one is in quarantine."""

    def series(self, series_id: int) -> SeriesDetail | None:
        """Return one series with its points."""

    def series_of(self, report: Report) -> dict[str, int]:
        """Return the id of the series that each metric of a run is filed in."""

    def siblings(self, entry: SeriesHead) -> list[Sibling]:
        """Return the other metrics of a series' case, and the same metric of other cases of its subject."""

    def drift(self, drift_id: str) -> Drift | None:
        """Return one drift."""

    def event_of(self, drift_id: str) -> EventDetail | None:
        """Return the event that a drift is part of."""

    def run(self, run_id: UUID) -> Report | None:
        """Return one run, as it was reported."""


class StoreSource:
    """Answers from the application's database."""

    def drifts(self) -> DriftList:
        """Return the newest drifts that are not decided about, and how many there are."""
        with database().reading() as session:
            return overview.open_drifts(session, _DRIFTS)

    def decided(self) -> tuple[list[tuple[Drift, State]], int]:
        """Return the newest drifts that are decided about and how, and how many there are."""
        with database().reading() as session:
            return overview.decided(session, _DECIDED)

    def judged(self) -> tuple[list[SeriesSummary], int]:
        """Return the judged series that were measured last, and how many there are."""
        with database().reading() as session:
            return overview.judged(session, _SERIES)

    def outlines(self, series_ids: Iterable[int]) -> dict[int, Outline]:
        """Return how some series are drawn small, by their ids."""
        with database().reading() as session:
            return outlines.read(session, series_ids)

    def hosts(self) -> list[HostEntry]:
        """Return all hosts, each by its newest run."""
        with database().reading() as session:
            return hosts.listed(session)

    def activity(self) -> list[Activity]:
        """Return what each host has measured lately."""
        with database().reading() as session:
            return overview.activity(session, datetime.now(UTC) - LATELY)

    def failures(self) -> list[RunSummary]:
        """Return the newest runs that measured nothing and were not made good since."""
        with database().reading() as session:
            found = [
                run
                for outcome in (Outcome.FAILED, Outcome.SKIPPED)
                for run in runs.page(session, RunFilter(outcome=outcome), _FAILURES, 0).items
            ]
            open_ones = [run for run in found if not _was_measured(session, run)]
        return sorted(open_ones, key=lambda run: run.started_at, reverse=True)

    def quarantined(self) -> list[RunSummary]:
        """Return the newest measured run of each host where that one is in quarantine."""
        with database().reading() as session:
            return runs.quarantined_hosts(session)

    def series(self, series_id: int) -> SeriesDetail | None:
        """Return one series with its points."""
        with database().reading() as session:
            return series.detail(session, series_id)

    def series_of(self, report: Report) -> dict[str, int]:
        """Return the id of the series that each metric of a run is filed in."""
        asked = SeriesFilter(subject=report.subject, case=report.case.name, host=report.host.name)
        with database().reading() as session:
            found = series.page(session, asked).items
        return {entry.metric: entry.id for entry in found if entry.definition == report.case.definition}

    def siblings(self, entry: SeriesHead) -> list[Sibling]:
        """Return the other metrics of a series' case, and the same metric of other cases of its subject."""
        with database().reading() as session:
            return siblings.of(session, entry, _SIBLINGS)

    def drift(self, drift_id: str) -> Drift | None:
        """Return one drift."""
        with database().reading() as session:
            return drifts.find(session, drift_id)

    def event_of(self, drift_id: str) -> EventDetail | None:
        """Return the event that a drift is part of."""
        with database().reading() as session:
            event = event_drifts.events_of(session, [drift_id]).get(drift_id)
            return None if event is None else events.detail(session, event)

    def run(self, run_id: UUID) -> Report | None:
        """Return one run, as it was reported."""
        with database().reading() as session:
            return runs.report(session, run_id)


def source() -> Source:
    """Return the source of the application that serves this request."""
    return cast(Source, current_app.extensions[EXTENSION])


def _was_measured(session: Session, run: RunSummary) -> bool:
    asked = RunFilter(
        subject=run.subject, case=run.case, revision=run.revision, outcome=Outcome.MEASURED, quarantined=False
    )
    return runs.page(session, asked, 1, 0).total > 0
