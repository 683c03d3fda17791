"""Orders the job that a command in a comment requests: a bisect or a profile of a case of the pull request."""

from __future__ import annotations

from pydantic import ValidationError

from runner.contract import Verdict
from runner.contract.gate import GateReport
from runner.contract.job import Backend, BisectQuestion, JobOrder, ProfileQuestion, Question, Where
from service.forges.comment_commands import Command, Verb
from service.forges.webhook_actions import CommandComment
from service.jobs.scheduler import JobScheduler, WrongOrderError
from service.rules.gate.verdict import CaseOutcome, judge_gate
from service.rules.jobs.job_variables import read_variables
from service.store import forge_queue as store
from service.store.jobs import Requester
from service.text.markdown import format_code

_MAX_NAMED_CASES = 10
"""Largest number of cases that a reply names."""


def order_job(
    jobs: JobScheduler, comment: CommandComment, command: Command, head: str, address: str
) -> tuple[bool, str]:
    """Order the job that a command requests about a head; return whether this succeeded, and the reply."""
    with jobs.database.reading() as session:
        gate = store.find_gate(session, comment.repository, comment.number, head)
        report = store.read_report(gate) if gate and gate.document else None
    if report is None:
        return False, f"{head[:10]} has not been measured yet. Repeat the command once it has been measured."
    try:
        question = build_question(command, report)
        if isinstance(question, str):
            return False, question
        job_order = JobOrder(question=question, backend=Backend.GITHUB, github=comment.repository)
    except ValidationError as error:
        # A report allows more names than a job, for example any path of a workload file.
        field = ".".join(map(str, error.errors()[0]["loc"]))
        return (
            False,
            f"No job can be ordered for this: its field {format_code(field)} is too long, or contains a character that "
            "jobs do not allow.",
        )
    requester = Requester(comment.author, Where.COMMENT, f"{comment.repository}#{comment.number}")
    try:
        job, is_new = jobs.order(job_order, requester)
    except WrongOrderError as error:
        return False, str(error)
    link = f"[job {job.id}]({address}/jobs/{job.id})" if address else f"job {job.id}"
    status = "The result will be posted here." if is_new else "The job had already been ordered."
    return True, f"The {command.verb} of {format_code(question.case)} at {head[:10]} is {link}. {status}"


def build_question(command: Command, report: GateReport) -> Question | str:
    """Return the question of the job, or the reason why there is none. Only the case comes from the command itself."""
    outcome_of_case = {outcome.name: outcome for outcome in judge_gate(report, None).cases}
    outcome = outcome_of_case.get(command.text)
    if outcome is None:
        names = ", ".join(format_code(name) for name in list(outcome_of_case)[:_MAX_NAMED_CASES])
        return f"There is no case {format_code(command.text)}. Cases: {names or 'none'}."
    head = outcome.case.head
    common_fields = {
        "subject": head.subject,
        "case": outcome.name,
        "host": head.host.name,
        "workload": outcome.case.file,
        "variables": read_variables(head.environment.settings),
    }
    if command.verb is Verb.PROFILE:
        return ProfileQuestion.model_validate(common_fields | {"revision": report.head, "against": report.base})
    metric = _choose_metric_to_bisect(outcome)
    return BisectQuestion.model_validate(common_fields | {"good": report.base, "bad": report.head, "metric": metric})


def _choose_metric_to_bisect(outcome: CaseOutcome) -> str:
    """Return the first metric over its budget, otherwise the first that changed, otherwise minor faults.

    In both groups, metrics that count for the verdict of the gate come before those that are only shown.
    """
    metrics = outcome.comparison.metrics if outcome.comparison else ()
    changed_verdicts = [verdict for verdict in metrics if verdict.verdict is Verdict.CHANGED]
    ranked_verdicts = sorted(changed_verdicts, key=lambda verdict: (not verdict.over_budget, not verdict.counts))
    return ranked_verdicts[0].metric if ranked_verdicts else "minor-faults"
