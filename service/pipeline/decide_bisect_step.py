"""Decides the next step of a bisect: passes the stored runs to the rules of :mod:`service.rules.bisect`."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from runner.contract import ComparisonRequest, Search, SearchRequest, get_metric
from runner.contract.commit_search import Culprit, Found, Proof, ProofState, RequestSummary
from runner.contract.setting_search import SettingSearch, SettingSearchRequest
from service.rules.bisect import count_variation, culprit_proof, exact_search, noisy_search, setting_search
from service.rules.bisect.commits_per_step import choose_commits_at_once
from service.rules.bisect.question import Answer, Observation, Question, Refused
from service.rules.bisect.setting_search import SettingQuestion
from service.rules.comparison import comparison_verdict
from service.store.bisects import bisect_inputs
from service.store.runs import runs

MAX_COMMITS = 5000
"""Maximum number of commits in a noisy search, whose tables grow with the square of this number."""


def search_commits(session: Session, request: SearchRequest) -> Search | None:
    """Return the state of a search; None if one of its ends is not a commit of the subject."""
    question = bisect_inputs.read_question(session, request)
    if question is None:
        return None
    observations = bisect_inputs.read_observations(session, request)
    commits_of_range = {question.good, *(node.commit for node in question.commits)}
    question = count_variation.apply_noise_rules_if_varying(question, observations)
    answer = _decide_next_step(session, request, question, observations)
    return Search(
        commits=len(question.commits),
        # Only stored runs of commits in the range are useful to the search.
        stored_runs=sum(run.commit in commits_of_range for run in observations),
        answer=answer,
        request=RequestSummary(
            good=request.good,
            bad=request.bad,
            host=request.host.name,
            environment=request.environment.hash,
            case=request.case,
            metric=request.metric,
            min_difference=request.min_difference,
        ),
    )


def search_settings(session: Session, request: SettingSearchRequest) -> SettingSearch:
    """Return the state of a search for the settings that moved a metric: the next measurement, or these settings."""
    # Each mixture is a stored run with some of the settings changed.
    mixtures = bisect_inputs.read_mixtures(session, request)
    question = SettingQuestion(
        settings=tuple(setting.name for setting in request.settings),
        exact=get_metric(request.metric).exact,
        min_difference=request.min_difference,
        unit=get_metric(request.metric).unit,
    )
    return SettingSearch(stored_runs=len(mixtures), answer=setting_search.search_settings(question, mixtures))


def _decide_next_step(
    session: Session,
    request: SearchRequest,
    question: Question,
    observations: Sequence[Observation],
    *,
    refuted_commits: frozenset[str] = frozenset(),
) -> Answer:
    """Return the next step of a search.

    Parameters
    ----------
    refuted_commits
        For a noisy metric: culprits that proofs have refuted. The function calls itself without them.
    """
    if not question.exact and len(question.commits) > MAX_COMMITS:
        return Refused(
            sentence=f"{len(question.commits):,} commits are too many: the bisect of a noisy metric allows at most "
            f"{MAX_COMMITS:,}."
        )
    if question.exact:
        answer = exact_search.search_exact_metric(question, observations, choose_commits_at_once(request.pace))
    else:
        answer = noisy_search.search_noisy_metric(question, observations)
    if not isinstance(answer, Found):
        return answer
    culprits = tuple(
        _add_proof(session, request.metric, question, culprit, observations) for culprit in answer.culprits
    )
    newly_refuted_commits = {
        culprit.commit for culprit in culprits if culprit.proof is not None and culprit.proof.state is ProofState.FAILS
    }
    if newly_refuted_commits and not question.exact:
        # An exact search uses the levels of a failed proof directly; a noisy search has to be told what they refute.
        refuted_commits |= newly_refuted_commits
        remaining_culprits = [culprit for culprit in culprits if culprit.commit not in refuted_commits]
        question_without_refuted = question.model_copy(update={"cleared": question.cleared | newly_refuted_commits})
        given_up = culprit_proof.end_if_proofs_fail(question, remaining_culprits, len(refuted_commits), observations)
        if given_up is not None:
            return given_up
        return _decide_next_step(
            session, request, question_without_refuted, observations, refuted_commits=refuted_commits
        )
    result_with_proofs = Found(culprits=culprits)
    return (
        culprit_proof.choose_next_proof(question, result_with_proofs, observations)
        if request.prove
        else result_with_proofs
    )


def _add_proof(
    session: Session, metric_name: str, question: Question, culprit: Culprit, observations: Sequence[Observation]
) -> Culprit:
    """Return the culprit with its proof, if it was measured interleaved with its parent."""
    pair = culprit_proof.find_interleaved_runs(culprit, observations)
    if not pair:
        return culprit
    parent_run, culprit_run = pair
    base = runs.find_report(session, parent_run.run) if parent_run.run else None
    head = runs.find_report(session, culprit_run.run) if culprit_run.run else None
    if base is None or head is None:
        return culprit
    precision = culprit_proof.choose_precision(culprit, exact=question.exact)
    request = ComparisonRequest(base=base, head=head, precision={metric_name: precision} if precision else {})
    comparison = comparison_verdict.decide_comparison(request)
    proof_state, sentence = culprit_proof.decide_proof(culprit, metric_name, comparison)
    proof = Proof(
        state=proof_state,
        sentence=sentence,
        only_builds=culprit_proof.differs_only_like_builds(metric_name, comparison),
        parent_run=base.run_id,
        run=head.run_id,
    )
    return culprit_proof.add_levels_of_proof(culprit.model_copy(update={"proof": proof}), metric_name, comparison)
