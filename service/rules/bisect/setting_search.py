"""Searches for the settings that carry a difference between two environments: delta debugging.

Both environments are measured, then mixtures, with some settings at their "after" values and the others at their
"before" values. A mixture *carries* the difference if it measures the same as the environment after. The search is for
a set of settings that carries it and from which none can be left out, however they interact.

Exact metrics: among the settings in order, the shortest prefix that carries the difference (with the settings found so
far) ends in a necessary setting. It is found by bisection and added to the set, and the search continues before it
until the set carries the difference alone. So k guilty settings out of n take about k·(log₂ n + 1) measurements, while
A. Zeller's and R. Hildebrandt's ddmin ("Simplifying and isolating failure-inducing input", IEEE Trans. Softw. Eng. 28,
2002) takes up to n² + 3n; this is the rule of U. Junker's QuickXplain (AAAI 2004). Finally each setting of the set is
left out once: the result is minimal in ddmin's sense, whatever the interactions, and the effect of each setting is
known.

Noisy metrics: each set of up to three settings is an explanation, and a mixture is measured after the step if it
contains the whole set; see :mod:`service.rules.bisect.belief`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from pydantic import Field

from runner.contract.base import Strict
from runner.contract.level import Number, compute_median
from runner.contract.setting_search import FoundSettings, MeasureSettings, SettingAnswer
from service.rules.bisect.belief import Bools, Data, compute_belief
from service.rules.bisect.question import Refused
from service.text.numbers import format_number, format_quantity

MAX_NECESSARY_TOGETHER = 3
"""How many settings can be necessary together, for a noisy metric."""
MIN_RUNS_PER_END = 2
"""Runs of each environment before any mixture, for a noisy metric."""
MAX_NO_STEP_PROBABILITY = 0.25
"""While the probability that the environments do not differ exceeds this, both are measured again."""
NO_STEP_PRIOR = 0.1
"""Prior probability that the environments do not differ."""
MAX_RUNS = 200
"""Runs after which a noisy search gives up: its model, that a few settings carry one step, does not hold."""
MAX_ORDERS = 6
"""Orders of the settings that are tried where a mixture cannot be measured."""
MAX_MIXTURES = 512
"""Mixtures to choose from where there are too many to try all of them."""


class Mixture(Strict):
    """One run with these settings at their "after" values; its value is None if it could not be measured."""

    changed: frozenset[str]
    value: Number | None


class SettingQuestion(Strict):
    """A search for the settings that carry a difference; see :class:`service.rules.bisect.question.Question`."""

    settings: tuple[str, ...] = Field(min_length=1, max_length=64)
    exact: bool = True
    least: float = Field(default=0, ge=0, allow_inf_nan=False)
    confidence: float = Field(default=0.99, gt=0.5, lt=1)
    patience: int = Field(default=30, ge=2)
    unit: str = ""


def search_settings(question: SettingQuestion, observations: Iterable[Mixture]) -> SettingAnswer:
    """Return the mixture to measure next, or the settings that carry the difference."""
    mixtures = list(observations)
    return _search_exact(question, mixtures) if question.exact else _search_noisy(question, mixtures)


def _build_measure_step(question: SettingQuestion, changed: frozenset[str]) -> MeasureSettings:
    """Return the answer that a mixture is to be measured next."""
    return MeasureSettings(changed=tuple(setting for setting in question.settings if setting in changed))


class _UnmeasurableError(Exception):
    """The answer depends on mixtures that cannot be measured: some settings cannot be told apart without them."""

    def __init__(self, settings: Sequence[str]) -> None:
        self.settings = settings


class _NotMeasuredError(Exception):
    """The search needs a mixture that is not measured yet."""

    def __init__(self, changed: frozenset[str]) -> None:
        self.changed = changed


def _search_exact(question: SettingQuestion, mixtures: Sequence[Mixture]) -> SettingAnswer:
    """Return the next mixture to measure, or the settings, if one run is enough to know a mixture's level."""
    values: dict[frozenset[str], list[Number]] = {}
    for mixture in mixtures:
        values.setdefault(mixture.changed, [])
        if mixture.value is not None:
            values[mixture.changed].append(mixture.value)

    def get_level(changed: frozenset[str]) -> Number | None:
        if changed not in values:
            raise _NotMeasuredError(changed)
        return compute_median(values[changed])

    # Both ends have to differ.
    everything = frozenset(question.settings)
    try:
        before, after = get_level(frozenset()), get_level(everything)
        if before is None or after is None:
            side = "before" if before is None else "after"
            return Refused(sentence=f"The environment {side} could not be measured.")
        if before == after or abs(after - before) < question.least:
            both_ends = [
                format_quantity(*sides).strip()
                for sides in ((before, question.unit, after), (after, question.unit, before))
            ]
            return Refused(sentence=f"The environments do not differ: before {both_ends[0]}, after {both_ends[1]}.")

        def has_effect(changed: frozenset[str]) -> bool | None:
            """Return whether a mixture is within half of the smallest difference that matters of the level after.

            None if it cannot be measured.
            """
            value = get_level(changed)
            return None if value is None else abs(value - after) <= question.least / 2

        # The settings that carry the difference, each with the level without it.
        culprits = _find_minimal_set_in_any_order(question.settings, has_effect)
        level_without = {setting: get_level(culprits - {setting}) for setting in culprits}
    except _NotMeasuredError as missing:
        return _build_measure_step(question, missing.changed)
    except _UnmeasurableError as error:
        names = ", ".join(error.settings)
        return Refused(
            sentence=(
                f"It is unknown whether {names} {'causes' if len(error.settings) == 1 else 'cause'} the "
                f"difference, because combinations with the settings around it could not be measured."
            )
        )
    return FoundSettings(
        settings=tuple(setting for setting in question.settings if setting in culprits),
        before=before,
        after=after,
        without={setting: value for setting, value in level_without.items() if value is not None},
    )


