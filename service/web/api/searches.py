"""Searches for the commits, or the knobs, that moved a metric: led by what is stored, so that each can go on."""

from __future__ import annotations

from apiflask import APIBlueprint

from runner.contract import Search, SearchRequest
from runner.contract.knob_search import KnobSearch, KnobSearchRequest
from service.pipeline import bisect_search
from service.web.access.ownership import hold
from service.web.current import database
from service.web.problems import unprocessable

bp = APIBlueprint("searches", __name__)


@bp.post("/searches")
@bp.input(SearchRequest)
@bp.output(Search)
def post(json_data: SearchRequest) -> Search:
    """Return which commits to measure next, or which ones moved the metric.

    Runs that are stored are used, and cost nothing. The commits have to be known: send them first.
    """
    hold([json_data.subject], asking=True)
    with database().reading() as session:
        found = bisect_search.state(session, json_data)
    if found is None:
        raise unprocessable(
            "good", "good and bad have to be known commits. Send them first (PUT /subjects/…/revisions)."
        )
    return found


@bp.post("/knob-searches")
@bp.input(KnobSearchRequest)
@bp.output(KnobSearch)
def post_knobs(json_data: KnobSearchRequest) -> KnobSearch:
    """Return with which knobs changed to measure next, or which ones moved the metric.

    Runs that are stored are used, and cost nothing.
    """
    hold([json_data.subject], asking=True)
    with database().reading() as session:
        return bisect_search.knob_state(session, json_data)
