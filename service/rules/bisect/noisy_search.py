"""Bayesian bisection, where a commit's runs scatter around its level. Pure.

Each commit of the range is an explanation: it moved the metric, so that every commit that contains it is measured after
the step. The next run is taken where it tells most about which explanation holds (:meth:`Belief.choose`). Where the
levels and the noise are known that is the median of the suspicion, M. Horstein's choice of 1963, and such a greedy
choice is optimal for the expected entropy over any number of runs (B. Jedynak, P. I. Frazier, R. Sznitman, "Twenty
questions with noise: Bayes optimal policies for entropy loss", J. Appl. Prob. 49, 2012). Here they are not known.

Merges need no rule of their own: containing a commit is all that matters.
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
"""Runs of each end before anything else: one run of each says nothing of the noise."""
DOUBT = 0.25
"""Where it is more probable than this that the ends do not differ at all, they are measured again."""
NONE_AT_ALL = 0.1
"""Probability beforehand that the ends do not differ: who asks has seen something."""
NO_FURTHER = 0.9
"""Probability beforehand that there is no further culprit once one is found."""
MOST = 8
"""Culprits that are told apart."""
TYPICAL = 0.16
"""Bits that a run tells where the step is as large as the noise; taken before anything is known."""


@dataclass(frozen=True, slots=True)
class _Measurements:
    """The tests (``good``, then the commits of the range) and what was measured of them."""

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
        # What was measured in turns was repeated for as long as its comparison took: its level scatters less than that
        # of a run, and it serves the proof.
        for one in (one for one in observations if one.commit in graph.place and one.session is None):
            if one.value is None:
                failed.add(one.commit)
            else:
                values.setdefault(one.commit, []).append(one.value)
        seen = [(graph.place[name], float(value)) for name, taken in values.items() for value in taken]
        broken = frozenset(graph.place[name] for name in failed - values.keys())
        cleared = frozenset(graph.place[name] - 1 for name in question.cleared if name in graph)
        return cls(graph, Data.of(len(graph.names), seen), values, broken, cleared)

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.names

    @property
    def effect(self) -> Bools:
        return self.graph.contains

    def believe(self, found: Sequence[int]) -> Belief:
        """Return the belief about one more culprit beside those found."""
        groups = np.zeros(len(self.names), dtype=np.intp)
        for explanation in found:
            groups = groups * 2 + self.effect[:, explanation]
        return believe(self.effect, self.data, NO_FURTHER if found else NONE_AT_ALL, groups, self.cleared)

    def alike(self) -> npt.NDArray[np.intp]:
        """Return for each explanation the first that no test can tell from it."""
        if not self.failed:
            return np.arange(self.effect.shape[1])
        open_tests = [test for test in range(len(self.names)) if test not in self.failed]
        columns = np.packbits(self.effect[open_tests], axis=0).T
        first: dict[bytes, int] = {}
        return np.array([first.setdefault(column.tobytes(), place) for place, column in enumerate(columns)])


def search(
    question: Question, observations: Iterable[Observation], slots: int = 1, pending: Collection[str] = ()
) -> Answer:
    """Return what to run next, or what was found; see :func:`service.rules.bisect.exact_search.search`."""
    ground = _Measurements.of(question, observations)
    refused = refuse_unfit_ends(question, {ground.names[test] for test in ground.failed})
    if refused is not None:
        return refused
    good, bad = 0, question.graph.place[question.bad]
    missing = [end for end in (good, bad) for _ in range(FIRST - int(ground.data.n[end]))]
    if missing:
        left = ceil(len(missing) + log2(len(ground.names)) / TYPICAL)
        return Measure(commits=tuple(ground.names[end] for end in missing[: max(1, slots)]), left=left)

    alike = ground.alike()
    found, belief = _settle(ground, alike, question.confidence)
    if belief is None:
        return Found(culprits=tuple(_culprit(ground, alike, place, found) for place in sorted(found)))
    if not found and belief.none > DOUBT:
        ends = sorted((good, bad), key=lambda end: ground.data.n[end])
        if ground.data.n[ends[0]] >= question.patience:
            return Refused(sentence=_in_doubt(ground, good, bad, belief.none))
        return Measure(
            commits=tuple(ground.names[ends[slot % 2]] for slot in range(slots)), left=_left(belief, ground) + 2
        )
    chosen = belief.choose(ground.effect, max(1, slots), measurable_chances(len(ground.names), ground.failed))
    return Measure(commits=tuple(ground.names[test] for test in chosen), left=_left(belief, ground))


def _settle(ground: _Measurements, alike: npt.NDArray[np.intp], confidence: float) -> tuple[list[int], Belief | None]:
    """Return the culprits that are certain, and the belief about the one that is not; None where all are."""
    found: list[int] = []
    while len(found) < MOST:
        belief = ground.believe(found)
        if found and belief.none > 0.5:
            return found, None
        best = _certain(belief, alike, confidence)
        if best is None:
            return found, belief
        found.append(best)
        for other in found[:-1]:
            rest = [one for one in found if one != other]
            again = ground.believe(rest)
            if _certain(again, alike, confidence) != other:
                return rest, again
    return found, None


def _certain(belief: Belief, alike: npt.NDArray[np.intp], confidence: float) -> int | None:
    masses = np.bincount(alike, weights=belief.each, minlength=len(alike))
    best = int(masses.argmax())
    return best if float(masses[best]) >= confidence else None


def _left(belief: Belief, ground: _Measurements) -> int:
    """Return how many runs the remaining entropy takes, at the rate of a step of the size seen so far."""
    each = belief.each[belief.each > 0]
    bits = float(-(each * np.log2(each)).sum()) + 3
    side = belief.after(ground.effect) > 0.5
    data = ground.data
    ns = np.array([data.n[~side].sum(), data.n[side].sum()])
    if ns.min() < FIRST:
        return ceil(bits / TYPICAL)
    means = np.array([data.total[~side].sum(), data.total[side].sum()]) / ns
    variance = max(1e-300, float(data.squares.sum() - (ns * means**2).sum()) / max(1.0, float(ns.sum()) - 2))
    # A run tells about two levels d apart, in units of the noise, d² ∕ 8 nats where d is small, and never over one bit.
    gap = float(means[1] - means[0])
    return max(1, ceil(bits / min(1.0, max(0.01, gap**2 / variance / 8 / log(2)))))


def _culprit(ground: _Measurements, alike: npt.NDArray[np.intp], place: int, found: Sequence[int]) -> Culprit:
    together = np.flatnonzero(alike == alike[place])
    candidates = [ground.names[one + 1] for one in together]
    tests = [int(one) + 1 for one in together if int(one) + 1 not in ground.failed]
    commit = tests[-1] if tests else int(together[-1]) + 1
    parent = _parent(ground, commit, set(candidates))
    sides = ground.effect[:, list(found)]
    belief = ground.believe([one for one in found if one != place])
    return Culprit(
        commit=ground.names[commit],
        parent=ground.names[parent],
        before=_level(ground, sides, parent),
        after=_level(ground, sides, commit),
        candidates=tuple(candidates),
        probability=min(1.0, float(belief.each[together].sum())),
    )


def _parent(ground: _Measurements, commit: int, candidates: Collection[str]) -> int:
    """Return the nearest commit before the candidates that can be measured; ``good`` where there is none."""
    graph = ground.graph
    name = graph.names[commit]
    while name in graph and (name in candidates or graph.place[name] in ground.failed):
        name = graph.parents[name][0] if graph.parents[name] else graph.good
    return graph.place.get(name, 0)


def _level(ground: _Measurements, sides: Bools, test: int) -> Number:
    """Return the level of all that was measured on the same sides of all culprits as a test."""
    same = (sides == sides[test]).all(axis=1)
    values = [value for place in np.flatnonzero(same) for value in ground.values.get(ground.names[place], [])]
    level = median(values)
    return 0 if level is None else level


def _in_doubt(ground: _Measurements, good: int, bad: int, none: float) -> str:
    ends = [ground.values[ground.names[end]] for end in (good, bad)]
    levels = " and ".join(
        f"{name} {fmean(values):.6g} ± {stdev(values) / sqrt(len(values)):.2g} (n = {len(values)})"
        for name, values in zip(("good", "bad"), ends, strict=True)
    )
    return f"The ends do not differ for certain: {levels}; that there is no difference has a probability of {none:.2g}."
