"""The orders of a plan besides new revisions: cross-measurements, reruns, and cases that only other hosts measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Outcome, PlanRequest
from service.rules.plan.cross_measured_runs import list_dividing_runs
from service.rules.plan.reruns import build_drift_end, list_newest_drifts_in_doubt
from service.rules.plan.run_plan import Orders
from service.rules.series.build_drifts import REPEATING_RULES
from service.schemas.history import Cause, Drift
from service.store import shared_rows
from service.store.events import cross_measurements
from service.store.models import Case, DriftRow, EventDriftRow, Host, Revision, Run, Series, Subject
from service.store.plans.pool_runs import EnvironmentsByCase


def find_orders(session: Session, request: PlanRequest, alike_environments: EnvironmentsByCase) -> dict[int, Orders]:
    """Return what the service wants measured of each case of a request besides new revisions, by the case's index.

    A level is also measured again if its runs are from environments that are equivalent to that of the request.
    """
    host = request.host.name
    cross_measured_revisions: dict[str, set[str]] = defaultdict(set)
    for run in cross_measurements.list_ordered_runs(session, request.subject, host, request.environment.hash):
        cross_measured_revisions[run.case_key].add(run.revision)
    keys = [shared_rows.make_case_key(case) for case in request.cases]
    alike_by_key = {key: alike_environments[index] for index, key in enumerate(keys)}
    keys_in_doubt, revisions_before = _find_doubts(session, request.subject, host, alike_by_key)
    dividing_revisions = _map_dividing_revisions(session, request.subject, host, alike_by_key)
    revisions_elsewhere = _map_revisions_measured_elsewhere(session, request.subject, host, set(keys))
    return {
        index: Orders(
            cross_measured_revisions=frozenset(cross_measured_revisions[key]),
            dividing_revisions=frozenset(dividing_revisions[key]),
            in_doubt=key in keys_in_doubt,
            revision_before=revisions_before.get(key),
            measured_elsewhere=frozenset(revisions_elsewhere[key]),
        )
        for index, key in enumerate(keys)
    }


def _find_doubts(
    session: Session, subject: str, host: str, alike_by_key: Mapping[str, frozenset[str]]
) -> tuple[set[str], dict[str, str]]:
    """Return the keys of the cases whose newest level is in doubt, and :attr:`Orders.revision_before` of each case.

    Parameters
    ----------
    alike_by_key
        The environments whose levels count, by the key of the case.
    """
    series_in_doubt = select(EventDriftRow.series_id).where(EventDriftRow.unsure, EventDriftRow.still_detected)
    rows = session.execute(
        select(Series.id, Case.key, DriftRow.position, DriftRow.document)
        .join(DriftRow, DriftRow.series_id == Series.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(Subject.name == subject, Host.name == host, Series.id.in_(series_in_doubt))
    ).all()
    key_of = {series_id: key for series_id, key, *_ in rows}
    ends = (
        build_drift_end(series_id, position, document, alike_by_key.get(key, frozenset()))
        for series_id, key, position, document in rows
    )
    keys_in_doubt: set[str] = set()
    revisions_before: dict[str, str] = {}
    for end in list_newest_drifts_in_doubt(ends):
        key = key_of[end.series]
        if end.environment in alike_by_key.get(key, frozenset()):
            keys_in_doubt.add(key)
        if end.revision_before:
            # If several series of a case are in doubt, the first revision that is found is used.
            revisions_before.setdefault(key, end.revision_before)
    return keys_in_doubt, revisions_before


def _map_dividing_revisions(
    session: Session, subject: str, host: str, alike_by_key: Mapping[str, frozenset[str]]
) -> dict[str, set[str]]:
    """Return :attr:`Orders.dividing_revisions` of each case, by the case's key.

    These revisions are measured again to divide a change between commits and configuration, which changed together.

    Only counts that repeat need them: the levels of noisy metrics take more runs than a plan orders.
    """
    rows = session.execute(
        select(Case.key, DriftRow.document)
        .select_from(Series)
        .join(DriftRow, DriftRow.series_id == Series.id)
        .join(EventDriftRow, EventDriftRow.drift_id == DriftRow.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(Subject.name == subject, Host.name == host, Case.key.in_(alike_by_key), Series.judged)
        .where(EventDriftRow.cause == Cause.COMMIT_AND_CONFIG, EventDriftRow.still_detected)
    )
    revisions_by_case: dict[str, set[str]] = defaultdict(set)
    for key, document in rows:
        drift = Drift.model_validate(document)
        if drift.rule in REPEATING_RULES:
            revisions_by_case[key] |= {
                revision for revision, environment in list_dividing_runs(drift) if environment in alike_by_key[key]
            }
    return revisions_by_case


def _map_revisions_measured_elsewhere(session: Session, subject: str, host: str, keys: set[str]) -> dict[str, set[str]]:
    """Return the revisions at which other hosts measured cases that this host has never measured, by the case's key."""
    revisions_by_case: dict[str, set[str]] = defaultdict(set)
    cases_of_host = (
        select(Run.case_id).join(Run.subject).join(Run.host).where(Subject.name == subject, Host.name == host)
    )
    runs_of_other_hosts = (
        select(Case.key, Revision.commit)
        .select_from(Run)
        .join(Run.subject)
        .join(Run.case)
        .join(Run.host)
        .join(Run.revision)
        .where(Subject.name == subject, Host.name != host, Run.case_id.not_in(cases_of_host))
        .where(Run.outcome == Outcome.MEASURED, Run.quarantine.is_(None))
        .distinct()
    )
    for key, commit in session.execute(runs_of_other_hosts):
        if key in keys:
            revisions_by_case[key].add(commit)
    return revisions_by_case
