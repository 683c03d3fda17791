"""Renders the result of a job as a reply in a thread on GitHub.

The result comes from a runner and may hold untrusted text: all of it is escaped, except for commit hashes, which GitHub
links.
"""

from __future__ import annotations

import re

from pydantic import ValidationError

from runner.contract import metric
from runner.contract.job import BisectQuestion, Job, State
from runner.contract.search import Culprit, Found, NothingToFind, ProofState, Search
from service.text.markdown import code
from service.text.numbers import difference, quantity

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_TEXT_CHARACTERS = 500
_MAX_CULPRITS = 8
"""Culprits that are listed."""
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
    result = _result(job)
    return "\n\n".join([*lines, *(result or ([code(job.sentence, _MAX_TEXT_CHARACTERS)] if job.sentence else []))])


def _result(job: Job) -> list[str]:
    if not isinstance(job.question, BisectQuestion) or job.result is None:
        return []
    try:
        answer = Search.model_validate(job.result).answer
    except ValidationError:
        return []
    if isinstance(answer, NothingToFind):
        return [f"No commit was found: {code(answer.sentence, _MAX_TEXT_CHARACTERS)}"]
    culprits = answer.culprits if isinstance(answer, Found) else ()
    listed = [_culprit(culprit, job.question.metric) for culprit in culprits[:_MAX_CULPRITS]]
    return [*listed, f"And {len(culprits) - _MAX_CULPRITS} more."] if len(culprits) > _MAX_CULPRITS else listed


def _culprit(culprit: Culprit, name: str) -> str:
    unit = metric(name).unit
    before, after = quantity(culprit.before, unit, culprit.after), quantity(culprit.after, unit, culprit.before)
    stands = culprit.proof is not None and culprit.proof.state is ProofState.STANDS
    verb = "moves" if stands else "may move"
    moved = f"{_commit(culprit.commit)} {verb} {code(name)} from {before} to {after}."
    if culprit.brought:
        moved += f" The merged commits moved it by {difference(culprit.brought, unit)} on their own branch."
    others = len(culprit.candidates) - 1
    before = "the commit" if others == 1 else f"one of the {others} commits"
    doubt = f" Measurements of the range cannot tell it apart from {before} before it." if others > 0 else ""
    if culprit.proof is None:
        return f"{moved}{doubt} It is not proven."
    proof = f"{_PROOF[culprit.proof.state]}, measured interleaved with its parent {_commit(culprit.parent)}"
    return f"{moved}{doubt} {proof}: {code(culprit.proof.sentence, _MAX_TEXT_CHARACTERS)}"


def _commit(name: str) -> str:
    return name if _HASH.fullmatch(name) else code(name, 64)
