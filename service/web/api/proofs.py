"""Proofs: what comparisons of two commits decided, which settles the drifts of their series."""

from __future__ import annotations

from apiflask import APIBlueprint

from runner.contract import Comparison, ComparisonRequest
from service.pipeline import judging_schedule
from service.rules.comparison import interleaved
from service.store.series import proofs
from service.web.access.caller_limits import require_access_to_report
from service.web.api.comparisons import refuse_quarantined
from service.web.app_resources import get_database

bp = APIBlueprint("proofs", __name__)


@bp.post("/proofs")
@bp.input(ComparisonRequest)
@bp.output(Comparison)
def post(json_data: ComparisonRequest) -> Comparison:
    """Compare base and head that were measured interleaved, and remember what was decided.

    The drifts of the series that have both commits are settled by it. The same session may be sent again.
    """
    refuse_quarantined(json_data)
    require_access_to_report([json_data.base.subject], [json_data.base.host.name])
    comparison = interleaved.decide_comparison(json_data)
    with get_database().writing([json_data.base.subject]) as session:
        proofs.store_proofs(session, json_data, comparison)
    judging_schedule.judge_or_defer_series(get_database())
    return comparison
