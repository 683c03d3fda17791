"""The newest reports of a case."""

from __future__ import annotations

from sqlalchemy import delete, select

from service.store.engine.database import Database
from service.store.models import Run, StoredReport
from service.store.runs.range_runs import CaseOnHost, list_newest_reports
from tests.service import reports
from tests.service.apiclient import Api


def test_runs_whose_reports_are_already_deleted_are_left_out(api: Api, database: Database) -> None:
    """A subject is deleted in several transactions: its reports first, then its runs."""
    kept, deleted = reports.report(1, 100), reports.report(2, 100)
    api.send(kept, deleted)
    with database.writing() as session:
        number = select(Run.number).where(Run.id == deleted.run_id).scalar_subquery()
        session.execute(delete(StoredReport).where(StoredReport.run_number == number))
    with database.reading() as session:
        found = list_newest_reports(session, CaseOnHost("demo", reports.CASE.name))
    assert [report.run_id for report in found] == [kept.run_id]
