"""What the service wants measured besides what is new: cross-measurements, and reruns of what is in doubt."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Outcome, PlanRequest
from service.rules.run_plan import Orders
from service.store import cross_measurements, shared_rows
from service.store.models import Case, Drift, EventDrift, Host, Revision, Run, Series, Subject


def wanted(session: Session, request: PlanRequest) -> dict[int, Orders]:
    """Return what is wanted of each case of a request, by its index, in the environment that holds."""
    environment, host = request.environment.hash, request.host.name
    crosswise: dict[str, set[str]] = defaultdict(set)
    for order in cross_measurements.wanted(session, request.subject, host, environment):
        crosswise[order.case_key].add(order.revision)
    unsure = _unsure(session, request.subject, host, environment)
    keys = [shared_rows.case_key(case) for case in request.cases]
    elsewhere = _elsewhere(session, request.subject, host, set(keys))
    return {
        index: Orders(frozenset(crosswise[key]), key in unsure, frozenset(elsewhere[key]))
        for index, key in enumerate(keys)
    }


def _unsure(session: Session, subject: str, host: str, environment: str) -> set[str]:
    """Return the cases whose newest run in an environment may be a stray one."""
    rows = session.execute(
        select(Case.key, Drift.document)
        .join(Series, Drift.series_id == Series.id)
        .join(EventDrift, EventDrift.drift_id == Drift.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(Subject.name == subject, Host.name == host, EventDrift.unsure, EventDrift.found)
    )
    return {key for key, document in rows if document["environment_after"] == environment}


def _elsewhere(session: Session, subject: str, host: str, keys: set[str]) -> dict[str, set[str]]:
    """Return the revisions that other hosts measured, of those cases that this host never did."""
    found: dict[str, set[str]] = defaultdict(set)
    here = select(Run.case_id).join(Run.subject).join(Run.host).where(Subject.name == subject, Host.name == host)
    others = (
        select(Case.key, Revision.commit)
        .select_from(Run)
        .join(Run.subject)
        .join(Run.case)
        .join(Run.host)
        .join(Run.revision)
        .where(Subject.name == subject, Host.name != host, Run.case_id.not_in(here))
        .where(Run.outcome == Outcome.MEASURED, Run.quarantine.is_(None))
        .distinct()
    )
    for key, commit in session.execute(others):
        if key in keys:
            found[key].add(commit)
    return found
