"""What came of a job, as a reply in a thread on GitHub. Pure.

A runner tells the result, and what a runner tells can be a stranger's: all of it is escaped, and only what is nothing
but a hash is left for GitHub to link.
"""

from __future__ import annotations

import re

from pydantic import ValidationError

from runner.contract import metric
from runner.contract.job import BisectQuestion, Job, State
from runner.contract.search import Culprit, Found, NothingToFind, ProofState, Search
from service.text.markdown import code

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LONGEST = 500
_MOST = 8
"""Culprits that are told one by one."""
_PROOF = {
    ProofState.STANDS: "Proven",
    ProofState.FAILS: "**Not proven**",
    ProofState.OPEN: "Neither proven nor refuted",
}


def reply(job: Job, address: str) -> str:
    """Return the reply, as Markdown."""
    verb = {State.DONE: "is done", State.FAILED: "has failed", State.CANCELLED: "was cancelled"}.get(
        job.state, f"is {job.state}"
    )
    page = "bisects" if isinstance(job.question, BisectQuestion) else "jobs"
    link = f"[Job {job.id}]({address}/{page}/{job.id})" if address else f"Job {job.id}"
    lines = [f"{link}, the {job.question.kind} of {code(job.question.case)}, {verb}."]
    found = _found(job)
    return "\n\n".join([*lines, *(found or ([code(job.sentence, _LONGEST)] if job.sentence else []))])


def _found(job: Job) -> list[str]:
    if not isinstance(job.question, BisectQuestion) or job.result is None:
        return []
    try:
        answer = Search.model_validate(job.result).answer
    except ValidationError:
        return []
    if isinstance(answer, NothingToFind):
        return [f"There is nothing to search for: {code(answer.sentence, _LONGEST)}"]
    culprits = answer.culprits if isinstance(answer, Found) else ()
    told = [_culprit(one, job.question.metric) for one in culprits[:_MOST]]
    return [*told, f"And {len(culprits) - _MOST} more."] if len(culprits) > _MOST else told


def _culprit(one: Culprit, name: str) -> str:
    unit = metric(name).unit
    moved = f"{_commit(one.commit)} moves {code(name)} from {one.before:,} to {one.after:,} {unit}."
    others = len(one.candidates) - 1
    before = "the commit" if others == 1 else f"one of the {others} commits"
    doubt = f" Or {before} before it, which could not be measured." if others > 0 else ""
    if one.proof is None:
        return f"{moved}{doubt}"
    proof = f"{_PROOF[one.proof.state]}, measured in turns with its parent {_commit(one.parent)}"
    return f"{moved}{doubt} {proof}: {code(one.proof.sentence, _LONGEST)}"


def _commit(name: str) -> str:
    return name if _HASH.fullmatch(name) else code(name, 64)
