"""Decides whether a culprit is proven: measured interleaved with its parent, by the rules of the gate.

A search relies on one run per level, or on a model of the noise. A proof relies on neither: both commits are measured
again, next to each other in one session, until :func:`~service.rules.comparison.comparison_verdict.decide_comparison`
decides whether they differ. Its error bounds hold whatever the noise is like. A small difference has to show in further
builds of both commits as well, because a proof is about two commits, not about two builds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from runner.contract import Comparison, MetricVerdict, Verdict, get_metric
from runner.contract.commit_search import ProofState
from runner.contract.level import Number
from runner.contract.number_text import format_quantity
from runner.contract.word_list import join_words
from service.rules.bisect.question import Answer, Culprit, Found, Observation, Prove, Question
from service.rules.bisect.refusals import refuse_variation
from service.rules.relative_change import compute_symmetric_percent_change

MAX_PROOFS_WITHOUT_RESULT = 3
"""If more proofs than this show nothing, the metric is considered not to repeat, although it should."""
_MIN_PRECISION_PERCENT = 0.01
_MAX_PRECISION_PERCENT = 100.0
"""The bounds of a precision: a comparison accepts any precision above 0 % and up to 100 %."""


def decide_proof(culprit: Culprit, metric_name: str, comparison: Comparison) -> tuple[ProofState, str]:
    """Return the state of a proof, from a comparison of the culprit (head) with its parent (base), and the reason."""
    verdict = comparison.find_verdict(metric_name)
    if verdict is None:
        return ProofState.OPEN, f"{metric_name} was not measured."
    if verdict.verdict is Verdict.NEEDS_MORE_RUNS or verdict.change is None or verdict.needs_other_build:
        return ProofState.OPEN, verdict.sentence
    # The change that merged branches brought in is not the culprit's own change.
    own_change = verdict.change - culprit.branch_change
    has_changed = own_change != 0 and _counts_as_difference(verdict, culprit)
    if has_changed and (own_change > 0) == (culprit.own_change > 0):
        return ProofState.STANDS, verdict.sentence
    result = "a change in the opposite direction" if has_changed else "no change"
    unit = get_metric(metric_name).unit
    before = format_quantity(culprit.before, unit, culprit.after)
    after = format_quantity(culprit.after, unit, culprit.before)
    sentence = (
        f"The search measured {before} before the commit and {after} after it. The interleaved measurement shows "
        f"{result}."
    )
    return ProofState.FAILS, f"{sentence} {verdict.sentence}"


def differs_only_like_builds(metric_name: str, comparison: Comparison) -> bool:
    """Return whether a metric differs no more than it does between builds of one commit, in one or in two folders."""
    return any(
        verdict.metric == metric_name and verdict.same_because in {"other builds", "place"}
        for verdict in comparison.metrics
    )


def add_levels_of_proof(culprit: Culprit, metric_name: str, comparison: Comparison) -> Culprit:
    """Return a proven culprit with the levels of base and head in its proof.

    It keeps the levels of the search if it is not proven, or if the levels of the proof have the opposite order, as
    medians of counts with several modes can have.
    """
    verdict = comparison.find_verdict(metric_name)
    if verdict is None or culprit.proof is None or culprit.proof.state is not ProofState.STANDS:
        return culprit
    before, after = verdict.base.level, verdict.head.level
    if before is None or after is None:
        return culprit
    culprit_with_levels = culprit.model_copy(update={"before": before, "after": after})
    return culprit_with_levels if (culprit_with_levels.own_change > 0) == (culprit.own_change > 0) else culprit


def _counts_as_difference(verdict: MetricVerdict, culprit: Culprit) -> bool:
    """Return whether a comparison counts as a difference: it found one, or the merged branches brought in a change."""
    # A merge can undo the change of its branches: then equal counts on both sides mean that it made a change itself.
    return verdict.verdict is Verdict.CHANGED or culprit.branch_change != 0


def find_interleaved_runs(
    culprit: Culprit, observations: Iterable[Observation]
) -> tuple[Observation, Observation] | None:
    """Return the newest runs of parent and culprit that were measured interleaved; None if there are none."""
    parents: dict[UUID, Observation] = {}
    commits: dict[UUID, Observation] = {}
    for observation in observations:
        if observation.session is not None and observation.value is not None:
            if observation.commit == culprit.parent:
                parents[observation.session] = observation
            elif observation.commit == culprit.commit:
                commits[observation.session] = observation
    sessions = [session for session in commits if session in parents]  # in order of time, like the observations
    return (parents[sessions[-1]], commits[sessions[-1]]) if sessions else None


def choose_precision(culprit: Culprit, *, exact: bool) -> float | None:
    """Return the smallest change, in percent, that a comparison of a culprit with its parent has to detect.

    A step counts as a change if it is at least half of the precision. So both a step as large as the search measured
    and the absence of a step are detected. None for an exact metric, which needs no precision.
    """
    if exact:
        return None
    if not culprit.before and not culprit.after:
        return _MAX_PRECISION_PERCENT  # there is no relative change between two zeros
    percent_change = abs(compute_symmetric_percent_change(culprit.before, culprit.after))
    return min(_MAX_PRECISION_PERCENT, max(_MIN_PRECISION_PERCENT, percent_change))


def choose_next_proof(question: Question, answer: Answer, observations: Sequence[Observation]) -> Answer:
    """Return the next proof to measure, or if none is left, the culprits, or a refusal if no proof confirms any.

    Parameters
    ----------
    answer
        The culprits, with the proofs measured so far.
    """
    if not isinstance(answer, Found):
        return answer
    # An exact search uses the levels of a proof, so it no longer returns a culprit that its proof has refuted.
    n_refuted = _count_unconfirmed_pairs(question, observations) if question.exact else 0
    early_end = end_if_proofs_fail(question, answer.culprits, n_refuted, observations)
    if early_end is not None:
        return early_end
    unproven_culprits = [culprit for culprit in answer.culprits if find_interleaved_runs(culprit, observations) is None]
    if not unproven_culprits:
        measured_culprits = [culprit for culprit in answer.culprits if culprit.proof]
        is_any_proven = any(culprit.proof.state is ProofState.STANDS for culprit in measured_culprits if culprit.proof)
        if measured_culprits and not is_any_proven:
            refusal = refuse_variation(question, observations, _explain_unproven(measured_culprits))
            only_builds = all(culprit.proof.only_builds for culprit in measured_culprits if culprit.proof)
            return refusal.model_copy(update={"only_builds": only_builds})
        refuted_commits = {
            culprit.commit for culprit in measured_culprits if culprit.proof and culprit.proof.state is ProofState.FAILS
        }
        return Found(culprits=tuple(culprit for culprit in answer.culprits if culprit.commit not in refuted_commits))
    next_culprit = unproven_culprits[0]
    return Prove(
        parent=next_culprit.parent,
        commit=next_culprit.commit,
        precision=choose_precision(next_culprit, exact=question.exact),
        culprits_left=len(unproven_culprits),
        culprits=answer.culprits,
    )


def end_if_proofs_fail(
    question: Question, culprits: Iterable[Culprit], n_refuted: int, observations: Sequence[Observation]
) -> Answer | None:
    """Return the final answer of a search if too many of its proofs show nothing; None if the search continues.

    Differences between single runs then say nothing about this metric. So only proven culprits are named, and if there
    are none, the search is refused.

    Parameters
    ----------
    n_refuted
        How many culprits are no longer among ``culprits`` because a proof refuted them.
    """
    proofs = [culprit.proof for culprit in culprits if culprit.proof is not None]
    proven_culprits = [culprit for culprit in culprits if culprit.proof and culprit.proof.state is ProofState.STANDS]
    n_failed = n_refuted + len(proofs) - len(proven_culprits)
    if n_failed <= MAX_PROOFS_WITHOUT_RESULT:
        return None
    if proven_culprits:
        return Found(culprits=tuple(proven_culprits))
    reason = f"interleaved measurements did not confirm {n_failed} differences that single runs showed"
    return refuse_variation(question, observations, reason)


def _explain_unproven(suspects: Sequence[Culprit]) -> str:
    """Return why a search is refused if every suspect has a proof and none is confirmed; the last proof is quoted.

    There are at most ``MAX_PROOFS_WITHOUT_RESULT`` suspects, because with more the search has ended earlier.
    """
    commits = join_words([culprit.commit[:10] for culprit in suspects])
    sentence = suspects[-1].proof.sentence if suspects[-1].proof else ""
    is_single = len(suspects) == 1
    proof_clause = "no proof confirms it" if is_single else "no proof confirms any of them; the last one says"
    return f"{commits} may move the metric, but {proof_clause}: {sentence}".rstrip(".")


def _count_unconfirmed_pairs(question: Question, observations: Iterable[Observation]) -> int:
    """Return how many pairs of commits of the range differed in single runs, but not when measured interleaved.

    Earlier searches of other ranges, or for smaller changes, say nothing about this one.
    """
    values_of_single_runs: dict[str, set[Number]] = {}
    sessions: dict[UUID, dict[str, Number]] = {}
    for observation in observations:
        if observation.value is None or observation.commit not in question.graph.index_of:
            continue
        if observation.session is None:
            values_of_single_runs.setdefault(observation.commit, set()).add(observation.value)
        else:
            sessions.setdefault(observation.session, {})[observation.commit] = observation.value
    n_unconfirmed = 0
    for value_by_commit in sessions.values():
        if len(value_by_commit) != 2:
            continue  # only one of the two commits could be measured, or belongs to the range
        first_values, second_values = (values_of_single_runs.get(commit, set()) for commit in value_by_commit)
        if not first_values or not second_values:
            continue  # single runs have not compared the two, so the pairs do not contradict any
        all_values = first_values | second_values
        have_differed = first_values != second_values and (max(all_values) - min(all_values) >= question.min_difference)
        has_equal_values = len(set(value_by_commit.values())) == 1
        n_unconfirmed += has_equal_values and have_differed
    return n_unconfirmed
