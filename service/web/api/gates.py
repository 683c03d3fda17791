"""Gates of pull requests: a job reports its measurements, and the service decides and publishes the verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint

from runner.contract.gate import BaseAnswer, BaseQuery, GateAnswer, GateReport
from service.forges import comment_text, gate_verdict_text
from service.forges.comment_links import build_links
from service.forges.extension import find_worker
from service.forges.gate_findings import list_findings
from service.forges.qualified_names import qualify_name
from service.pipeline import gate_diagnoses, judging_schedule
from service.rules.gate.verdict import Acceptance, GateOutcome, judge_gate
from service.store import accepted_heads, gate_baseline_levels
from service.store import forge_queue as store
from service.store.runs import gate_base_run
from service.store.series import proofs
from service.text.markdown import make_text_plain
from service.web.access.token_limits_and_ownership import require_access_to_publication, require_access_to_report
from service.web.app_resources import get_database
from service.web.problems import FieldError, ProblemError

bp = APIBlueprint("gates", __name__)

_MAX_SUMMARY_BYTES = 1_000_000
"""GitHub accepts at most 1 MiB per step for the summary of a job."""


@bp.post("/gates/base")
@bp.input(BaseQuery)
@bp.output(BaseAnswer)
def base(json_data: BaseQuery) -> BaseAnswer:
    """Return the newest stored run of a base that was measured on the same host in the same environment."""
    require_access_to_report([json_data.subject], read_only=True)
    with get_database().reading() as session:
        return BaseAnswer(report=gate_base_run.find_base_report(session, json_data))


@bp.post("/gates")
@bp.input(GateReport)
@bp.output(GateAnswer)
def post(json_data: GateReport) -> GateAnswer:
    """Judge all that was measured for the head of a pull request; return the verdict, and publish it.

    The same report may be sent again. A GitHub Actions job may report only about its own repository, and a limited
    token only about its repositories.
    """
    repository = json_data.repository
    if repository is not None:
        require_access_to_publication(qualify_name(json_data.forge, repository))
    # Check the limits of the caller, and judge the report.
    sides = [side for case in json_data.cases for side in (case.base, case.head)]
    require_access_to_report({side.subject for side in sides}, {side.host.name for side in sides})
    outcome = judge_gate(json_data)
    with get_database().reading() as session:
        # A small step is an increase too small to fail, but the latest of several may exceed the budget together.
        baselines = gate_baseline_levels.find_baselines(session, json_data, outcome.list_small_steps())
    outcome = outcome.with_baselines(baselines)
    # Store the report if a forge publishes its verdict, and the proofs of its pairs.
    forge_worker = find_worker()
    forge = forge_worker.forges.get(json_data.forge) if forge_worker else None
    if forge_worker is not None and forge is not None and repository is not None:
        outcome = replace(
            outcome, accepted=_store_report(qualify_name(json_data.forge, repository), json_data, baselines)
        )
        forge_worker.wake()
    _store_proofs(outcome)
    # Answer.
    with get_database().reading() as session:
        outcome = replace(outcome, diagnoses=gate_diagnoses.find_case_diagnoses(session, outcome))
    links = build_links(
        forge.address if forge else "", json_data, reads_comments=forge is not None and repository is not None
    )
    return GateAnswer(
        verdict=outcome.verdict,
        passed=outcome.passed,
        judge=gate_verdict_text.describe_judge(outcome, make_text_plain),
        sentence=gate_verdict_text.describe_gate_verdict(outcome, make_text_plain),
        summary=comment_text.build_comment(outcome, links, max_bytes=_MAX_SUMMARY_BYTES),
        comparisons=tuple(case_outcome.comparison for case_outcome in outcome.cases),
        findings=list_findings(outcome),
    )


def _store_proofs(outcome: GateOutcome) -> None:
    """Store what the pairs of each case have proven, which settles the drifts of the series between these commits."""
    # A base that was stored before was not measured interleaved with head: there are no pairs.
    gate_cases = [case for case in outcome.cases if case.comparison and not case.case.base_stored]
    if gate_cases:
        with get_database().writing({case.case.base.subject for case in gate_cases}) as session:
            for case in gate_cases:
                assert case.comparison is not None
                proofs.store_proofs(session, case.case.build_request(), case.comparison)
        judging_schedule.judge_or_defer_series(get_database())


def _store_report(repository: str, report: GateReport, baselines: gate_baseline_levels.Baselines) -> Acceptance | None:
    """Store a report that is to be published; return who accepted its changes and why, or None if nobody has.

    Raises
    ------
    ProblemError
        422, where the report names no pull request, and no known pull request has its head.
    """
    with get_database().writing() as session:
        number = report.pull_request or store.find_pull_request(session, repository, report.head)
        if number is None:
            detail = f"no known pull request has the head {report.head[:10]}: specify the pull request"
            errors = [FieldError(field="pull_request", detail=detail)]
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"pull_request: {detail}", errors)
        gate = store.get_or_create_gate(session, repository, number, report.head)
        if report.merge_group:
            accepted_heads.accept_merge_queue_commit(session, gate)
        store.store_report(gate, report, gate_baseline_levels.pack_baselines(baselines), datetime.now(UTC))
        return Acceptance(gate.accepted_by, gate.accepted_reason) if gate.accepted_by else None
