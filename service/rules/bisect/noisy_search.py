"""Bisects a range of commits by Bayesian inference if a commit's runs scatter around its level.

For each commit of the range there is the hypothesis that it moved the metric, so that every commit that contains it
lies after the step. The next run is taken where it is most informative about the hypotheses
(:meth:`Belief.choose_test`). If the levels and the noise are known, this is the median of the posterior (M. Horstein,
1963), and this greedy choice minimises the expected entropy after any number of runs (B. Jedynak, P. I. Frazier, R.
Sznitman, "Twenty questions with noise: Bayes optimal policies for entropy loss", J. Appl. Prob. 49, 2012). Here levels
and noise are unknown.

Merges need no rule of their own: all that matters is which commits contain which others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log, log2, sqrt
from statistics import fmean, stdev
from typing import Self

import numpy as np
import numpy.typing as npt

from runner.contract.level import Number, compute_median
from runner.contract.number_text import format_number
from service.rules.bisect.belief import Belief, compute_belief, compute_beliefs
from service.rules.bisect.graph import Graph
from service.rules.bisect.host_drift_waves import list_wave_counts, weigh_wave_counts
from service.rules.bisect.question import Answer, Culprit, Found, Measure, Observation, Question, Refused
from service.rules.bisect.range_division import estimate_success_probabilities
from service.rules.bisect.refusals import refuse_equal_ends, refuse_unfit_ends, refuse_variation
from service.rules.bisect.summed_measurements import Bools, Floats, SummedMeasurements

MIN_RUNS_PER_END = 2
"""The search starts with this many runs of each end: one run of each says nothing about the noise."""
MAX_NO_STEP_PROBABILITY = 0.25
"""While the probability that the ends do not differ exceeds this, they are measured again."""
NO_STEP_PRIOR = 0.1
"""Prior probability that the ends do not differ: low, because the caller has seen a difference."""
NO_FURTHER_STEP_PRIOR = 0.9
"""Prior probability that there is no further culprit once one is found."""
EQUAL_STEP_PRIOR = 0.5
"""Prior probability that there is no further step as large as those found: even odds, so that only the measurements
decide."""
MAX_CULPRITS = 8
"""The largest number of culprits that a search separates."""
MAX_RUNS = 500
"""Runs after which a search gives up."""
MIN_NO_FURTHER_PROBABILITY = 0.97
"""The search ends once there is probably, by this much, no further step as large as the smallest one found."""
SIZE_MARGIN_ERRORS = 1.0
"""The size of a step is assumed to be at most this many standard errors below its estimate."""
CONFIRMING_RUNS = 16
"""The result must also have held this many runs ago: if there are two equal culprits, chance easily hides one of them
for a few runs."""
MIN_RUNS_TO_END_AT_ONCE = 80
"""With this many runs the steps are known so well that the search ends without confirming runs."""
SURE_NO_FURTHER_PROBABILITY = 0.9997
"""At this probability of no further step, the search ends without confirming runs: chance can hardly hide a step."""
DRIFT_RUNS_FACTOR = 3
"""If a drift of the host may explain the difference of the ends, each end gets this many times as many runs."""
CONFIRMATION_BITS = 3
"""Bits added to the remaining information in estimates, because a search ends only when a commit is almost certain."""
TYPICAL_BITS_PER_RUN = 0.16
"""Information, in bits, that a run gives if the step is as large as the noise; assumed until more is known."""
MIN_BITS_PER_RUN = 0.01
"""Lower bound of the information per run in estimates, so that a tiny step does not predict endless runs."""


@dataclass(frozen=True, slots=True)
class _Measurements:
    """The tests (``good``, then the commits of the range) with their measurements."""

    graph: Graph
    data: SummedMeasurements
    values: dict[str, list[Number]]
    failed_tests: frozenset[int]
    cleared_hypotheses: frozenset[int]
    """Hypotheses that a proof has refuted."""

    @classmethod
    def from_observations(cls, question: Question, observations: Iterable[Observation]) -> Self:
        """Return the measurements of single runs, without the runs of proofs."""
        graph = question.graph
        values: dict[str, list[Number]] = {}
        test_values: list[tuple[int, float]] = []
        failed_commits: set[str] = set()
        for observation in observations:
            # Interleaved runs belong to a proof. They are repeated until their comparison is decided, so their level
            # scatters less than that of a single run. Commits outside of the range are no tests.
            commit, value = observation.commit, observation.value
            if observation.session is not None or commit not in graph.index_of:
                continue
            if value is None:
                failed_commits.add(commit)
            else:
                values.setdefault(commit, []).append(value)
                test_values.append((graph.index_of[commit], float(value)))
        failed_tests = frozenset(graph.index_of[name] for name in failed_commits - values.keys())
        # Test 0 is the good end, so hypothesis i is about test i + 1.
        cleared = frozenset(graph.index_of[name] - 1 for name in question.cleared if name in graph)
        return cls(graph, SummedMeasurements.from_pairs(len(graph.names), test_values), values, failed_tests, cleared)

    @property
    def names(self) -> tuple[str, ...]:
        """The commits that can be tested. A test is given by the index of its commit in these."""
        return self.graph.names

    @property
    def after_step(self) -> Bools:
        """``after_step[test, hypothesis]``: whether the test lies after the step of the hypothesis."""
        return self.graph.contains

    @property
    def measurable_tests(self) -> list[int]:
        """The tests that did not fail."""
        return [test for test in range(len(self.names)) if test not in self.failed_tests]

    @property
    def are_all_equal(self) -> bool:
        """Whether all runs are equal: then no noise shows how large a difference must be, and no run is informative."""
        return len({value for values in self.values.values() for value in values}) == 1

    def group_tests(self, culprits: Sequence[int]) -> npt.NDArray[np.intp]:
        """Return the group number of each test.

        The tests of a group are on the same side of every culprit and contain the same older commits, so one level is
        expected of them.
        """
        # Commits on branches that started before the range may have another level, whatever the culprits did.
        groups = self.graph.origins
        for culprit in culprits:  # each appends a binary digit to the number
            groups = groups * 2 + self.after_step[:, culprit]
        return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.intp)

    def compute_belief_in_next_culprit(self, culprits: Sequence[int], n_waves: int = 0) -> Belief:
        """Return the belief about one more culprit besides ``culprits``."""
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
        """Return the best belief about one more culprit, the mean probabilities, and the number of waves of the best.

        There is one belief without a drift of the host, and one for each number of waves; each is weighted by its
        evidence.
        """
        wave_counts = list_wave_counts(len(self.data.values))
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
        best_count, weights = weigh_wave_counts({n_waves: belief.log_evidence for n_waves, belief in beliefs.items()})
        mean = sum(weights[n_waves] * belief.probabilities for n_waves, belief in beliefs.items()) / sum(
            weights.values()
        )
        return beliefs[best_count], np.asarray(mean), best_count

    def compute_belief_in_equal_step(self, culprits: Sequence[int], n_waves: int) -> Belief:
        """Return the belief about one more step as large as a lower limit of the smallest step found.

        If there are two equal steps, the first one found seems larger than it is: it is found where chance has enlarged
        it, and while the second one still contributes to the difference between its sides. So the limit is one standard
        error below the estimated size, but at least half of it, because the second step can be half of the difference.
        """
        sizes = []
        for culprit in culprits:
            belief = self.compute_belief_in_next_culprit([other for other in culprits if other != culprit], n_waves)
            step, error = abs(float(belief.expected_steps[culprit])), float(belief.step_errors[culprit])
            # The limit is not below the noise if the step is not: excluding such small steps would take hundreds of
            # runs.
            smallest_size = max(step / 2, min(step, belief.noise_variance**0.5))
            sizes.append(max(step - SIZE_MARGIN_ERRORS * error, smallest_size))
        groups = self.group_tests(culprits)
        excluded_indices = {*self.cleared_hypotheses, *culprits, *self._list_undecidable_hypotheses(groups)}
        return compute_belief(
            self.after_step,
            self.data,
            EQUAL_STEP_PRIOR,
            groups=groups,
            excluded_indices=excluded_indices,
            n_waves=n_waves,
            step_size=min(sizes),
        )

    def _list_undecidable_hypotheses(self, groups: npt.NDArray[np.intp]) -> list[int]:
        """Return the hypotheses that no run can test: no group has tests on both sides of their step."""
        tests = self.measurable_tests
        is_after = self.after_step[tests]
        _, n_hypotheses = is_after.shape
        has_both_sides = np.zeros(n_hypotheses, dtype=bool)
        for group in np.unique(groups[tests]):
            is_after_in_group = is_after[groups[tests] == group]
            has_both_sides |= is_after_in_group.any(axis=0) & ~is_after_in_group.all(axis=0)
        return np.flatnonzero(~has_both_sides).tolist()

    def find_representatives(self) -> npt.NDArray[np.intp]:
        """Return, for each hypothesis, the first hypothesis that no measurable test can distinguish from it."""
        if not self.failed_tests:  # each hypothesis can be distinguished from all others
            _, n_hypotheses = self.after_step.shape
            return np.arange(n_hypotheses)
        # Hypotheses are indistinguishable if their columns are equal; packed into bytes, they can be keys of a dict.
        columns = np.packbits(self.after_step[self.measurable_tests], axis=0).T
        first_of_column: dict[bytes, int] = {}
        return np.array([first_of_column.setdefault(column.tobytes(), index) for index, column in enumerate(columns)])


def search_noisy_metric(question: Question, observations: Iterable[Observation]) -> Answer:
    """Return what to run next, or the culprits; see :func:`service.rules.bisect.exact_search.search_exact_metric`."""
    observations = list(observations)
    measurements = _Measurements.from_observations(question, observations)
    refusal = refuse_unfit_ends(question, {measurements.names[test] for test in measurements.failed_tests})
    if refusal is not None:
        return refusal
    # The ends are measured first.
    good, bad = 0, question.graph.index_of[question.bad]
    n_missing = {end: max(0, MIN_RUNS_PER_END - int(measurements.data.counts[end])) for end in (good, bad)}
    if any(n_missing.values()):
        next_end = good if n_missing[good] else bad
        n_left = ceil(sum(n_missing.values()) + log2(len(measurements.names)) / TYPICAL_BITS_PER_RUN)
        return Measure(commits=(measurements.names[next_end],), runs_left=n_left)

    # The search ends once no further culprit is to be expected, and was not before the last few runs either, which may
    # show chance; or with the certain culprits after the maximum of runs.
    representatives = measurements.find_representatives()
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
    refusal = None if culprits else _refuse_if_runs_are_used_up(question, observations, measurements, belief)
    if refusal is not None:
        return refusal
    # While it is in doubt whether the ends differ, the end with fewer runs is measured next.
    if not culprits and (measurements.are_all_equal or belief.no_step_probability > MAX_NO_STEP_PROBABILITY):
        end = min((good, bad), key=lambda end: measurements.data.counts[end])
        # At least one more run of each end is needed first.
        return Measure(commits=(measurements.names[end],), runs_left=_estimate_remaining_runs(belief, measurements) + 2)
    # Otherwise the most informative commit is next.
    success_probabilities = estimate_success_probabilities(len(measurements.names), measurements.failed_tests)
    next_test = belief.choose_test(measurements.after_step, success_probabilities)
    return Measure(commits=(measurements.names[next_test],), runs_left=_estimate_remaining_runs(belief, measurements))


def _find_certain_culprits(
    measurements: _Measurements, representatives: npt.NDArray[np.intp], confidence: float
) -> tuple[list[int], Belief | None]:
    """Return the certain culprits, and the belief about one more culprit, or None if there is certainly none.

    The culprits are found one by one, each given those before it. If a new culprit puts an earlier one in doubt, the
    belief is about the earlier one.
    """
    culprits: list[int] = []
    while len(culprits) < MAX_CULPRITS:
        belief, probabilities, n_waves = measurements.compute_belief_with_waves(culprits)
        if culprits and belief.no_step_probability > 0.5:
            # There is probably no further culprit. But chance may hide a step, so a step as large as those found must
            # be excluded.
            belief_in_equal_step = measurements.compute_belief_in_equal_step(culprits, n_waves)
            is_excluded = belief_in_equal_step.no_step_probability > SURE_NO_FURTHER_PROBABILITY
            return culprits, None if is_excluded else belief_in_equal_step
        new_culprit = _find_certain_hypothesis(probabilities, representatives, confidence)
        if new_culprit is None:
            return culprits, belief
        culprits.append(new_culprit)
        # Check that each earlier culprit is still certain, given all others.
        for earlier_culprit in culprits[:-1]:
            other_culprits = [culprit for culprit in culprits if culprit != earlier_culprit]
            belief_without, probabilities, _ = measurements.compute_belief_with_waves(other_culprits)
            if _find_certain_hypothesis(probabilities, representatives, confidence) != earlier_culprit:
                return other_culprits, belief_without
    return culprits, None


def _is_complete(culprits: Sequence[int], belief: Belief | None) -> bool:
    """Return whether there are certain culprits, and probably no others."""
    return bool(culprits) and (belief is None or belief.no_step_probability > MIN_NO_FURTHER_PROBABILITY)


def _was_complete(question: Question, observations: Sequence[Observation], culprits: Sequence[int]) -> bool:
    """Return whether the search had the same culprits, and expected no more, before its last ``CONFIRMING_RUNS`` runs.

    A result that appears only with the last runs may be chance. From ``MIN_RUNS_TO_END_AT_ONCE`` runs on, True is
    returned without this check. Runs of interleaved comparisons are not counted; they stay among the earlier ones.
    """
    run_indices = [index for index, run in enumerate(observations) if run.session is None and run.value is not None]
    if len(run_indices) >= MIN_RUNS_TO_END_AT_ONCE:
        return True
    last_runs = set(run_indices[-CONFIRMING_RUNS:])
    earlier_measurements = _Measurements.from_observations(
        question, [run for index, run in enumerate(observations) if index not in last_runs]
    )
    good, bad = 0, question.graph.index_of[question.bad]
    if min(earlier_measurements.data.counts[[good, bad]]) < MIN_RUNS_PER_END:
        return False
    earlier_culprits, belief = _find_certain_culprits(
        earlier_measurements, earlier_measurements.find_representatives(), question.confidence
    )
    return set(earlier_culprits) == set(culprits) and _is_complete(earlier_culprits, belief)


def _refuse_if_runs_are_used_up(
    question: Question, observations: Sequence[Observation], measurements: _Measurements, belief: Belief
) -> Refused | None:
    """Return the refusal of a search without certain culprits that has used up its runs; None if it may take more."""
    good, bad = 0, question.graph.index_of[question.bad]
    if measurements.are_all_equal and min(measurements.data.counts[[good, bad]]) >= question.patience:
        level = measurements.values[question.good][0]
        return refuse_equal_ends(question, level, level)
    reason = _explain_run_limit(question, measurements, belief)
    return refuse_variation(question, observations, reason) if reason else None


def _explain_run_limit(question: Question, measurements: _Measurements, belief: Belief) -> str:
    """Return why no commit can be named once the search has used up its runs; empty if it may take more.

    There are two limits: ``question.patience`` runs of each end while it is in doubt whether they differ, and
    ``MAX_RUNS`` runs in total.
    """
    good, bad, n_runs = 0, question.graph.index_of[question.bad], len(measurements.data.values)
    n_end_runs = min(measurements.data.counts[good], measurements.data.counts[bad])
    if belief.no_step_probability > MAX_NO_STEP_PROBABILITY and n_end_runs >= question.patience:
        # The difference of the ends may be due to a drift of the host. If they differ when no drift is assumed, more
        # runs of both ends, taken alternately, show which is true.
        belief_without_drift = measurements.compute_belief_in_next_culprit([])
        patience = question.patience * (
            1 if belief_without_drift.no_step_probability > MAX_NO_STEP_PROBABILITY else DRIFT_RUNS_FACTOR
        )
        if n_end_runs >= patience:
            return _describe_doubt(question, measurements, good, bad, belief.no_step_probability)
    if n_runs < MAX_RUNS:
        return ""
    # Hypothesis i is about test i + 1, because test 0 is the good end.
    best_hypothesis = int(belief.probabilities.argmax())
    probability = format_number(float(belief.probabilities[best_hypothesis]))
    return (
        f"after {n_runs} runs, no commit is certain to be the culprit; the most probable one is "
        f"{measurements.names[best_hypothesis + 1][:10]}, with a probability of {probability}"
    )


def _find_certain_hypothesis(
    probabilities: Floats, representatives: npt.NDArray[np.intp], confidence: float
) -> int | None:
    """Return the hypothesis whose probability is at least ``confidence``; None if there is none.

    Hypotheses that the measurements cannot distinguish share one representative, and their probabilities are added.
    """
    masses = np.bincount(representatives, weights=probabilities, minlength=len(representatives))
    best_hypothesis = int(masses.argmax())
    return best_hypothesis if float(masses[best_hypothesis]) >= confidence else None


def _estimate_remaining_runs(belief: Belief, measurements: _Measurements) -> int:
    """Return an estimate of how many runs remain: the remaining entropy over the information per run so far."""
    probabilities = belief.probabilities[belief.probabilities > 0]
    bits = float(-(probabilities * np.log2(probabilities)).sum()) + CONFIRMATION_BITS
    is_after_step = belief.compute_probabilities_after_step(measurements.after_step) > 0.5  # probably after it
    data = measurements.data
    counts = np.array([data.counts[~is_after_step].sum(), data.counts[is_after_step].sum()])
    if counts.min() < MIN_RUNS_PER_END:
        return ceil(bits / TYPICAL_BITS_PER_RUN)
    means = np.array([data.sums[~is_after_step].sum(), data.sums[is_after_step].sum()]) / counts
    square_sum = float(data.square_sums.sum() - (counts * means**2).sum())
    variance = max(1e-300, square_sum / max(1.0, float(counts.sum()) - 2))  # not zero, for the division below
    # If two levels are d standard deviations apart, a run gains d² ∕ 8 nats for small d, and never more than one bit.
    mean_before, mean_after = means
    step = float(mean_after - mean_before)
    bits_per_run = min(1.0, max(MIN_BITS_PER_RUN, step**2 / variance / 8 / log(2)))
    return max(1, ceil(bits / bits_per_run))


def _build_culprit(
    measurements: _Measurements, representatives: npt.NDArray[np.intp], culprit: int, culprits: Sequence[int]
) -> Culprit:
    """Return a culprit with its parent, their levels, and the commits that no run can distinguish from it.

    Parameters
    ----------
    representatives
        For each hypothesis, the one that stands for all that no run can distinguish.
    culprit, culprits
        The hypothesis of this culprit, and those of all.
    """
    # Hypothesis i is about test i + 1, because test 0 is the good end.
    indistinguishable_indices = np.flatnonzero(representatives == representatives[culprit])
    candidates = [measurements.names[hypothesis + 1] for hypothesis in indistinguishable_indices]
    tests = [
        int(hypothesis) + 1
        for hypothesis in indistinguishable_indices
        if int(hypothesis) + 1 not in measurements.failed_tests
    ]
    # Of the commits that cannot be distinguished, the newest is named, if possible one that can be measured.
    test_of_commit = tests[-1] if tests else int(indistinguishable_indices[-1]) + 1
    test_of_parent = _find_parent(measurements, test_of_commit, set(candidates))
    is_after = measurements.after_step[:, list(culprits)]
    belief = measurements.compute_belief_in_next_culprit([other for other in culprits if other != culprit])
    return Culprit(
        commit=measurements.names[test_of_commit],
        parent=measurements.names[test_of_parent],
        before=_estimate_level(measurements, is_after, test_of_parent),
        after=_estimate_level(measurements, is_after, test_of_commit),
        candidates=tuple(candidates),
        probability=min(1.0, float(belief.probabilities[indistinguishable_indices].sum())),
    )


def _find_parent(measurements: _Measurements, culprit: int, candidates: Collection[str]) -> int:
    """Return the index of the commit with which a culprit is compared.

    It is the nearest ancestor along first parents that can be measured and is not a candidate itself; if there is none,
    it is ``good``, with index 0.

    Parameters
    ----------
    culprit
        The index of the culprit in ``graph.names``.
    candidates
        The commits that no run can distinguish from the culprit, and the culprit.
    """
    graph = measurements.graph
    name = graph.names[culprit]
    while name in graph and (name in candidates or graph.index_of[name] in measurements.failed_tests):
        name = graph.parents[name][0] if graph.parents[name] else graph.good
    return graph.index_of.get(name, 0)


def _estimate_level(measurements: _Measurements, is_after: Bools, test: int) -> Number:
    """Return the common level of all tests on the same side of every culprit as ``test``; 0 if none was measured."""
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
    """Return why it is uncertain that the ends differ: means, standard errors, and the probability of no step."""
    ends = [measurements.values[measurements.names[end]] for end in (good, bad)]
    means = [fmean(values) for values in ends]
    levels = " and ".join(
        f"{name} {question.format_quantity(mean, other)} "  # enough digits to distinguish it from the other mean
        f"± {question.format_quantity(stdev(values) / sqrt(len(values)))} "
        f"(n = {len(values)})"
        for name, values, mean, other in zip(("good", "bad"), ends, means, reversed(means), strict=True)
    )
    probability = format_number(no_step_probability)
    return (
        f"it is not certain that the two ends of the range differ: {levels}. The probability that they do not differ "
        f"is {probability}"
    )
