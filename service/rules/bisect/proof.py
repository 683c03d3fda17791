"""When a culprit is proven: measured against its parent, in turns in one session, by the rules of the gate. Pure.

A search trusts one run for a level, or a model of the noise. A proof trusts neither: both commits are measured again,
next to each other, until :func:`~service.rules.comparison.in_turns.decide` says whether they differ. Its bounds hold
whatever the noise is like.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from runner.contract import Comparison, MetricVerdict, Verdict
from runner.contract.search import ProofState
from service.rules.bisect.question import Answer, Culprit, Found, Observation, Prove, Question, Refused

DOUBTED = 3
"""Failed proofs after which a metric that should repeat is taken not to."""


def judge(culprit: Culprit, metric: str, comparison: Comparison) -> tuple[ProofState, str]:
    """Return what a comparison of the culprit (head) with its parent (base) shows, and why in words."""
    one = next((one for one in comparison.metrics if one.metric == metric), None)
    if one is None:
        return ProofState.OPEN, f"{metric} was not measured."
    if one.verdict is Verdict.NEEDS_MORE_RUNS or one.change is None:
        return ProofState.OPEN, one.sentence
    own = one.change - culprit.brought
    if _differs(one, culprit) and own and (own > 0) == (culprit.after > culprit.before):
        return ProofState.STANDS, one.sentence
    found = "the change has the other sign" if _differs(one, culprit) and own else "there is no change"
    sentence = f"The search saw {culprit.before} before and {culprit.after} after, but measured in turns {found}."
    return ProofState.FAILS, f"{sentence} {one.sentence}"


def _differs(one: MetricVerdict, culprit: Culprit) -> bool:
    # A merge can undo what its branches brought: then the same count on both sides is a change of its own.
    return one.verdict is Verdict.CHANGED or culprit.brought != 0


def runs_in_turns(culprit: Culprit, observations: Iterable[Observation]) -> tuple[Observation, Observation] | None:
    """Return the newest runs of parent and culprit that were measured in turns, if there are any."""
    parents: dict[UUID, Observation] = {}
    commits: dict[UUID, Observation] = {}
    for one in observations:
        if one.session is not None and one.value is not None:
            if one.commit == culprit.parent:
                parents[one.session] = one
            elif one.commit == culprit.commit:
                commits[one.session] = one
    both = [session for session in commits if session in parents]
    return (parents[both[-1]], commits[both[-1]]) if both else None


def precision(culprit: Culprit, *, exact: bool) -> float | None:
    """Return the smallest change, in percent, that a comparison of a culprit with its parent has to tell.

    A step counts as changed from half of the precision on: so one that is as large as the search saw it is told, and
    one that is not there is told too.
    """
    if exact:
        return None
    size = (abs(culprit.before) + abs(culprit.after)) / 2
    return min(100.0, max(0.01, 100 * abs(culprit.after - culprit.before) / size)) if size else 100.0


def next_proof(question: Question, answer: Answer, observations: Sequence[Observation]) -> Answer:
    """Return what is to be proven next of what was found; or the answer itself, where nothing is left to be."""
    if not isinstance(answer, Found):
        return answer
    doubted = _doubted(question, observations) if question.exact else 0
    if doubted > DOUBTED:
        return Refused(
            sentence=f"The metric does not repeat: {doubted} differences that single runs showed were gone when they "
            "were measured in turns. A metric that is declared noisy is searched by its own rules."
        )
    left = [one for one in answer.culprits if runs_in_turns(one, observations) is None]
    if not left:
        return answer
    return Prove(
        parent=left[0].parent,
        commit=left[0].commit,
        precision=precision(left[0], exact=question.exact),
        left=len(left),
        culprits=answer.culprits,
    )


def _doubted(question: Question, observations: Iterable[Observation]) -> int:
    """Count the pairs that differed by single runs, and did not when they were measured in turns."""
    alone: dict[str, set[float]] = {}
    sessions: dict[UUID, dict[str, float]] = {}
    for one in observations:
        if one.value is not None and one.session is None:
            alone.setdefault(one.commit, set()).add(one.value)
        elif one.value is not None and one.session is not None:
            sessions.setdefault(one.session, {})[one.commit] = one.value
    pairs = (tuple(values.items()) for values in sessions.values() if len(values) == 2)
    return sum(left[1] == right[1] and alone.get(left[0], set()) != alone.get(right[0], set()) for left, right in pairs)
