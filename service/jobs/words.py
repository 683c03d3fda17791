"""What came of a job, as a reply in a thread on GitHub. Pure."""

from __future__ import annotations

from pydantic import ValidationError

from runner.contract.job import Job, State
from runner.contract.search import Culprit, Found, Search
from service.github.escape import code


def reply(job: Job, address: str) -> str:
    """Return the reply, as Markdown."""
    verb = {State.DONE: "is done", State.FAILED: "has failed", State.CANCELLED: "was cancelled"}.get(
        job.state, f"is {job.state}"
    )
    link = f"[Job {job.id}]({address}/jobs/{job.id})" if address else f"Job {job.id}"
    lines = [f"{link}, the {job.question.kind} of {code(job.question.case)}, {verb}."]
    culprits = _culprits(job)
    lines += [_culprit(one) for one in culprits]
    if not culprits and job.sentence:
        lines.append(code(job.sentence, 500))
    return "\n\n".join(lines)


def _culprits(job: Job) -> tuple[Culprit, ...]:
    if job.question.kind != "bisect" or job.result is None:
        return ()
    try:
        answer = Search.model_validate(job.result).answer
    except ValidationError:
        return ()
    return answer.culprits if isinstance(answer, Found) else ()


def _culprit(one: Culprit) -> str:
    proof = f" {one.proof.sentence}" if one.proof else ""
    others = len(one.candidates) - 1
    doubt = f" Or one of {others} before it that could not be measured." if others > 0 else ""
    return f"{one.commit} moves it from {one.before:,} to {one.after:,}.{doubt}{proof}"
