"""Drifts: what moved, and why."""

from __future__ import annotations

from apiflask import APIBlueprint
from pydantic import Field

from service.schemas.history import Cause, DriftList, ListedDrift
from service.store.series import drifts
from service.store.series.series import SeriesFilter
from service.web.access import authorization
from service.web.access.public_view import redact_view_for_caller
from service.web.api import judging_wait
from service.web.api.body import PageQuery
from service.web.app_resources import get_database
from service.web.problems import make_not_found

bp = APIBlueprint("drifts", __name__)


class DriftQuery(PageQuery):
    """The filters of a list of drifts."""

    subject: str | None = None
    metric: str | None = None
    cause: Cause | None = None
    case: str | None = None
    host: str | None = None
    definition: str | None = Field(default=None, description="Hash of the workload's definition.")
    judged: bool = Field(default=False, description="Answer only when all runs of the requested series are judged.")


@bp.get("/drifts")
@bp.input(DriftQuery, location="query")
@bp.output(DriftList)
def index(query_data: DriftQuery) -> DriftList:
    """Return drifts, starting with the newest commits.

    Large numbers of runs are judged in the background. With `judged`, the runs of the requested series are judged
    first; if this takes too long, the response is 503 with Retry-After. Callers without a token always get the drifts
    that are known so far.
    """
    if query_data.judged and not authorization.is_anonymous():
        judging_wait.judge_series_or_refuse(
            SeriesFilter(**query_data.model_dump(exclude={"limit", "offset", "judged", "cause"}))
        )
    drift_filter = drifts.DriftFilter(**query_data.model_dump(exclude={"limit", "offset", "judged"}))
    with get_database().reading() as session:
        return redact_view_for_caller(drifts.list_drifts(session, drift_filter, query_data.limit, query_data.offset))


@bp.get("/drifts/<drift_id>")
@bp.output(ListedDrift)
def get(drift_id: str) -> ListedDrift:
    """Return one drift."""
    with get_database().reading() as session:
        drift = drifts.find_drift(session, drift_id)
    if drift is None:
        raise make_not_found(f"drift {drift_id}")
    return redact_view_for_caller(drift)
