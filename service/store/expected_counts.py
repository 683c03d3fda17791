"""What each run of a plan is expected to count: the level that the history shows before it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.orm import Session

from runner.contract import Outcome, Plan, PlannedRun, PlanRequest, metric
from runner.contract.level import Number, majority
from service.store import points, shared_rows
from service.store.models import Case, Environment, Host, Revision, Run, Subject
from service.store.runs import joined


def fill(session: Session, request: PlanRequest, plan: Plan, positions: Mapping[str, int]) -> Plan:
    """Add to each planned run the exact counts of the one before it in the same environment: such a sample will do.

    What is in quarantine has no say.
    """
    if not plan.runs:
        return plan
    measured = _measured(session, request)
    before = [_nearest(measured[shared_rows.case_key(one.case)], positions[one.revision]) for one in plan.runs]
    levels = _levels(session, {run for run in before if run is not None})
    planned = tuple(
        one if run is None or not levels[run] else _with(one, levels[run])
        for one, run in zip(plan.runs, before, strict=True)
    )
    return plan.model_copy(update={"runs": planned})


def _with(one: PlannedRun, expected: dict[str, Number]) -> PlannedRun:
    return one.model_copy(update={"expected": expected})


def _measured(session: Session, request: PlanRequest) -> dict[str, list[tuple[int, UUID]]]:
    """Return the runs of each case in the request's environment, in the order of the history."""
    rows = session.execute(
        joined(Case.key, Revision.position, Run.id)
        .where(
            Subject.name == request.subject,
            Host.name == request.host.name,
            Environment.hash == request.environment.hash,
            Run.outcome == Outcome.MEASURED,
            Run.quarantine.is_(None),
        )
        .order_by(Revision.position, Run.started_at, Run.id)
    )
    found: dict[str, list[tuple[int, UUID]]] = defaultdict(list)
    for key, position, run_id in rows:
        found[key].append((position, run_id))
    return found


def _nearest(runs: list[tuple[int, UUID]], position: int) -> UUID | None:
    place = bisect_left(runs, position, key=lambda run: run[0])
    return runs[place - 1][1] if place else None


def _levels(session: Session, runs: set[UUID]) -> dict[UUID, dict[str, Number]]:
    """Return the counts that each run repeats."""
    found: dict[UUID, dict[str, Number]] = defaultdict(dict)
    for point in points.of_runs(session, sorted(runs)):
        agreed = majority(point.samples) if metric(point.metric).exact else None
        if agreed is not None:
            found[point.run_id][point.metric] = agreed[0]
    return found
