"""Renders the result of a job as a reply in a thread on GitHub.

The result comes from a runner and may contain untrusted text. All of it is escaped, except for commit hashes, which
GitHub turns into links.
"""

from __future__ import annotations

import re

from pydantic import ValidationError

from runner.contract import get_metric
from runner.contract.commit_search import Culprit, Found, NothingToFind, ProofState, Search
from runner.contract.job import BisectQuestion, Job, State
from runner.contract.number_text import format_difference, format_quantity
from service.text.markdown import format_code

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_HASH_CHARACTERS = 64
"""The length of a SHA-256 hash; a longer name of a commit is cut."""
_MAX_TEXT_CHARACTERS = 500
_MAX_CULPRITS = 8
"""Largest number of culprits that are listed."""
_STATE_VERBS = {State.DONE: "is done", State.FAILED: "has failed", State.CANCELLED: "was cancelled"}
_PROOF_SENTENCES = {
    ProofState.STANDS: "Proven",
    ProofState.FAILS: "**Not proven**",
    ProofState.OPEN: "Neither proven nor refuted",
}


def render_reply(job: Job, address: str) -> str:
    """Return the reply, as Markdown."""
    verb = _STATE_VERBS.get(job.state, f"is {job.state}")
    page = "bisects" if isinstance(job.question, BisectQuestion) else "jobs"
    link = f"[Job {job.id}]({address}/{page}/{job.id})" if address else f"Job {job.id}"
    paragraphs = [f"{link}, the {job.question.kind} of {format_code(job.question.case)}, {verb}."]
    result = _describe_result(job)
    if result:
        paragraphs += result
    elif job.sentence:
        paragraphs.append(format_code(job.sentence, _MAX_TEXT_CHARACTERS))
    return "\n\n".join(paragraphs)


def _describe_result(job: Job) -> list[str]:
    """Return the result of a bisect in sentences; none for other jobs."""
    if not isinstance(job.question, BisectQuestion) or job.result is None:
        return []
    try:
        answer = Search.model_validate(job.result).answer
    except ValidationError:
        return []
    if isinstance(answer, NothingToFind):
        return [f"No commit was found: {format_code(answer.sentence, _MAX_TEXT_CHARACTERS)}"]
    culprits = answer.culprits if isinstance(answer, Found) else ()
    culprit_lines = [_describe_culprit(culprit, job.question.metric) for culprit in culprits[:_MAX_CULPRITS]]
    if len(culprits) > _MAX_CULPRITS:
        culprit_lines.append(f"And {len(culprits) - _MAX_CULPRITS} more.")
    return culprit_lines


def _describe_culprit(culprit: Culprit, metric_name: str) -> str:
    """Return sentences on a culprit: its effect on the metric, and whether that is proven."""
    unit = get_metric(metric_name).unit
    # Each level is written with enough digits to differ from the other one.
    before = format_quantity(culprit.before, unit, culprit.after)
    after = format_quantity(culprit.after, unit, culprit.before)
    is_proven = culprit.proof is not None and culprit.proof.state is ProofState.STANDS
    verb = "moves" if is_proven else "may move"
    sentence = f"{_format_commit(culprit.commit)} {verb} {format_code(metric_name)} from {before} to {after}."
    if culprit.branch_change:
        change = format_difference(culprit.branch_change, unit)
        sentence += f" The merged commits moved the metric by {change} on their own branch."
    n_others = len(culprit.candidates) - 1
    other_commits = "one other commit" if n_others == 1 else f"{n_others} other commits"
    doubt_sentence = (
        f" Measurements in the range cannot distinguish this commit from {other_commits}." if n_others > 0 else ""
    )
    if culprit.proof is None:
        return f"{sentence}{doubt_sentence} Not proven."
    parent = _format_commit(culprit.parent)
    proof_clause = (
        f"{_PROOF_SENTENCES[culprit.proof.state]} by measurements interleaved with those of its parent {parent}"
    )
    return f"{sentence}{doubt_sentence} {proof_clause}: {format_code(culprit.proof.sentence, _MAX_TEXT_CHARACTERS)}"


def _format_commit(name: str) -> str:
    return name if _HASH.fullmatch(name) else format_code(name, _MAX_HASH_CHARACTERS)
