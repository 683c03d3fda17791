"""Gates of pull requests: a job hands over what it measured, the service decides, and GitHub is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint

from runner.contract.gate import BaseAnswer, BaseQuery, GateAnswer, GateReport
from service.access.guard import caller
from service.access.held import hold, refusal
from service.api.problems import FieldError, ProblemError
from service.current import database
from service.github import comment, words
from service.github.escape import plain
from service.github.finding import Accepted, judge
from service.github.kept import queue
from service.store import baselines, insights, runs
from service.store import github as store

bp = APIBlueprint("gates", __name__)

_SUMMARY = 1_000_000
"""GitHub takes a mebibyte from a step for the summary of its job."""


@bp.post("/gates/base")
@bp.input(BaseQuery)
@bp.output(BaseAnswer)
def base(json_data: BaseQuery) -> BaseAnswer:
    """Return what is stored of a base, measured on the same host in the same environment."""
    hold([json_data.subject], asking=True)
    with database().reading() as session:
        return BaseAnswer(report=runs.alike(session, json_data))


@bp.post("/gates")
@bp.input(GateReport)
@bp.output(GateAnswer)
def post(json_data: GateReport) -> GateAnswer:
    """Return the verdict on all that was measured for the head of a pull request, and have GitHub told.

    The same report may be sent again. A job of GitHub Actions reports of its own repository alone.
    """
    own = caller().repository
    if own is not None and own != json_data.repository.lower():
        raise refusal(own, f"{json_data.repository} is another repository")
    hold({case.head.subject for case in json_data.cases})
    kept, number = queue(), json_data.pull_request
    finding = judge(json_data)
    with database().reading() as session:
        since = baselines.find(session, json_data, finding.steps())
    accepted = None
    if kept is not None:
        with database().writing() as session:
            number = number or store.number_of(session, json_data.repository, json_data.head)
            if number is not None:
                gate = store.measured(session, json_data, number, datetime.now(UTC), baselines.pack(since))
                accepted = Accepted(gate.accepted_by, gate.accepted_reason) if gate.accepted_by else None
        if number is None:
            detail = f"no pull request is known with the head {json_data.head[:10]}: name it"
            raise ProblemError(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"pull_request: {detail}",
                [FieldError(field="pull_request", detail=detail)],
            )
        kept.ring()
    finding = replace(finding.since(since), accepted=accepted)
    with database().reading() as session:
        finding = replace(finding, insights=insights.find(session, finding))
    links = comment.links(_address(), json_data.base, json_data.head, json_data.log_url)
    return GateAnswer(
        passed=finding.passed,
        sentence=words.verdict(finding, plain),
        summary=comment.text(finding, links, limit=_SUMMARY),
        comparisons=tuple(one.comparison for one in finding.cases),
    )


def _address() -> str:
    kept = queue()
    return kept.desk.settings.address if kept else ""
