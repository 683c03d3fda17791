"""The runs of one case on one host: its levels at given commits, and how long it takes there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from runner.contract import Outcome, Report
from runner.contract.quarantine import SEARCH_PURPOSES
from service.rules.imported_runs import has_imported
from service.schemas.history import Number
from service.store.models import Case, Host, Point, Revision, Run, Series, StoredReport, Subject
from service.store.runs.runs import select_joined_runs
from service.store.runs.stored_reports import unpack_report

_MAX_RUNS = 5
"""At most this many of the newest runs are read: their durations predict those of the next runs."""


class CaseOnHost(NamedTuple):
    """A case of a subject on one host.

    Where only the newest reports are read, the host's name may be empty: then any host counts.
    """

    subject: str
    case: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class Durations:
    """How many seconds recent builds and measurements took; None if it is unknown."""

    build: float | None
    measure: float | None


def read_levels(session: Session, case: CaseOnHost, metric: str, commits: Collection[str]) -> dict[str, Number]:
    """Return the newest level of a metric at each of the commits that was measured; runs of searches count, too."""
    rows = session.execute(
        _select_measured_runs(session, case, metric, Revision.commit, Point.value)
        .where(Revision.commit.in_(commits))
        .order_by(Run.number)
    )
    return {commit: value for commit, value in rows if value is not None}


def list_measured_commits(session: Session, case: CaseOnHost, metric: str) -> set[str]:
    """Return the commits at which a metric was measured; runs of searches count, too."""
    query = _select_measured_runs(session, case, metric, Revision.commit).where(Point.value.is_not(None))
    return set(session.connection().scalars(query))


def _select_measured_runs(session: Session, case: CaseOnHost, metric: str, *columns: Any) -> Select[Any]:
    """Return the query for columns of the measured runs of a case with a metric; runs of searches count, too."""
    series = (
        select(Series.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Case, Series.case_id == Case.id)
        .join(Host, Series.host_id == Host.id)
        .where(Subject.name == case.subject, Case.name == case.case, Host.name == case.host, Series.metric == metric)
    )
    return (
        select(*columns)
        .select_from(Point)
        .join(Run, Point.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .where(Point.series_id.in_(session.scalars(series).all()), Run.outcome == Outcome.MEASURED)
        .where(or_(Run.quarantine.is_(None), Run.quarantine.in_(SEARCH_PURPOSES.values())))
    )


def find_newest_report(session: Session, case: CaseOnHost) -> Report | None:
    """Return the newest report of :func:`list_newest_reports`; None if there is none."""
    return next(iter(list_newest_reports(session, case)), None)


def read_durations(reports: Collection[Report]) -> Durations:
    """Return how long a build and a measurement of a case took in its newest runs."""
    builds = [report.build.seconds for report in reports if report.build and report.build.seconds]
    durations = [(report.finished_at - report.started_at).total_seconds() for report in reports]
    return Durations(median(builds) if builds else None, median(durations) if durations else None)


def list_newest_reports(session: Session, case: CaseOnHost) -> list[Report]:
    """Return the reports of the newest measured runs of a case, without those that were imported.

    Runs whose reports are already deleted, because their subject is being deleted, are left out.
    """
    conditions = [Subject.name == case.subject, Case.name == case.case, Run.outcome == Outcome.MEASURED]
    if case.host:
        conditions.append(Host.name == case.host)
    newest_first = (Run.started_at.desc(), Run.number.desc())
    numbers = session.scalars(
        select_joined_runs(Run.number).where(*conditions).order_by(*newest_first).limit(_MAX_RUNS)
    ).all()
    report_query = select(StoredReport.run_number, StoredReport.document).where(StoredReport.run_number.in_(numbers))
    documents = dict(session.execute(report_query).all())
    reports = (unpack_report(documents[number]) for number in numbers if number in documents)
    return [report for report in reports if not has_imported(report)]