_Carries = Callable[[frozenset[str]], bool | None]


def _find_minimal_set_in_any_order(settings: Sequence[str], has_effect: _Carries) -> frozenset[str]:
    """Return :func:`_find_minimal` for the first order of the settings whose mixtures can all be measured."""
    orders = [list(settings), list(reversed(settings))]
    random = np.random.default_rng(0)
    orders += [
        [settings[index] for index in random.permutation(len(settings))] for _ in range(MAX_ORDERS - len(orders))
    ]
    first: _UnmeasurableError | None = None
    for order in orders:
        try:
            return _find_minimal(order, has_effect)
        except _UnmeasurableError as error:
            first = first or error
    assert first is not None
    raise first


def _find_minimal(settings: Sequence[str], has_effect: _Carries) -> frozenset[str]:
    """Return a set that carries the difference and in which each setting is necessary.

    A setting is in it only if a mixture without it was measured that does not carry the difference, and one with it
    that does.

    Raises
    ------
    _UnmeasurableError
        This would need a mixture that cannot be measured.
    """
    candidates = list(settings)
    while True:
        needed: frozenset[str] = frozenset()
        rest: Sequence[str] = candidates
        while rest and not (needed and has_effect(needed)):
            needed, rest = _find_next_necessary(needed, rest, has_effect)
        idle = next((setting for setting in candidates if setting in needed and has_effect(needed - {setting})), None)
        if idle is None:
            return needed
        candidates = [setting for setting in candidates if setting in needed and setting != idle]


def _find_next_necessary(
    needed: frozenset[str], rest: Sequence[str], has_effect: _Carries
) -> tuple[frozenset[str], Sequence[str]]:
    """Return the necessary settings with one more of the rest, and the rest before it."""
    low, high = 0, len(rest)
    # The first `low` of the rest do not carry the difference, the first `high` do.
    while high - low > 1:
        inner = sorted(range(low + 1, high), key=lambda size: (abs(2 * size - low - high), size))
        middle = next((size for size in inner if has_effect(needed | set(rest[:size])) is not None), None)
        if middle is None:
            raise _UnmeasurableError(rest[low:high])
        if has_effect(needed | set(rest[:middle])):
            high = middle
        else:
            low = middle
    # With nothing of the rest, the mixture may be the one that could not be measured.
    if low == 0 and has_effect(needed) is None:
        raise _UnmeasurableError(rest[:high])
    return needed | {rest[high - 1]}, rest[: high - 1]


