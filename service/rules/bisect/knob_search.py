"""Which knobs carry a difference between two environments: delta debugging. Pure.

Both environments are measured, then mixtures: some knobs as they are after, the others as they were before. A mixture
*carries* the difference where it measures what the environment after does. Wanted is a set that carries it and of which
no knob can be left out, however they interact.

Exact metrics: among the knobs in order, the shortest beginning that carries the difference (with what was found before)
ends in a knob that is needed; it is found by bisection and kept, and the search goes on before it until what is kept
carries the difference alone. So k guilty knobs of n take about k·(log₂ n + 1) measurements, where A. Zeller's and
R. Hildebrandt's ddmin ("Simplifying and isolating failure-inducing input", IEEE Trans. Softw. Eng. 28, 2002) takes up
to n² + 3n; it is the rule of U. Junker's QuickXplain (AAAI 2004). At the end each kept knob is left out once: the
result is minimal in ddmin's sense, whatever the interactions, and the effect of each knob is known.

Noisy metrics: each set of up to three knobs is an explanation, and a mixture is measured after the step where it holds
all of the set; see :mod:`service.rules.bisect.belief`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from pydantic import Field

from runner.contract.knob_search import FoundKnobs, KnobAnswer, MeasureKnobs
from runner.contract.level import Number, median
from service.rules.bisect.base import Frozen
from service.rules.bisect.belief import Bools, Data, believe
from service.rules.bisect.question import Refused

TOGETHER = 3
"""Knobs of a noisy metric that can be needed at the same time."""
FIRST = 2
"""Runs of each environment before any mixture, where the metric is noisy."""
DOUBT = 0.25
NONE_AT_ALL = 0.1
MANY = 512
"""Mixtures to choose from where there are too many to try all of them."""


class Mixture(Frozen):
    """One run of an environment in which these knobs are as after; None where it could not be measured."""

    changed: frozenset[str]
    value: Number | None


class KnobQuestion(Frozen):
    """A search for the knobs that carry a difference; see :class:`service.rules.bisect.question.Question`."""

    knobs: tuple[str, ...] = Field(min_length=1, max_length=64)
    exact: bool = True
    least: float = Field(default=0, ge=0, allow_inf_nan=False)
    confidence: float = Field(default=0.99, gt=0.5, lt=1)
    patience: int = Field(default=30, ge=2)


def search(question: KnobQuestion, seen: Iterable[Mixture]) -> KnobAnswer:
    """Return which mixture to measure next, or what was found."""
    mixtures = list(seen)
    return _exact(question, mixtures) if question.exact else _noisy(question, mixtures)


def _measure(question: KnobQuestion, changed: frozenset[str]) -> MeasureKnobs:
    return MeasureKnobs(changed=tuple(knob for knob in question.knobs if knob in changed))


class _Wanted(Exception):
    """A mixture is not known yet."""

    def __init__(self, changed: frozenset[str]) -> None:
        self.changed = changed


def _exact(question: KnobQuestion, seen: Sequence[Mixture]) -> KnobAnswer:
    values: dict[frozenset[str], list[Number]] = {}
    for one in seen:
        values.setdefault(one.changed, [])
        if one.value is not None:
            values[one.changed].append(one.value)

    def level(changed: frozenset[str]) -> Number | None:
        if changed not in values:
            raise _Wanted(changed)
        return median(values[changed])

    everything = frozenset(question.knobs)
    try:
        before, after = level(frozenset()), level(everything)
        if before is None or after is None:
            which = "before" if before is None else "after"
            return Refused(sentence=f"The environment {which} could not be measured.")
        if before == after or abs(after - before) < question.least:
            return Refused(sentence=f"The environments do not differ: before {before}, after {after}.")

        def carries(changed: frozenset[str]) -> bool:
            """Tell whether a mixture is nearer to what is measured after than half of what matters."""
            value = level(changed)
            return value is not None and abs(value - after) <= question.least / 2

        kept = _minimal(question.knobs, carries)
        without = {knob: level(kept - {knob}) for knob in kept}
    except _Wanted as wanted:
        return _measure(question, wanted.changed)
    return FoundKnobs(
        knobs=tuple(knob for knob in question.knobs if knob in kept),
        before=before,
        after=after,
        without={knob: value for knob, value in without.items() if value is not None},
    )


def _minimal(knobs: Sequence[str], carries: Callable[[frozenset[str]], bool]) -> frozenset[str]:
    """Return a set that carries the difference and of which each knob is needed."""
    left = list(knobs)
    while True:
        kept: frozenset[str] = frozenset()
        rest = left
        while rest and not (kept and carries(kept)):
            low, high = 0, len(rest)
            # With the first `low` of the rest the difference is not carried, with the first `high` it is.
            while high - low > 1:
                middle = (low + high) // 2
                if carries(kept | set(rest[:middle])):
                    high = middle
                else:
                    low = middle
            kept |= {rest[high - 1]}
            rest = rest[: high - 1]
        idle = next((knob for knob in left if knob in kept and carries(kept - {knob})), None)
        if idle is None:
            return kept
        left = [knob for knob in left if knob in kept and knob != idle]


def _noisy(question: KnobQuestion, seen: Sequence[Mixture]) -> KnobAnswer:
    explanations, tests, effect = _table(question.knobs)
    place = {test: number for number, test in enumerate(tests)}
    taken = [(place[one.changed], float(one.value)) for one in seen if one.changed in place and one.value is not None]
    failed = {place[one.changed] for one in seen if one.changed in place and one.value is None}
    data = Data.of(len(tests), taken)
    before, after = place[frozenset()], place[frozenset(question.knobs)]
    for which, end in (("before", before), ("after", after)):
        if end in failed:
            return Refused(sentence=f"The environment {which} could not be measured.")
        if data.n[end] < FIRST:
            return _measure(question, tests[end])
    belief = believe(effect, data, NONE_AT_ALL)
    best = int(belief.each.argmax())
    if float(belief.each[best]) >= question.confidence:
        side = effect[:, best]
        levels = [median([value for test, value in taken if side[test] == way]) or 0 for way in (False, True)]
        return FoundKnobs(
            knobs=tuple(knob for knob in question.knobs if knob in explanations[best]),
            before=levels[0],
            after=levels[1],
            without={},
            probability=float(belief.each[best]),
        )
    if belief.none > DOUBT:
        end = min((before, after), key=lambda test: data.n[test])
        if data.n[end] >= question.patience:
            return Refused(
                sentence=f"The environments do not differ for certain after {question.patience} runs of each; that "
                f"there is no difference has a probability of {belief.none:.2g}."
            )
        return _measure(question, tests[end])
    chance = np.array([0.0 if number in failed else 1.0 for number in range(len(tests))])
    return _measure(question, tests[belief.choose(effect, 1, chance)[0]])


@lru_cache(maxsize=4)
def _table(knobs: tuple[str, ...]) -> tuple[list[frozenset[str]], list[frozenset[str]], Bools]:
    """Return the explanations, the mixtures to choose from, and which of these hold all of which of those."""
    explanations = [frozenset(chosen) for size in range(1, TOGETHER + 1) for chosen in combinations(knobs, size)]
    tests = _tests(knobs, explanations)
    return explanations, tests, np.array([[needed <= test for needed in explanations] for test in tests])


def _tests(knobs: tuple[str, ...], explanations: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the mixtures to choose from: all where they are few, else the explanations' opposites and a spread."""
    if 2 ** len(knobs) <= 2 * MANY:
        return [frozenset(chosen) for size in range(len(knobs) + 1) for chosen in combinations(knobs, size)]
    random = np.random.default_rng(0)
    halves = [
        frozenset(knob for knob, chosen in zip(knobs, row, strict=True) if chosen)
        for row in random.random((MANY, len(knobs))) < random.uniform(0.2, 0.9, (MANY, 1))
    ]
    opposite = [frozenset(knobs) - needed for needed in explanations if len(needed) <= 2]
    return list(dict.fromkeys([frozenset(), frozenset(knobs), *opposite, *halves]))
