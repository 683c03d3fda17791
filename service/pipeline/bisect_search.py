"""Decides the next step of a bisect: passes the stored runs to the rules of :mod:`service.rules.bisect`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from runner.contract import ComparisonRequest, Search, SearchRequest, metric
from runner.contract.search import Asked, Culprit, Found, Proof, ProofState
from runner.contract.setting_search import SettingSearch, SettingSearchRequest
from service.rules.bisect import exact_search, noisy_search, proof, setting_search, variation
from service.rules.bisect.pace import commits_at_once
from service.rules.bisect.question import Answer, Observation, Question, Refused
from service.rules.bisect.setting_search import SettingQuestion
from service.rules.comparison import interleaved
from service.store.bisects import bisect_inputs
from service.store.runs import runs

MAX_COMMITS = 5000
"""Most commits of a noisy search, whose tables grow with their square."""


def state(session: Session, request: SearchRequest) -> Search | None:
    """Return the state of a search; None if the subject does not have one of its ends."""
    question = bisect_inputs.question(session, request)
    if question is None:
        return None
    seen = bisect_inputs.observations(session, request)
    inside = {question.good, *(node.commit for node in question.commits)}
    question = variation.fitted(question, seen)
    answer = _answer(session, request, question, seen)
    return Search(
        commits=len(question.commits),
        known=sum(run.commit in inside for run in seen),
        answer=answer,
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


def setting_state(session: Session, request: SettingSearchRequest) -> SettingSearch:
    """Return the state of a search for settings."""
    seen = bisect_inputs.mixtures(session, request)
    question = SettingQuestion(
        settings=tuple(setting.name for setting in request.settings),
        exact=metric(request.metric).exact,
        least=request.least,
        unit=metric(request.metric).unit,
    )
    return SettingSearch(known=len(seen), answer=setting_search.search(question, seen))


def _answer(
    session: Session,
    request: SearchRequest,
    question: Question,
    seen: Sequence[Observation],
    *,
    gone: frozenset[str] = frozenset(),
) -> Answer:
    """Return the next step.

    Parameters
    ----------
    gone
        The culprits of a noisy metric that a proof has refuted.
    """
    if not question.exact and len(question.commits) > MAX_COMMITS:
        return Refused(
            sentence=f"{len(question.commits)} commits are too many for a noisy metric: {MAX_COMMITS} at most."
        )
    if question.exact:
        answer = exact_search.search(question, seen, commits_at_once(request.pace))
    else:
        answer = noisy_search.search(question, seen)
    if not isinstance(answer, Found):
        return answer
    culprits = tuple(_prove(session, request.metric, question, culprit, seen) for culprit in answer.culprits)
    refuted = {
        culprit.commit for culprit in culprits if culprit.proof is not None and culprit.proof.state is ProofState.FAILS
    }
    if refuted and not question.exact:
        # An exact search uses the levels of a failed proof itself; a noisy one needs to know what they refute.
        gone |= refuted
        others = [culprit for culprit in culprits if culprit.commit not in gone]
        cleared = question.model_copy(update={"cleared": question.cleared | refuted})
        given_up = proof.give_up(question, others, len(gone), seen)
        return given_up or _answer(session, request, cleared, seen, gone=gone)
    found = Found(culprits=culprits)
    return proof.choose_next_proof(question, found, seen) if request.prove else found


def _prove(session: Session, name: str, question: Question, culprit: Culprit, seen: Sequence[Observation]) -> Culprit:
    """Return the culprit with its proof, if it was measured interleaved with its parent."""
    pair = proof.find_interleaved_runs(culprit, seen)
    base, head = (runs.report(session, side.run) if side.run else None for side in pair or ()) if pair else (None, None)
    if base is None or head is None:
        return culprit
    smallest = proof.precision(culprit, exact=question.exact)
    request = ComparisonRequest(base=base, head=head, precision={name: smallest} if smallest else {})
    comparison = interleaved.decide(request)
    shown, sentence = proof.judge(culprit, name, comparison)
    measured = Proof(
        state=shown,
        sentence=sentence,
        only_builds=proof.is_of_builds(name, comparison),
        parent_run=base.run_id,
        run=head.run_id,
    )
    return proof.with_levels(culprit.model_copy(update={"proof": measured}), name, comparison)
