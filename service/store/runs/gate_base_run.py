"""The stored run of the base of a gate, with which head is compared if base is not measured again."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner import contract
from runner.contract import Outcome
from runner.contract.gate import BaseQuery
from service.store import shared_rows
from service.store.models import Case, Environment, Host, Revision, Run, StoredReport, Subject
from service.store.runs.runs import NEWEST_FIRST, select_joined_runs
from service.store.runs.stored_reports import unpack_report


def find_base_report(session: Session, query: BaseQuery) -> contract.Report | None:
    """Return the report of the newest judged run of a base on a host and in an environment; None if there is none."""
    number = session.scalar(
        select_joined_runs(Run.number)
        .where(
            Subject.name == query.subject,
            Revision.commit == query.revision,
            Case.key == shared_rows.make_case_key(query.case),
            Host.name == query.host,
            Environment.hash == query.environment,
            Run.outcome == Outcome.MEASURED,
            Run.quarantine.is_(None),
        )
        .order_by(*NEWEST_FIRST)
        .limit(1)
    )
    document = session.scalar(select(StoredReport.document).where(StoredReport.run_number == number))
    return None if document is None else unpack_report(document)
