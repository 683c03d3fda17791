"""The expected counts of the runs of a plan, taken from the runs before them in the history."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.orm import Session

from runner.contract import Outcome, Plan, PlannedRun, PlanRequest, get_metric
from runner.contract.level import Number, find_majority
from service.store import shared_rows
from service.store.models import Case, Environment, Host, Revision, Run, Subject
from service.store.runs.runs import select_joined_runs
from service.store.series import points


def fill_expected_counts(session: Session, request: PlanRequest, plan: Plan, positions: Mapping[str, int]) -> Plan:
    """Add to each planned run the exact counts of the run before it in the same environment.

    A sample that repeats these counts needs no further samples. Runs in quarantine are left out.
    """
    if not plan.runs:
        return plan
    measured_runs = _read_measured_runs(session, request)
    previous_runs = [
        _find_run_before(measured_runs[shared_rows.make_case_key(run.case)], positions[run.revision])
        for run in plan.runs
    ]
    counts_by_run = _read_exact_counts(session, {run_id for run_id in previous_runs if run_id is not None})
    planned_runs: list[PlannedRun] = []
    for run, run_id in zip(plan.runs, previous_runs, strict=True):
        expected_counts = {} if run_id is None else counts_by_run[run_id]
        planned_runs.append(run.model_copy(update={"expected": expected_counts}) if expected_counts else run)
    return plan.model_copy(update={"runs": tuple(planned_runs)})


def _read_measured_runs(session: Session, request: PlanRequest) -> dict[str, list[tuple[int, UUID]]]:
    """Return the position and the id of each run in the request's environment, by case, in the order of the history."""
    rows = session.execute(
        select_joined_runs(Case.key, Revision.position, Run.id)
        .where(
            Subject.name == request.subject,
            Host.name == request.host.name,
            Environment.hash == request.environment.hash,
            Run.outcome == Outcome.MEASURED,
            Run.quarantine.is_(None),
        )
        .order_by(Revision.position, Run.started_at, Run.id)
    )
    runs_by_case: dict[str, list[tuple[int, UUID]]] = defaultdict(list)
    for key, position, run_id in rows:
        runs_by_case[key].append((position, run_id))
    return runs_by_case


def _find_run_before(runs: list[tuple[int, UUID]], position: int) -> UUID | None:
    """Return the newest run at an earlier position; None if there is none. ``runs`` is sorted by position."""
    index = bisect_left(runs, position, key=lambda position_and_id: position_and_id[0])
    if index == 0:
        return None
    _position, run_id = runs[index - 1]
    return run_id


def _read_exact_counts(session: Session, run_ids: set[UUID]) -> dict[UUID, dict[str, Number]]:
    """Return the exact counts that more than half of the samples of each run have, by metric."""
    counts_by_run: dict[UUID, dict[str, Number]] = defaultdict(dict)
    for point in points.list_run_points(session, sorted(run_ids)):
        majority = find_majority(point.samples) if get_metric(point.metric).exact else None
        if majority is not None:
            count, _n_samples = majority
            counts_by_run[point.run_id][point.metric] = count
    return counts_by_run
