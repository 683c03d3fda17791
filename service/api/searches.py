"""Searches for the commits that moved a metric: led by what is stored, so that one can go on at any time."""

from __future__ import annotations

from http import HTTPStatus

from apiflask import APIBlueprint

from runner.contract import Search, SearchRequest
from service.api.problems import FieldError, ProblemError
from service.bisect import exact, noisy
from service.current import database
from service.store import searches

bp = APIBlueprint("searches", __name__)

MOST_COMMITS = 5000
"""Of a noisy search, whose tables grow with their square."""


@bp.post("/searches")
@bp.input(SearchRequest)
@bp.output(Search)
def post(json_data: SearchRequest) -> Search:
    """Return which commits to measure next, or which ones moved the metric.

    Runs that are stored are used, and cost nothing. The commits have to be known: send them first.
    """
    with database().reading() as session:
        question = searches.question(session, json_data)
        seen = searches.observations(session, json_data)
    if question is None:
        raise _refused("good", "good and bad have to be known commits. Send them first (PUT /subjects/…/revisions).")
    if not question.exact and len(question.commits) > MOST_COMMITS:
        raise _refused(
            "bad", f"{len(question.commits)} commits are too many for a noisy metric: {MOST_COMMITS} at most"
        )
    search = exact.search if question.exact else noisy.search
    inside = {question.good, *(node.commit for node in question.commits)}
    return Search(
        commits=len(question.commits),
        known=sum(one.commit in inside for one in seen),
        answer=search(question, seen, json_data.slots, json_data.pending),
    )


def _refused(field: str, detail: str) -> ProblemError:
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{field}: {detail}", [FieldError(field=field, detail=detail)])
