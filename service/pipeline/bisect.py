"""Where a search stands: what is stored, put to the rules of :mod:`service.rules.bisect`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from runner.contract import ComparisonRequest, Search, SearchRequest, metric
from runner.contract.knob_search import KnobSearch, KnobSearchRequest
from runner.contract.search import Asked, Culprit, Found, Proof, ProofState
from service.rules import same_bytes
from service.rules.bisect import exact, knobs, noisy, proof
from service.rules.bisect.knobs import KnobQuestion
from service.rules.bisect.question import Answer, Observation, Question, Refused
from service.rules.comparison import in_turns
from service.store import culprit_search, runs

MOST_COMMITS = 5000
"""Of a noisy search, whose tables grow with their square."""


def state(session: Session, asked: SearchRequest) -> Search | None:
    """Return where a search stands; None where the subject does not know one of the ends."""
    question = culprit_search.question(session, asked)
    if question is None:
        return None
    seen = culprit_search.observations(session, asked)
    inside = {question.good, *(node.commit for node in question.commits)}
    return Search(
        commits=len(question.commits),
        known=sum(one.commit in inside for one in seen),
        answer=_answer(session, asked, question, seen),
        asked=Asked(
            good=asked.good,
            bad=asked.bad,
            host=asked.host.name,
            environment=asked.environment.hash,
            case=asked.case,
            metric=asked.metric,
            least=asked.least,
        ),
    )


def knob_state(session: Session, asked: KnobSearchRequest) -> KnobSearch:
    """Return where a search for knobs stands."""
    seen = culprit_search.mixtures(session, asked)
    question = KnobQuestion(
        knobs=tuple(knob.name for knob in asked.knobs), exact=metric(asked.metric).exact, least=asked.least
    )
    return KnobSearch(known=len(seen), answer=knobs.search(question, seen))


def _answer(session: Session, asked: SearchRequest, question: Question, seen: Sequence[Observation]) -> Answer:
    if not question.exact and len(question.commits) > MOST_COMMITS:
        return Refused(
            sentence=f"{len(question.commits)} commits are too many for a noisy metric: {MOST_COMMITS} at most."
        )
    seen, question = _same_bytes(question, seen)
    search = exact.search if question.exact else noisy.search
    answer = search(question, seen, asked.slots, asked.pending)
    if not isinstance(answer, Found):
        return answer
    culprits = tuple(_proven(session, asked.metric, question, one, seen) for one in answer.culprits)
    wrong = {one.commit for one in culprits if one.proof is not None and one.proof.state is ProofState.FAILS}
    if wrong and not question.exact:
        # An exact search takes the levels of a failed proof for its own; a noisy one is told what it refutes.
        cleared = question.model_copy(update={"cleared": question.cleared | wrong})
        return _answer(session, asked, cleared, seen)
    found = Found(culprits=culprits)
    return proof.proven(question, found, seen) if asked.prove else found


def _same_bytes(question: Question, seen: Sequence[Observation]) -> tuple[Sequence[Observation], Question]:
    """Let the same bytes count the same: they have one exact level together, and in noise such commits are cleared."""
    if not question.exact:
        parents = ((node.commit, node.parents) for node in question.commits)
        cleared = question.cleared | same_bytes.changed_nothing(seen, parents)
        return seen, question.model_copy(update={"cleared": cleared})
    levels = same_bytes.levels_of_bytes(seen)
    return [
        one if one.value is None else one.model_copy(update={"value": levels.get(one.material, one.value)})
        for one in seen
    ], question


def _proven(session: Session, name: str, question: Question, culprit: Culprit, seen: Sequence[Observation]) -> Culprit:
    """Return the culprit with what its proof shows, if it was measured in turns with its parent."""
    pair = proof.in_turns(culprit, seen)
    base, head = (runs.report(session, one.run) if one.run else None for one in pair or ()) if pair else (None, None)
    if base is None or head is None:
        return culprit
    smallest = proof.precision(culprit, exact=question.exact)
    told = ComparisonRequest(base=base, head=head, precision={name: smallest} if smallest else {})
    shown, sentence = proof.judge(culprit, name, in_turns.decide(told))
    return culprit.model_copy(
        update={"proof": Proof(state=shown, sentence=sentence, parent_run=base.run_id, run=head.run_id)}
    )
