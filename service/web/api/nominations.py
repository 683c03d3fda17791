"""Nominations: the changes that stored runs make likely, for a runner to prove or refute."""

from __future__ import annotations

from apiflask import APIBlueprint
from pydantic import Field

from runner.contract.nomination import NominationList
from service.pipeline.nominate_changes import list_nominations
from service.schemas.history import View
from service.store.series.series import SeriesFilter
from service.web.access.caller_limits import require_access_to_report
from service.web.api import judging_wait
from service.web.app_resources import get_database

bp = APIBlueprint("nominations", __name__, tag="Proofs")


class NominationQuery(View):
    """The series whose nominations to return."""

    subject: str
    host: str
    definition: str | None = Field(default=None, description="Hash of the workload's definition.")


@bp.get("/nominations")
@bp.input(NominationQuery, location="query")
@bp.output(NominationList)
def index(query_data: NominationQuery) -> NominationList:
    """Return the changes that a host's runs make likely or worth a comparison, the most likely and largest first.

    The series are judged first; where that takes long, the answer is 503 with Retry-After.
    """
    require_access_to_report([query_data.subject], [query_data.host], read_only=True)
    series_filter = SeriesFilter(subject=query_data.subject, host=query_data.host, definition=query_data.definition)
    judging_wait.judge_or_refuse(series_filter)
    with get_database().reading() as session:
        return list_nominations(session, series_filter)
