"""Bisects a range of commits by Bayesian inference if a commit's runs scatter around its level.

Each commit of the range is a hypothesis: it moved the metric, so that every commit that contains it is measured after
the step. The next run is taken where it is most informative about the hypotheses (:meth:`Belief.choose_test`). If the
levels and the noise are known, that is the median of the suspicion, M. Horstein's choice of 1963, and such a greedy
choice is optimal for the expected entropy over any number of runs (B. Jedynak, P. I. Frazier, R. Sznitman, "Twenty
questions with noise: Bayes optimal policies for entropy loss", J. Appl. Prob. 49, 2012). Here they are not known.

Merges need no rule of their own: only which commits contain which others matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, exp, log, log2, sqrt
from statistics import fmean, stdev
from typing import Self

import numpy as np
import numpy.typing as npt

from runner.contract.level import Number, compute_median
from service.rules.bisect.belief import Belief, Bools, Data, Floats, compute_belief, compute_beliefs
from service.rules.bisect.count_variation import refuse_variation
from service.rules.bisect.exact_search import refuse_unfit_ends
from service.rules.bisect.graph import Graph
from service.rules.bisect.next_commits import estimate_success_probabilities
from service.rules.bisect.question import Answer, Culprit, Found, Measure, Observation, Question
from service.text.numbers import format_number

MIN_RUNS_PER_END = 2
"""Runs of each end before anything else: one run of each says nothing about the noise."""
MAX_NO_STEP_PROBABILITY = 0.25
"""While the probability that the ends do not differ exceeds this, they are measured again."""
NO_STEP_PRIOR = 0.1
"""Prior probability that the ends do not differ: the caller has seen a difference."""
NO_FURTHER_STEP_PRIOR = 0.9
"""Prior probability that there is no further culprit once one is found."""
EQUAL_STEP_PRIOR = 0.5
"""Prior probability that there is no further step as large as those found, so that the measurements alone decide."""
MAX_CULPRITS = 8
"""The most culprits that a search separates."""
MAX_RUNS = 500
"""Runs after which a search gives up."""
MIN_NO_FURTHER_PROBABILITY = 0.97
"""Probability that there is no further step as large as the smallest one found, from which the search ends."""
SIZE_MARGIN_ERRORS = 1.0
"""The size of a step may be this many standard errors below its estimate."""
CONFIRMING_RUNS = 16
"""For this many runs that probability has to hold: of two equal culprits, chance soon hides one for a moment."""
MIN_RUNS_TO_END_AT_ONCE = 80
"""With this many runs the steps are known so well that the search ends at once."""
SURE_NO_FURTHER_PROBABILITY = 0.9997
"""Probability from which the search ends at once: so large a step leaves chance no room."""
DRIFT_RUNS_FACTOR = 3
"""How many times as many runs of each end are taken where a drift of the host may have made their difference."""
DRIFT_PRIOR_ODDS = 0.05
"""Prior odds of each number of waves against no drift of the host."""
RUNS_PER_WAVE = 8
"""A drift of the host is removed with one wave for this many runs: what changes faster is noise."""
CONFIRMATION_BITS = 3
"""Bits of information added to an estimate, because a search ends only when one commit is almost certain."""
TYPICAL_BITS_PER_RUN = 0.16
"""Bits of information of a run if the step is as large as the noise; assumed until more is known."""
MIN_BITS_PER_RUN = 0.01
"""The least information of a run that an estimate assumes, so that a tiny step does not promise endless runs."""


@dataclass(frozen=True, slots=True)
class _Measurements:
    """The tests (``good``, then the commits of the range) with their measurements."""

    graph: Graph
    data: Data
    values: dict[str, list[Number]]
    failed_tests: frozenset[int]
    cleared_hypotheses: frozenset[int]
    """Hypotheses that a proof has refuted."""

    @classmethod
    def from_observations(cls, question: Question, observations: Iterable[Observation]) -> Self:
        """Return the measurements of single runs: the runs of proofs are left out."""
        graph = question.graph
        values: dict[str, list[Number]] = {}
        test_values: list[tuple[int, float]] = []
        failed_commits: set[str] = set()
        for observation in observations:
            # Interleaved runs serve the proof. They are repeated for as long as their comparison takes, so their
            # level scatters less than that of a single run.
            commit, value = observation.commit, observation.value
            if observation.session is not None or commit not in graph.index_of:
                continue
            if value is None:
                failed_commits.add(commit)
            else:
                values.setdefault(commit, []).append(value)
                test_values.append((graph.index_of[commit], float(value)))
        failed_tests = frozenset(graph.index_of[name] for name in failed_commits - values.keys())
        cleared = frozenset(graph.index_of[name] - 1 for name in question.cleared if name in graph)
        return cls(graph, Data.from_pairs(len(graph.names), test_values), values, failed_tests, cleared)

    @property
    def names(self) -> tuple[str, ...]:
        """The commit of each test."""
        return self.graph.names

    @property
    def after_step(self) -> Bools:
        """``after_step[test, hypothesis]``: whether the test is measured after the step of the hypothesis."""
        return self.graph.contains

    @property
    def measurable_tests(self) -> list[int]:
        """The tests that did not fail."""
        return [test for test in range(len(self.names)) if test not in self.failed_tests]

    @property
    def max_waves(self) -> int:
        """The most waves by which a drift of the host is described."""
        return len(self.data.values) // RUNS_PER_WAVE

    def group_tests(self, culprits: Sequence[int]) -> npt.NDArray[np.intp]:
        """Return the group number of each test.

        The tests of a group are on the same side of every culprit and contain the same older commits, so one level is
        expected of them.
        """
        # Commits on branches that started before the range may have another level, whatever the culprits did.
        groups = self.graph.origins
        for culprit in culprits:
            groups = groups * 2 + self.after_step[:, culprit]
        return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.intp)

    def compute_belief_in_next_culprit(self, culprits: Sequence[int], n_waves: int = 0) -> Belief:
        """Return the belief about one more culprit besides those already found."""
        prior = NO_FURTHER_STEP_PRIOR if culprits else NO_STEP_PRIOR
        return compute_belief(
            self.after_step,
            self.data,
            prior,
            groups=self.group_tests(culprits),
            excluded_indices=self.cleared_hypotheses,
            n_waves=n_waves,
        )

    def compute_belief_with_waves(self, culprits: Sequence[int]) -> tuple[Belief, Floats, int]:
        """Return the belief that describes the measurements best, the mean of all beliefs, and the number of waves.

        There is one belief for no drift of the host, and one for each number of waves; each counts by its evidence.
        """
        # Powers of two are enough: numbers of waves between them describe a drift about as well.
        wave_counts = [0, *(2**power for power in range(self.max_waves.bit_length())), self.max_waves]
        prior = NO_FURTHER_STEP_PRIOR if culprits else NO_STEP_PRIOR
        groups = self.group_tests(culprits)
        belief_list = compute_beliefs(
            self.after_step,
            self.data,
            prior,
            groups=groups,
            excluded_indices=self.cleared_hypotheses,
            wave_counts=wave_counts,
        )
        beliefs = dict(zip(wave_counts, belief_list, strict=True))
        evidence = {
            n_waves: belief.log_evidence + (log(DRIFT_PRIOR_ODDS) if n_waves else 0)
            for n_waves, belief in beliefs.items()
        }
        best_count = max(evidence, key=evidence.__getitem__)
        weights = {n_waves: exp(log_evidence - evidence[best_count]) for n_waves, log_evidence in evidence.items()}
        mean = sum(weights[n_waves] * belief.probabilities for n_waves, belief in beliefs.items()) / sum(
            weights.values()
        )
        return beliefs[best_count], np.asarray(mean), best_count

    def compute_belief_in_equal_step(self, culprits: Sequence[int], n_waves: int) -> Belief:
        """Return the belief about one more step that is as large as the smallest of those found may be.

        Of two equal steps, the first one that is found seems larger than it is: it is found where chance has enlarged
        it, and while the second one is still within one of its sides. So the size is a lower limit:
        some standard errors below the estimate, or half of it, because the second one can hide half of the difference.
        """
        sizes = []
        for culprit in culprits:
            belief = self.compute_belief_in_next_culprit([other for other in culprits if other != culprit], n_waves)
            step, error = abs(float(belief.expected_steps[culprit])), float(belief.step_errors[culprit])
            # Steps below the noise would take hundreds of runs to exclude.
            smallest_size = max(step / 2, min(step, belief.noise_variance**0.5))
            sizes.append(max(step - SIZE_MARGIN_ERRORS * error, smallest_size))
        groups = self.group_tests(culprits)
        excluded_indices = {*self.cleared_hypotheses, *culprits, *self._list_undecidable(groups)}
        return compute_belief(
            self.after_step,
            self.data,
            EQUAL_STEP_PRIOR,
            groups=groups,
            excluded_indices=excluded_indices,
            n_waves=n_waves,
            step_size=min(sizes),
        )

    def _list_undecidable(self, groups: npt.NDArray[np.intp]) -> list[int]:
        """Return the hypotheses that no run can decide about: no group has a test on both sides of them."""
        tests = self.measurable_tests
        is_after = self.after_step[tests]
        has_both_sides = np.zeros(is_after.shape[1], dtype=bool)
        for group in np.unique(groups[tests]):
            is_after_in_group = is_after[groups[tests] == group]
            has_both_sides |= is_after_in_group.any(axis=0) & ~is_after_in_group.all(axis=0)
        return np.flatnonzero(~has_both_sides).tolist()

    def map_to_first_indistinguishable(self) -> npt.NDArray[np.intp]:
        """Return for each hypothesis the first one that no measurable test distinguishes from it."""
        if not self.failed_tests:
            return np.arange(self.after_step.shape[1])
        columns = np.packbits(self.after_step[self.measurable_tests], axis=0).T
        first_of_column: dict[bytes, int] = {}
        return np.array([first_of_column.setdefault(column.tobytes(), index) for index, column in enumerate(columns)])


def search_noisy(question: Question, observations: Iterable[Observation]) -> Answer:
    """Return what to run next, or the culprits; see :func:`service.rules.bisect.exact_search.search_exact`."""
    observations = list(observations)
    measurements = _Measurements.from_observations(question, observations)
    refusal = refuse_unfit_ends(question, {measurements.names[test] for test in measurements.failed_tests})
    if refusal is not None:
        return refusal
    # Both ends first.
    good, bad = 0, question.graph.index_of[question.bad]
    n_missing = {end: max(0, MIN_RUNS_PER_END - int(measurements.data.counts[end])) for end in (good, bad)}
    if any(n_missing.values()):
        next_end = good if n_missing[good] else bad
        n_left = ceil(sum(n_missing.values()) + log2(len(measurements.names)) / TYPICAL_BITS_PER_RUN)
        return Measure(commits=(measurements.names[next_end],), runs_left=n_left)

    # The search ends if no further culprit is to be expected, or with the certain ones after the most runs.
    representatives = measurements.map_to_first_indistinguishable()
    culprits, belief = _find_certain_culprits(measurements, representatives, question.confidence)
    if belief is not None and _is_complete(culprits, belief) and _was_complete(question, observations, culprits):
        belief = None
    n_runs = len(measurements.data.values)
    if belief is None or (culprits and n_runs >= MAX_RUNS):
        return Found(
            culprits=tuple(
                _build_culprit(measurements, representatives, culprit, culprits) for culprit in sorted(culprits)
            )
        )
    reason = _explain_run_limit(question, measurements, belief) if not culprits else ""
    if reason:
        return refuse_variation(question, observations, reason)
    # While it is in doubt whether the ends differ, the end with fewer runs is next. Each end needs at least one more.
    if not culprits and belief.no_step_probability > MAX_NO_STEP_PROBABILITY:
        end = min((good, bad), key=lambda end: measurements.data.counts[end])
        return Measure(commits=(measurements.names[end],), runs_left=_estimate_remaining_runs(belief, measurements) + 2)
    # Otherwise the most informative commit.
    success_probabilities = estimate_success_probabilities(len(measurements.names), measurements.failed_tests)
    next_test = belief.choose_test(measurements.after_step, success_probabilities)
    return Measure(commits=(measurements.names[next_test],), runs_left=_estimate_remaining_runs(belief, measurements))


def _find_certain_culprits(
    measurements: _Measurements, representatives: npt.NDArray[np.intp], confidence: float
) -> tuple[list[int], Belief | None]:
    """Return the certain culprits, and the belief about one more; None if the search has to look for no more.

    The culprits are found one by one, each given those before it. A new one may put an earlier one in doubt: then that
    one is the uncertain culprit.
    """
    culprits: list[int] = []
    while len(culprits) < MAX_CULPRITS:
        belief, probabilities, n_waves = measurements.compute_belief_with_waves(culprits)
        if culprits and belief.no_step_probability > 0.5:
            # There is probably none. Chance may still hide a step, so one as large as those found must be excluded.
            belief_in_equal_step = measurements.compute_belief_in_equal_step(culprits, n_waves)
            is_excluded = belief_in_equal_step.no_step_probability > SURE_NO_FURTHER_PROBABILITY
            return culprits, None if is_excluded else belief_in_equal_step
        best = _find_certain_hypothesis(probabilities, representatives, confidence)
        if best is None:
            return culprits, belief
        culprits.append(best)
        # Is each earlier culprit still certain, given all others?
        for earlier_culprit in culprits[:-1]:
            other_culprits = [culprit for culprit in culprits if culprit != earlier_culprit]
            belief_without, probabilities, _ = measurements.compute_belief_with_waves(other_culprits)
            if _find_certain_hypothesis(probabilities, representatives, confidence) != earlier_culprit:
                return other_culprits, belief_without
    return culprits, None


def _is_complete(culprits: Sequence[int], belief: Belief | None) -> bool:
    """Return whether there is probably no culprit besides those that are certain."""
    return bool(culprits) and (belief is None or belief.no_step_probability > MIN_NO_FURTHER_PROBABILITY)


def _was_complete(question: Question, observations: Sequence[Observation], culprits: Sequence[int]) -> bool:
    """Return whether the culprits were the same, and complete, before the last runs; with many runs, always True.

    A result that appears only with the last runs may be chance, but after many runs it no longer is.
    """
    run_indices = [index for index, run in enumerate(observations) if run.session is None and run.value is not None]
    if len(run_indices) >= MIN_RUNS_TO_END_AT_ONCE:
        return True
    last_runs = set(run_indices[-CONFIRMING_RUNS:])
    earlier_measurements = _Measurements.from_observations(
        question, [run for index, run in enumerate(observations) if index not in last_runs]
    )
    if min(earlier_measurements.data.counts[[0, question.graph.index_of[question.bad]]]) < MIN_RUNS_PER_END:
        return False
    earlier_culprits, belief = _find_certain_culprits(
        earlier_measurements, earlier_measurements.map_to_first_indistinguishable(), question.confidence
    )
    return set(earlier_culprits) == set(culprits) and _is_complete(earlier_culprits, belief)


def _explain_run_limit(question: Question, measurements: _Measurements, belief: Belief) -> str:
    """Return why no commit can be named after as many runs as a search may take; empty while there are fewer."""
    good, bad, n_runs = 0, question.graph.index_of[question.bad], len(measurements.data.values)
    n_end_runs = min(measurements.data.counts[good], measurements.data.counts[bad])
    if belief.no_step_probability > MAX_NO_STEP_PROBABILITY and n_end_runs >= question.patience:
        # If the ends differ unless a drift of the host is assumed, more runs of both, taken alternately, show which of
        # the two is true.
        belief_without_drift = measurements.compute_belief_in_next_culprit([])
        patience = question.patience * (
            1 if belief_without_drift.no_step_probability > MAX_NO_STEP_PROBABILITY else DRIFT_RUNS_FACTOR
        )
        if n_end_runs >= patience:
            return _describe_doubt(question, measurements, good, bad, belief.no_step_probability)
    if n_runs < MAX_RUNS:
        return ""
    best = int(belief.probabilities.argmax())
    probability = format_number(float(belief.probabilities[best]))
    return (
        f"no commit is certain after {n_runs} runs, and the most probable commit is "
        f"{measurements.names[best + 1][:10]}, with a probability of {probability}"
    )


def _find_certain_hypothesis(
    probabilities: Floats, representatives: npt.NDArray[np.intp], confidence: float
) -> int | None:
    """Return the hypothesis that is probable enough; None if no hypothesis is.

    Hypotheses that the measurements cannot distinguish share one representative, and their probabilities are added.
    """
    masses = np.bincount(representatives, weights=probabilities, minlength=len(representatives))
    best = int(masses.argmax())
    return best if float(masses[best]) >= confidence else None


def _estimate_remaining_runs(belief: Belief, measurements: _Measurements) -> int:
    """Return how many runs the remaining entropy takes, given the size of the step so far."""
    probabilities = belief.probabilities[belief.probabilities > 0]
    bits = float(-(probabilities * np.log2(probabilities)).sum()) + CONFIRMATION_BITS
    after_step = belief.compute_probabilities_after_step(measurements.after_step) > 0.5  # probably after it
    data = measurements.data
    counts = np.array([data.counts[~after_step].sum(), data.counts[after_step].sum()])
    if counts.min() < MIN_RUNS_PER_END:
        return ceil(bits / TYPICAL_BITS_PER_RUN)
    means = np.array([data.sums[~after_step].sum(), data.sums[after_step].sum()]) / counts
    square_sum = float(data.square_sums.sum() - (counts * means**2).sum())
    variance = max(1e-300, square_sum / max(1.0, float(counts.sum()) - 2))  # not zero, for the division below
    # For two levels d apart, in units of the noise, a run gains d² ∕ 8 nats if d is small, and never more than one bit.
    step = float(means[1] - means[0])
    bits_per_run = min(1.0, max(MIN_BITS_PER_RUN, step**2 / variance / 8 / log(2)))
    return max(1, ceil(bits / bits_per_run))


def _build_culprit(
    measurements: _Measurements, representatives: npt.NDArray[np.intp], culprit: int, culprits: Sequence[int]
) -> Culprit:
    """Return a culprit with its parent, their levels, and the commits that no run tells apart from it."""
    indistinguishable_indices = np.flatnonzero(representatives == representatives[culprit])
    candidates = [measurements.names[hypothesis + 1] for hypothesis in indistinguishable_indices]
    tests = [
        int(hypothesis) + 1
        for hypothesis in indistinguishable_indices
        if int(hypothesis) + 1 not in measurements.failed_tests
    ]
    commit = tests[-1] if tests else int(indistinguishable_indices[-1]) + 1
    parent = _find_parent(measurements, commit, set(candidates))
    is_after = measurements.after_step[:, list(culprits)]
    belief = measurements.compute_belief_in_next_culprit([other for other in culprits if other != culprit])
    return Culprit(
        commit=measurements.names[commit],
        parent=measurements.names[parent],
        before=_estimate_level(measurements, is_after, parent),
        after=_estimate_level(measurements, is_after, commit),
        candidates=tuple(candidates),
        probability=min(1.0, float(belief.probabilities[indistinguishable_indices].sum())),
    )


def _find_parent(measurements: _Measurements, commit: int, candidates: Collection[str]) -> int:
    """Return the test of the nearest measurable commit before the candidates; that of ``good`` if there is none."""
    graph = measurements.graph
    name = graph.names[commit]
    while name in graph and (name in candidates or graph.index_of[name] in measurements.failed_tests):
        name = graph.parents[name][0] if graph.parents[name] else graph.good
    return graph.index_of.get(name, 0)


def _estimate_level(measurements: _Measurements, is_after: Bools, test: int) -> Number:
    """Return the level of all tests that lie on the same side of every culprit as one test; 0 if none was measured."""
    is_on_same_side = (is_after == is_after[test]).all(axis=1)
    values = [
        value
        for index in np.flatnonzero(is_on_same_side)
        for value in measurements.values.get(measurements.names[index], [])
    ]
    level = compute_median(values)
    return 0 if level is None else level


def _describe_doubt(
    question: Question, measurements: _Measurements, good: int, bad: int, no_step_probability: float
) -> str:
    """Return why the ends may not differ: their mean levels, the standard errors, and the probability of no step."""
    ends = [measurements.values[measurements.names[end]] for end in (good, bad)]
    means = [fmean(values) for values in ends]
    levels = " and ".join(
        f"{name} {question.format_quantity(mean, other)} "
        f"± {question.format_quantity(stdev(values) / sqrt(len(values)))} "
        f"(n = {len(values)})"
        for name, values, mean, other in zip(("good", "bad"), ends, means, reversed(means), strict=True)
    )
    probability = format_number(no_step_probability)
    return f"it is not certain that the ends differ: {levels}. The probability that both are the same is {probability}"