def _search_noisy(question: SettingQuestion, mixtures: Sequence[Mixture]) -> SettingAnswer:
    """Return the next mixture to measure, or the settings, by Bayesian inference, if runs scatter around a level."""
    # Number the mixtures that can be tested, and collect what was measured of them.
    explanations, tests, effect = _build_design(question.settings)
    index_of = {test: index for index, test in enumerate(tests)}
    usable = [mixture for mixture in mixtures if mixture.changed in index_of]
    measured = [(index_of[mixture.changed], float(mixture.value)) for mixture in usable if mixture.value is not None]
    failed = {index_of[mixture.changed] for mixture in usable if mixture.value is None}
    data = Data.from_pairs(len(tests), measured)
    before, after = index_of[frozenset()], index_of[frozenset(question.settings)]
    # Both environments have to be measured often enough.
    failed_side = next((side for side, end in (("before", before), ("after", after)) if end in failed), None)
    if failed_side is not None:
        return Refused(sentence=f"The environment {failed_side} could not be measured.")
    end_to_measure = next((end for end in (before, after) if data.n[end] < MIN_RUNS_PER_END), None)
    if end_to_measure is not None:
        return _build_measure_step(question, tests[end_to_measure])
    # The explanation that is probable enough.
    belief = compute_belief(effect, data, NO_STEP_PRIOR)
    best = int(belief.probabilities.argmax())
    if float(belief.probabilities[best]) >= question.confidence:
        has_effect = effect[:, best]
        levels = [
            compute_median([value for test, value in measured if has_effect[test] == is_after]) or 0
            for is_after in (False, True)
        ]
        return FoundSettings(
            settings=tuple(setting for setting in question.settings if setting in explanations[best]),
            before=levels[0],
            after=levels[1],
            without={},
            probability=float(belief.probabilities[best]),
        )
    # The runs that a search may take are used up.
    if len(measured) >= MAX_RUNS:
        return Refused(
            sentence=f"No answer is certain, because no set of up to {MAX_NECESSARY_TOGETHER} settings explains the "
            f"{len(measured)} runs well. The most probable set is {', '.join(sorted(explanations[best]))}, with a "
            f"probability of {format_number(float(belief.probabilities[best]))}."
        )
    # Perhaps there is no difference: measure the ends again, or give up.
    if belief.no_step > MAX_NO_STEP_PROBABILITY:
        end = min((before, after), key=lambda test: data.n[test])
        doubt = (
            f"It is not certain that the environments differ after {question.patience} runs of each: "
            f"there is no difference with a probability of {format_number(belief.no_step)}."
        )
        return _build_measure_step(question, tests[end]) if data.n[end] < question.patience else Refused(sentence=doubt)
    # Otherwise measure the most informative mixture next.
    success_probability = np.array([0.0 if index in failed else 1.0 for index in range(len(tests))])
    return _build_measure_step(question, tests[belief.choose(effect, success_probability)])


@lru_cache(maxsize=4)
def _build_design(settings: tuple[str, ...]) -> tuple[list[frozenset[str]], list[frozenset[str]], Bools]:
    """Return the explanations, the mixtures to choose from, and which mixture contains which explanation."""
    explanations = [
        frozenset(chosen) for size in range(1, MAX_NECESSARY_TOGETHER + 1) for chosen in combinations(settings, size)
    ]
    tests = _list_mixtures(settings, explanations)
    return explanations, tests, np.array([[needed <= test for needed in explanations] for test in tests])


def _list_mixtures(settings: tuple[str, ...], explanations: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the candidate mixtures: all if they are few, otherwise the explanations' complements and a sample."""
    if 2 ** len(settings) <= 2 * MAX_MIXTURES:
        return [frozenset(chosen) for size in range(len(settings) + 1) for chosen in combinations(settings, size)]
    random = np.random.default_rng(0)
    halves = [
        frozenset(setting for setting, chosen in zip(settings, row, strict=True) if chosen)
        for row in random.random((MAX_MIXTURES, len(settings))) < random.uniform(0.2, 0.9, (MAX_MIXTURES, 1))
    ]
    complements = [frozenset(settings) - needed for needed in explanations if len(needed) <= 2]
    return list(dict.fromkeys([frozenset(), frozenset(settings), *complements, *halves]))
