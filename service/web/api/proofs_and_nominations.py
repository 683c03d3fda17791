"""Proofs: comparisons of two commits whose results settle the drifts of the series."""

from __future__ import annotations

from apiflask import APIBlueprint
from pydantic import Field

from runner.contract import Comparison, ComparisonRequest
from runner.contract.nomination import NominationList
from service.pipeline import judging_schedule
from service.pipeline.nominate_changes import list_nominations
from service.rules.comparison import comparison_verdict
from service.schemas.history import View
from service.store.series import proofs
from service.store.series.series import SeriesFilter
from service.web.access.token_limits_and_ownership import require_access_to_report
from service.web.api import judging_wait
from service.web.api.comparisons import refuse_quarantined_runs
from service.web.app_resources import get_database

bp = APIBlueprint("proofs", __name__)


class NominationQuery(View):
    """The series whose nominations to return."""

    subject: str
    host: str
    definition: str | None = Field(default=None, description="Hash of the workload's definition.")


@bp.post("/proofs")
@bp.input(ComparisonRequest)
@bp.output(Comparison)
def post(json_data: ComparisonRequest) -> Comparison:
    """Compare a base and a head that were measured interleaved, and store the result as a proof.

    The proof settles the drifts between these commits. The same request may be sent again.
    """
    refuse_quarantined_runs(json_data)
    require_access_to_report([json_data.base.subject], [json_data.base.host.name])
    comparison = comparison_verdict.decide_comparison(json_data)
    with get_database().writing([json_data.base.subject]) as session:
        proofs.store_proofs(session, json_data, comparison)
    judging_schedule.judge_or_defer_series(get_database())
    return comparison


@bp.get("/nominations")
@bp.input(NominationQuery, location="query")
@bp.output(NominationList)
def index(query_data: NominationQuery) -> NominationList:
    """Return the nominations of a host, the most likely and largest first.

    They are changes that its runs make likely, or at least worth an interleaved comparison.

    The series are judged first; if this takes too long, the response is 503 with Retry-After.
    """
    require_access_to_report([query_data.subject], [query_data.host], read_only=True)
    series_filter = SeriesFilter(subject=query_data.subject, host=query_data.host, definition=query_data.definition)
    judging_wait.judge_series_or_refuse(series_filter)
    with get_database().reading() as session:
        return list_nominations(session, series_filter)
