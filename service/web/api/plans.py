"""Plans: the runs that are still to be measured."""

from __future__ import annotations

from http import HTTPStatus

from apiflask import APIBlueprint

from runner.contract import Plan, PlanRequest
from service.rules.plan.run_plan import make_plan
from service.store.plans import expected_counts, plan_orders, pool_runs
from service.store.revisions import revisions
from service.store.runs import runs
from service.store.series.series import SeriesFilter
from service.web.access.token_limits_and_ownership import require_access_to_report
from service.web.api import judging_wait
from service.web.app_resources import get_database
from service.web.problems import FieldError, ProblemError

bp = APIBlueprint("plans", __name__)

_MAX_LISTED_COMMITS = 100
"""Unknown commits that a problem lists."""


@bp.post("/plans")
@bp.input(PlanRequest)
@bp.output(Plan)
def post(json_data: PlanRequest) -> Plan:
    """Return the runs of a request that are still to be measured, in their order.

    The commits must be known: send them first. The known drifts decide which runs are measured again, so the runs of
    the workload on this host are judged first; if this takes too long, the response is 503 with Retry-After.
    """
    require_access_to_report([json_data.subject], [json_data.host.name], read_only=True)
    judging_wait.judge_series_or_refuse(_select_series(json_data))
    with get_database().reading() as session:
        positions = revisions.map_positions(session, json_data.subject)
        _require_known_commits(json_data.revisions, positions)
        stored_runs = runs.map_runs_for_plan(session, json_data.subject, json_data.host.name, json_data.cases)
        # Runs of other machines of the host's pool count as runs of this machine if their environments are equivalent.
        alike_environments = pool_runs.find_alike_environments(session, json_data)
        usable_runs = pool_runs.adopt_pool_runs(stored_runs, alike_environments, json_data.environment.hash)
        plan = make_plan(
            json_data, positions, usable_runs, plan_orders.find_orders(session, json_data, alike_environments)
        )
        return expected_counts.fill_expected_counts(session, json_data, plan, positions)


def _select_series(request: PlanRequest) -> SeriesFilter:
    """Return a filter for the series of a request, by the workload's definition if all cases share it, as is usual."""
    definitions = {case.definition for case in request.cases}
    definition = definitions.pop() if len(definitions) == 1 else None
    return SeriesFilter(subject=request.subject, host=request.host.name, definition=definition)


def _require_known_commits(commits: tuple[str, ...], positions: dict[str, int]) -> None:
    """Raise if a plan names commits that the service does not know."""
    field_errors = [
        FieldError(field=f"revisions.{index}", detail=f"commit {commit} is not known")
        for index, commit in enumerate(commits)
        if commit not in positions
    ]
    if field_errors:
        raise ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"{field_errors[0].field}: {field_errors[0].detail}. Send the commits first (PUT /subjects/…/revisions).",
            field_errors[:_MAX_LISTED_COMMITS],
        )
