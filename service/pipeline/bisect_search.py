"""Decides the next step of a bisect: passes the stored runs to the rules of :mod:`service.rules.bisect`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from runner.contract import ComparisonRequest, Search, SearchRequest, metric
from runner.contract.knob_search import KnobSearch, KnobSearchRequest
from runner.contract.search import Asked, Culprit, Found, Proof, ProofState
from service.rules import same_bytes
from service.rules.bisect import exact_search, knob_search, noisy_search, proof
from service.rules.bisect.knob_search import KnobQuestion
from service.rules.bisect.question import Answer, Observation, Question, Refused
from service.rules.comparison import in_turns
from service.store import bisect_inputs, runs

MOST_COMMITS = 5000
"""Most commits of a noisy search, whose tables grow with their square."""


def state(session: Session, request: SearchRequest) -> Search | None:
    """Return the state of a search; None where the subject does not have one of its ends."""
    question = bisect_inputs.question(session, request)
    if question is None:
        return None
    seen = bisect_inputs.observations(session, request)
    inside = {question.good, *(node.commit for node in question.commits)}
    return Search(
        commits=len(question.commits),
        known=sum(run.commit in inside for run in seen),
        answer=_answer(session, request, question, seen),
        asked=Asked(
            good=request.good,
            bad=request.bad,
            host=request.host.name,
            environment=request.environment.hash,
            case=request.case,
            metric=request.metric,
            least=request.least,
        ),
    )


def knob_state(session: Session, request: KnobSearchRequest) -> KnobSearch:
    """Return the state of a search for knobs."""
    seen = bisect_inputs.mixtures(session, request)
    question = KnobQuestion(
        knobs=tuple(knob.name for knob in request.knobs), exact=metric(request.metric).exact, least=request.least
    )
    return KnobSearch(known=len(seen), answer=knob_search.search(question, seen))


def _answer(session: Session, request: SearchRequest, question: Question, seen: Sequence[Observation]) -> Answer:
    if not question.exact and len(question.commits) > MOST_COMMITS:
        return Refused(
            sentence=f"{len(question.commits)} commits are too many for a noisy metric: {MOST_COMMITS} at most."
        )
    seen, question = _apply_same_bytes(question, seen)
    search = exact_search.search if question.exact else noisy_search.search
    answer = search(question, seen, request.slots, request.pending)
    if not isinstance(answer, Found):
        return answer
    culprits = tuple(_proven(session, request.metric, question, culprit, seen) for culprit in answer.culprits)
    refuted = {
        culprit.commit for culprit in culprits if culprit.proof is not None and culprit.proof.state is ProofState.FAILS
    }
    if refuted and not question.exact:
        # An exact search uses the levels of a failed proof itself; a noisy one needs to know what they refute.
        cleared = question.model_copy(update={"cleared": question.cleared | refuted})
        return _answer(session, request, cleared, seen)
    found = Found(culprits=culprits)
    return proof.next_proof(question, found, seen) if request.prove else found


def _apply_same_bytes(question: Question, seen: Sequence[Observation]) -> tuple[Sequence[Observation], Question]:
    """Give runs of the same bytes one exact level; in a noisy search, clear the commits that change no bytes."""
    if not question.exact:
        parents = ((node.commit, node.parents) for node in question.commits)
        cleared = question.cleared | same_bytes.commits_without_change(seen, parents)
        return seen, question.model_copy(update={"cleared": cleared})
    levels = same_bytes.levels_by_bytes(seen)
    pooled = [
        run if run.value is None else run.model_copy(update={"value": levels.get(run.bytes_key, run.value)})
        for run in seen
    ]
    return pooled, question


def _proven(session: Session, name: str, question: Question, culprit: Culprit, seen: Sequence[Observation]) -> Culprit:
    """Return the culprit with its proof, if it was measured in turns with its parent."""
    pair = proof.runs_in_turns(culprit, seen)
    base, head = (runs.report(session, side.run) if side.run else None for side in pair or ()) if pair else (None, None)
    if base is None or head is None:
        return culprit
    smallest = proof.precision(culprit, exact=question.exact)
    comparison = ComparisonRequest(base=base, head=head, precision={name: smallest} if smallest else {})
    shown, sentence = proof.judge(culprit, name, in_turns.decide(comparison))
    return culprit.model_copy(
        update={"proof": Proof(state=shown, sentence=sentence, parent_run=base.run_id, run=head.run_id)}
    )
