"""Bisects a range of commits by Bayesian inference if a commit's runs scatter around its level. Pure.

Each commit of the range is an explanation: it moved the metric, so that every commit that contains it is measured after
the step. The next run is taken where it is most informative about the explanations (:meth:`Belief.choose`). If the
levels and the noise are known, that is the median of the suspicion, M. Horstein's choice of 1963, and such a greedy
choice is optimal for the expected entropy over any number of runs (B. Jedynak, P. I. Frazier, R. Sznitman, "Twenty
questions with noise: Bayes optimal policies for entropy loss", J. Appl. Prob. 49, 2012). Here they are not known.

Merges need no rule of their own: only which commits contain which others matters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log, log2, sqrt
from statistics import fmean, stdev
from typing import Self

import numpy as np
import numpy.typing as npt

from runner.contract.level import Number, median
from service.rules.bisect.belief import Belief, Bools, Data, believe
from service.rules.bisect.exact_search import refuse_unfit_ends
from service.rules.bisect.graph import Graph
from service.rules.bisect.next_places import measurable_chances
from service.rules.bisect.question import Answer, Culprit, Found, Measure, Observation, Question, Refused

FIRST = 2
"""Runs of each end before anything else: one run of each says nothing about the noise."""
DOUBT = 0.25
"""While the probability that the ends do not differ exceeds this, they are measured again."""
NONE_AT_ALL = 0.1
"""Prior probability that the ends do not differ: the caller has seen a difference."""
NO_FURTHER = 0.9
"""Prior probability that there is no further culprit once one is found."""
MOST = 8
"""The most culprits that a search separates."""
TYPICAL = 0.16
"""Bits of information of a run if the step is as large as the noise; assumed until more is known."""


@dataclass(frozen=True, slots=True)
class _Measurements:
    """The tests (``good``, then the commits of the range) with their measurements."""

    graph: Graph
    data: Data
    values: dict[str, list[Number]]
    failed: frozenset[int]
    cleared: frozenset[int]
    """Explanations that a proof has refuted."""

    @classmethod
    def of(cls, question: Question, observations: Iterable[Observation]) -> Self:
        graph = question.graph
        values: dict[str, list[Number]] = {}
        failed: set[str] = set()
        for observation in observations:
            # Runs measured in turns serve the proof. They are repeated for as long as their comparison takes, so their
            # level scatters less than that of a single run.
            if observation.commit not in graph.place or observation.session is not None:
                continue
            if observation.value is None:
                failed.add(observation.commit)
            else:
                values.setdefault(observation.commit, []).append(observation.value)
        measured = [(graph.place[name], float(value)) for name, of_commit in values.items() for value in of_commit]
        broken = frozenset(graph.place[name] for name in failed - values.keys())
        cleared = frozenset(graph.place[name] - 1 for name in question.cleared if name in graph)
        return cls(graph, Data.of(len(graph.names), measured), values, broken, cleared)

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.names

    @property
    def effect(self) -> Bools:
        return self.graph.contains

    def believe(self, culprits: Sequence[int]) -> Belief:
        """Return the belief about one more culprit besides those already found."""
        groups = np.zeros(len(self.names), dtype=np.intp)
        for explanation in culprits:
            groups = groups * 2 + self.effect[:, explanation]
        return believe(self.effect, self.data, NO_FURTHER if culprits else NONE_AT_ALL, groups, self.cleared)

    def alike(self) -> npt.NDArray[np.intp]:
        """Return for each explanation the first one that no measurable test distinguishes from it."""
        if not self.failed:
            return np.arange(self.effect.shape[1])
        open_tests = [test for test in range(len(self.names)) if test not in self.failed]
        columns = np.packbits(self.effect[open_tests], axis=0).T
        first: dict[bytes, int] = {}
        return np.array([first.setdefault(column.tobytes(), place) for place, column in enumerate(columns)])


def search(
    question: Question, observations: Iterable[Observation], slots: int = 1, pending: Collection[str] = ()
) -> Answer:
    """Return what to run next, or the culprits; see :func:`service.rules.bisect.exact_search.search`."""
    measurements = _Measurements.of(question, observations)
    refused = refuse_unfit_ends(question, {measurements.names[test] for test in measurements.failed})
    if refused is not None:
        return refused
    good, bad = 0, question.graph.place[question.bad]
    missing = [end for end in (good, bad) for _ in range(FIRST - int(measurements.data.n[end]))]
    if missing:
        left = ceil(len(missing) + log2(len(measurements.names)) / TYPICAL)
        return Measure(commits=tuple(measurements.names[end] for end in missing[: max(1, slots)]), left=left)

    alike = measurements.alike()
    culprits, belief = _settle(measurements, alike, question.confidence)
    if belief is None:
        return Found(culprits=tuple(_culprit(measurements, alike, place, culprits) for place in sorted(culprits)))
    if not culprits and belief.none > DOUBT:
        ends = sorted((good, bad), key=lambda end: measurements.data.n[end])
        if measurements.data.n[ends[0]] >= question.patience:
            return Refused(sentence=_doubt_sentence(measurements, good, bad, belief.none))
        return Measure(
            commits=tuple(measurements.names[ends[slot % 2]] for slot in range(slots)),
            left=_left(belief, measurements) + 2,
        )
    chosen = belief.choose(
        measurements.effect, max(1, slots), measurable_chances(len(measurements.names), measurements.failed)
    )
    return Measure(commits=tuple(measurements.names[test] for test in chosen), left=_left(belief, measurements))


def _settle(
    measurements: _Measurements, alike: npt.NDArray[np.intp], confidence: float
) -> tuple[list[int], Belief | None]:
    """Return the certain culprits, and the belief about the uncertain one; None where there is no further culprit."""
    culprits: list[int] = []
    while len(culprits) < MOST:
        belief = measurements.believe(culprits)
        if culprits and belief.none > 0.5:
            return culprits, None
        best = _certain(belief, alike, confidence)
        if best is None:
            return culprits, belief
        culprits.append(best)
        for earlier in culprits[:-1]:
            others = [culprit for culprit in culprits if culprit != earlier]
            without = measurements.believe(others)
            if _certain(without, alike, confidence) != earlier:
                return others, without
    return culprits, None


def _certain(belief: Belief, alike: npt.NDArray[np.intp], confidence: float) -> int | None:
    masses = np.bincount(alike, weights=belief.each, minlength=len(alike))
    best = int(masses.argmax())
    return best if float(masses[best]) >= confidence else None


def _left(belief: Belief, measurements: _Measurements) -> int:
    """Return how many runs the remaining entropy takes, given the size of the step so far."""
    each = belief.each[belief.each > 0]
    bits = float(-(each * np.log2(each)).sum()) + 3
    side = belief.after(measurements.effect) > 0.5
    data = measurements.data
    ns = np.array([data.n[~side].sum(), data.n[side].sum()])
    if ns.min() < FIRST:
        return ceil(bits / TYPICAL)
    means = np.array([data.total[~side].sum(), data.total[side].sum()]) / ns
    variance = max(1e-300, float(data.squares.sum() - (ns * means**2).sum()) / max(1.0, float(ns.sum()) - 2))
    # For two levels d apart, in units of the noise, a run gains d² ∕ 8 nats if d is small, and never more than one bit.
    gap = float(means[1] - means[0])
    return max(1, ceil(bits / min(1.0, max(0.01, gap**2 / variance / 8 / log(2)))))


def _culprit(measurements: _Measurements, alike: npt.NDArray[np.intp], place: int, culprits: Sequence[int]) -> Culprit:
    together = np.flatnonzero(alike == alike[place])
    candidates = [measurements.names[explanation + 1] for explanation in together]
    tests = [int(explanation) + 1 for explanation in together if int(explanation) + 1 not in measurements.failed]
    commit = tests[-1] if tests else int(together[-1]) + 1
    parent = _parent(measurements, commit, set(candidates))
    sides = measurements.effect[:, list(culprits)]
    belief = measurements.believe([culprit for culprit in culprits if culprit != place])
    return Culprit(
        commit=measurements.names[commit],
        parent=measurements.names[parent],
        before=_level(measurements, sides, parent),
        after=_level(measurements, sides, commit),
        candidates=tuple(candidates),
        probability=min(1.0, float(belief.each[together].sum())),
    )


def _parent(measurements: _Measurements, commit: int, candidates: Collection[str]) -> int:
    """Return the nearest measurable commit before the candidates; ``good`` where there is none."""
    graph = measurements.graph
    name = graph.names[commit]
    while name in graph and (name in candidates or graph.place[name] in measurements.failed):
        name = graph.parents[name][0] if graph.parents[name] else graph.good
    return graph.place.get(name, 0)


def _level(measurements: _Measurements, sides: Bools, test: int) -> Number:
    """Return the level of all tests that lie on the same side of every culprit as one test."""
    same = (sides == sides[test]).all(axis=1)
    values = [
        value for place in np.flatnonzero(same) for value in measurements.values.get(measurements.names[place], [])
    ]
    level = median(values)
    return 0 if level is None else level


def _doubt_sentence(measurements: _Measurements, good: int, bad: int, none: float) -> str:
    ends = [measurements.values[measurements.names[end]] for end in (good, bad)]
    levels = " and ".join(
        f"{name} {fmean(values):.6g} ± {stdev(values) / sqrt(len(values)):.2g} (n = {len(values)})"
        for name, values in zip(("good", "bad"), ends, strict=True)
    )
    return f"It is not certain that the ends differ: {levels}; there is no difference with a probability of {none:.2g}."
