"""Searches for the commits or settings that moved a metric. Stored runs determine each step, so a search can resume."""

from __future__ import annotations

from apiflask import APIBlueprint

from runner.contract import Search, SearchRequest
from runner.contract.setting_search import SettingSearch, SettingSearchRequest
from service.pipeline import decide_bisect_step
from service.web.access.token_limits_and_ownership import require_access_to_report
from service.web.app_resources import get_database
from service.web.problems import make_field_problem

bp = APIBlueprint("searches", __name__)


@bp.post("/searches")
@bp.input(SearchRequest)
@bp.output(Search)
def post(json_data: SearchRequest) -> Search:
    """Return the commits to measure next, or those that moved the metric.

    Stored runs are used. The commits must be known: send them first.
    """
    require_access_to_report([json_data.subject], read_only=True)
    with get_database().reading() as session:
        search = decide_bisect_step.search_commits(session, json_data)
    if search is None:
        raise make_field_problem(
            "good", "`good` and `bad` must be known commits. Send them first (PUT /subjects/…/revisions)."
        )
    return search


@bp.post("/setting-searches")
@bp.input(SettingSearchRequest)
@bp.output(SettingSearch)
def post_settings(json_data: SettingSearchRequest) -> SettingSearch:
    """Return the settings to change for the next run, or those that moved the metric.

    Stored runs are used.
    """
    require_access_to_report([json_data.subject], read_only=True)
    with get_database().reading() as session:
        return decide_bisect_step.search_settings(session, json_data)
