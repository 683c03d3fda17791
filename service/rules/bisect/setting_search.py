"""Searches for the settings that carry a difference between two environments: delta debugging.

Both environments are measured, then mixtures: some settings have their "after" values, the others their "before"
values. A mixture *carries* the difference if its level is that of the environment after the change. The search finds a
set of settings that carries the difference, but no longer does if any one of them is left out, however they interact.

For an exact metric, the settings are put in order. Together with the settings found so far, the shortest prefix of this
order that carries the difference ends in a necessary setting. It is found by bisection and added to the set; the search
then continues among the settings before it, until the set itself carries the difference. This is the rule of U.
Junker's QuickXplain (AAAI 2004): k necessary settings out of n take about k·(log₂ n + 1) measurements, while ddmin (A.
Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE Trans. Softw. Eng. 28, 2002) takes
up to n² + 3n. Finally each setting of the set is left out once. So the result is minimal in the sense of ddmin,
whatever the interactions, and the effect of each setting is known.

For a noisy metric, each set of up to three settings is a hypothesis, and a mixture lies after its step if it contains
the whole set; see :mod:`service.rules.bisect.belief`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from itertools import combinations
from operator import and_

import numpy as np
from pydantic import AliasChoices, Field

from runner.contract.base import Strict
from runner.contract.level import Number, compute_median
from runner.contract.number_text import format_number, format_quantity
from runner.contract.setting_search import FoundSettings, MeasureSettings, SettingAnswer
from runner.contract.word_list import join_words
from service.rules.bisect.belief import compute_belief
from service.rules.bisect.question import Refused
from service.rules.bisect.summed_measurements import Bools, SummedMeasurements

MAX_NECESSARY_TOGETHER = 3
"""For a noisy metric: how many settings can be necessary together."""
MIN_RUNS_PER_END = 2
"""For a noisy metric: runs of each environment before any mixture is measured."""
MAX_NO_STEP_PROBABILITY = 0.25
"""While the probability that the environments do not differ exceeds this, both are measured again."""
NO_STEP_PRIOR = 0.1
"""Prior probability that the environments do not differ."""
MAX_RUNS = 200
"""Runs after which a noisy search gives up: its model, that a few settings carry one step, does not hold."""
MAX_ORDERS = 6
"""If mixtures cannot be measured, this many orders of the settings are tried."""
MAX_MIXTURES = 512
"""If there are more than twice this many mixtures, this many random ones are considered."""


class Mixture(Strict):
    """One run with these settings at their "after" values; its value is None if it could not be measured."""

    changed: frozenset[str]
    value: Number | None


class SettingQuestion(Strict):
    """A search for the settings that carry a difference; see :class:`service.rules.bisect.question.Question`."""

    settings: tuple[str, ...] = Field(min_length=1, max_length=64)
    exact: bool = True
    min_difference: float = Field(
        default=0, ge=0, allow_inf_nan=False, validation_alias=AliasChoices("min_difference", "least")
    )
    confidence: float = Field(default=0.99, gt=0.5, lt=1)
    patience: int = Field(default=30, ge=2)
    unit: str = ""


def search_settings(question: SettingQuestion, observations: Iterable[Mixture]) -> SettingAnswer:
    """Return the mixture to measure next, or the settings that carry the difference."""
    mixtures = list(observations)
    return _search_exact_metric(question, mixtures) if question.exact else _search_noisy_metric(question, mixtures)


def _build_measure_step(question: SettingQuestion, changed_names: frozenset[str]) -> MeasureSettings:
    """Return the answer that asks for a mixture."""
    return MeasureSettings(changed=tuple(setting for setting in question.settings if setting in changed_names))


class _UnmeasurableError(Exception):
    """The answer depends on mixtures that cannot be measured, so some settings cannot be distinguished."""

    def __init__(self, settings: Sequence[str]) -> None:
        self.settings = settings


class _NotMeasuredError(Exception):
    """The search needs a mixture that is not measured yet."""

    def __init__(self, changed_settings: frozenset[str]) -> None:
        self.changed = changed_settings


def _search_exact_metric(question: SettingQuestion, mixtures: Sequence[Mixture]) -> SettingAnswer:
    """Return the next mixture to measure, or the settings, if one run is enough to know a mixture's level."""
    values: dict[frozenset[str], list[Number]] = {}
    for mixture in mixtures:
        values.setdefault(mixture.changed, [])
        if mixture.value is not None:
            values[mixture.changed].append(mixture.value)

    def get_level(changed_names: frozenset[str]) -> Number | None:
        """Return the level of a mixture; None if it cannot be measured.

        Raises
        ------
        _NotMeasuredError
            If no run of the mixture was tried yet.
        """
        if changed_names not in values:
            raise _NotMeasuredError(changed_names)
        return compute_median(values[changed_names])

    # The two environments have to differ.
    all_settings = frozenset(question.settings)
    try:
        before, after = get_level(frozenset()), get_level(all_settings)
        if before is None or after is None:
            side = "before" if before is None else "after"
            return Refused(sentence=f"The environment {side} the change could not be measured.")
        if before == after or abs(after - before) < question.min_difference:
            before_text = format_quantity(before, question.unit, after).strip()
            after_text = format_quantity(after, question.unit, before).strip()
            difference = (
                "does not differ"
                if before == after
                else f"differs by less than {format_number(question.min_difference)}"
            )
            return Refused(
                sentence=f"The metric {difference} between the two environments: before {before_text}, after "
                f"{after_text}."
            )

        def carries_difference(changed_names: frozenset[str]) -> bool | None:
            """Return whether a mixture has the level of the environment after the change; None if it is unmeasurable.

            The levels may differ by half of the smallest difference that matters.
            """
            value = get_level(changed_names)
            return None if value is None else abs(value - after) <= question.min_difference / 2

        # Find the settings that carry the difference, and the level without each of them.
        culprits = _find_minimal_set_in_any_order(question.settings, carries_difference)
        level_without = {setting: get_level(culprits - {setting}) for setting in culprits}
    except _NotMeasuredError as missing:
        return _build_measure_step(question, missing.changed)
    except _UnmeasurableError as error:
        names = join_words(error.settings)
        return Refused(
            sentence=(
                f"It is unknown whether {names} {'causes' if len(error.settings) == 1 else 'cause'} the "
                f"difference, because some combinations with other settings could not be measured."
            )
        )
    return FoundSettings(
        settings=tuple(setting for setting in question.settings if setting in culprits),
        before=before,
        after=after,
        values_without={setting: value for setting, value in level_without.items() if value is not None},
    )


_CarriesDifference = Callable[[frozenset[str]], bool | None]


def _find_minimal_set_in_any_order(settings: Sequence[str], carries_difference: _CarriesDifference) -> frozenset[str]:
    """Return the result of :func:`_find_minimal_set` for the first order of settings whose mixtures are measurable.

    Raises
    ------
    _UnmeasurableError
        If there is no such order among those that are tried: the error of the first order.
    _NotMeasuredError
        If a mixture has to be measured first.
    """
    orders = [list(settings), list(reversed(settings))]
    rng = np.random.default_rng(0)
    orders += [[settings[index] for index in rng.permutation(len(settings))] for _ in range(MAX_ORDERS - len(orders))]
    first_error: _UnmeasurableError | None = None
    for order in orders:
        try:
            return _find_minimal_set(order, carries_difference)
        except _UnmeasurableError as error:
            first_error = first_error or error
    assert first_error is not None
    raise first_error


def _find_minimal_set(settings: Sequence[str], carries_difference: _CarriesDifference) -> frozenset[str]:
    """Return a minimal set of settings that carries the difference: without any one of them, it does not.

    For each setting of the set, two mixtures were measured: one with it carries the difference, one without it does
    not. A setting also belongs to the set if the set without it cannot be measured.

    Raises
    ------
    _UnmeasurableError
        If this needs another mixture that cannot be measured.
    _NotMeasuredError
        If a mixture has to be measured first.
    """
    candidates = list(settings)
    while True:
        # Find necessary settings, one after the other, until they carry the difference without the remaining settings.
        necessary_names: frozenset[str] = frozenset()
        remaining_names: Sequence[str] = candidates
        while remaining_names and not (necessary_names and carries_difference(necessary_names)):
            necessary_names, remaining_names = _find_next_necessary(
                necessary_names, remaining_names, carries_difference
            )
        # Settings can interact, so a later one can make an earlier one unnecessary. Then search among the found ones.
        unnecessary_setting = next(
            (
                setting
                for setting in candidates
                if setting in necessary_names and carries_difference(necessary_names - {setting})
            ),
            None,
        )
        if unnecessary_setting is None:
            return necessary_names
        candidates = [
            setting for setting in candidates if setting in necessary_names and setting != unnecessary_setting
        ]


def _find_next_necessary(
    necessary_names: frozenset[str], remaining_names: Sequence[str], carries_difference: _CarriesDifference
) -> tuple[frozenset[str], Sequence[str]]:
    """Return the necessary settings including the next one, and the remaining settings before it in the order.

    The caller has checked that the necessary settings together with all remaining ones carry the difference, and that
    they are not known to carry it alone.

    Raises
    ------
    _UnmeasurableError
        If the next necessary setting is one of several that no measurable mixture distinguishes.
    _NotMeasuredError
        If a mixture has to be measured first.
    """
    low, high = 0, len(remaining_names)
    # The first `low` remaining settings do not carry the difference; the first `high` do. Test the measurable prefix
    # nearest to the middle.
    while high - low > 1:
        lengths = sorted(range(low + 1, high), key=lambda n_settings: (abs(2 * n_settings - low - high), n_settings))
        tested_length = next(
            (
                n_settings
                for n_settings in lengths
                if carries_difference(necessary_names | set(remaining_names[:n_settings])) is not None
            ),
            None,
        )
        if tested_length is None:
            raise _UnmeasurableError(remaining_names[low:high])
        if carries_difference(necessary_names | set(remaining_names[:tested_length])):
            high = tested_length
        else:
            low = tested_length
    # If every tested prefix carries the difference, the empty prefix has to be measurable as well.
    if low == 0 and carries_difference(necessary_names) is None:
        raise _UnmeasurableError(remaining_names[:high])
    return necessary_names | {remaining_names[high - 1]}, remaining_names[: high - 1]


def _search_noisy_metric(question: SettingQuestion, mixtures: Sequence[Mixture]) -> SettingAnswer:
    """Return the next mixture to measure, or the settings, by Bayesian inference, if runs scatter around a level."""
    # Number the mixtures that can be tested, and collect their measurements.
    hypotheses, tests, after_step = _build_design(question.settings)
    index_of = {test: index for index, test in enumerate(tests)}
    known_mixtures = [mixture for mixture in mixtures if mixture.changed in index_of]
    measurements = [
        (index_of[mixture.changed], float(mixture.value)) for mixture in known_mixtures if mixture.value is not None
    ]
    # A test has failed if no attempt to measure it has succeeded.
    tried_tests = {index_of[mixture.changed] for mixture in known_mixtures}
    failed_tests = tried_tests - {test for test, _ in measurements}
    data = SummedMeasurements.from_pairs(len(tests), measurements)
    before_test, after_test = index_of[frozenset()], index_of[frozenset(question.settings)]
    # Both environments have to be measured often enough.
    failed_side = next(
        (side for side, end in (("before", before_test), ("after", after_test)) if end in failed_tests), None
    )
    if failed_side is not None:
        return Refused(sentence=f"The environment {failed_side} the change could not be measured.")
    end_to_measure = next((end for end in (before_test, after_test) if data.counts[end] < MIN_RUNS_PER_END), None)
    if end_to_measure is not None:
        return _build_measure_step(question, tests[end_to_measure])
    # Return the most probable hypothesis once it is probable enough.
    belief = compute_belief(after_step, data, NO_STEP_PRIOR)
    best_hypothesis = int(belief.probabilities.argmax())
    if float(belief.probabilities[best_hypothesis]) >= question.confidence:
        is_after_step = after_step[:, best_hypothesis]
        before, after = (
            compute_median([value for test, value in measurements if is_after_step[test] == is_after]) or 0
            for is_after in (False, True)
        )
        return FoundSettings(
            settings=tuple(setting for setting in question.settings if setting in hypotheses[best_hypothesis]),
            before=before,
            after=after,
            values_without={},
            probability=float(belief.probabilities[best_hypothesis]),
        )
    # Give up if the search has used up its runs.
    if len(measurements) >= MAX_RUNS:
        return Refused(
            sentence=f"No answer is certain after {len(measurements)} runs. The most probable set of up to "
            f"{MAX_NECESSARY_TOGETHER} settings is {join_words(sorted(hypotheses[best_hypothesis]))}, with a "
            f"probability of {format_number(float(belief.probabilities[best_hypothesis]))}."
        )
    # If it is in doubt whether the environments differ, measure both again, or give up. If all runs are equal, there is
    # no noise by which a difference could be judged, and no run is informative.
    values = {value for _, value in measurements}
    if len(values) == 1 or belief.no_step_probability > MAX_NO_STEP_PROBABILITY:
        end = min((before_test, after_test), key=lambda test: data.counts[test])
        doubt = (
            f"After {question.patience} runs in each environment, it is not certain that the metric differs between "
            f"them: the probability that it does not is {format_number(belief.no_step_probability)}."
        )
        if len(values) == 1:
            level_text = format_quantity(min(values), question.unit).strip()
            doubt = f"The metric does not differ between the two environments: it was {level_text} in all runs."
        return (
            _build_measure_step(question, tests[end])
            if data.counts[end] < question.patience
            else Refused(sentence=doubt)
        )
    # Otherwise measure the most informative mixture next.
    success_probability = np.array([0.0 if index in failed_tests else 1.0 for index in range(len(tests))])
    return _build_measure_step(question, tests[belief.choose_test(after_step, success_probability)])


@lru_cache(maxsize=4)
def _build_design(settings: tuple[str, ...]) -> tuple[list[frozenset[str]], list[frozenset[str]], Bools]:
    """Return the hypotheses, the mixtures, and a table of whether each mixture contains each hypothesis's settings.

    A hypothesis is a set of settings that together carry the difference; a mixture is a set of settings with "after"
    values.
    """
    set_sizes = range(1, min(MAX_NECESSARY_TOGETHER, len(settings)) + 1)
    hypotheses = [frozenset(selected) for set_size in set_sizes for selected in combinations(settings, set_size)]
    tests = _list_mixtures(settings, hypotheses)
    # With 64 settings, the table has a hundred million entries: too many to compare sets one by one.
    is_after = np.array([[setting in test for setting in settings] for test in tests])
    indices_of_sizes = [np.array(list(combinations(range(len(settings)), set_size))) for set_size in set_sizes]
    after_step = np.concatenate(
        [reduce(and_, (is_after[:, column] for column in indices.T)) for indices in indices_of_sizes], axis=1
    )
    return hypotheses, tests, after_step


def _list_mixtures(settings: tuple[str, ...], hypotheses: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the mixtures to choose from, each given by the settings that have their "after" values.

    All mixtures if there are few; otherwise a random sample, and the mixtures that leave out one or two settings, of
    which there are not too many.
    """
    if 2 ** len(settings) <= 2 * MAX_MIXTURES:
        return [
            frozenset(chosen) for set_size in range(len(settings) + 1) for chosen in combinations(settings, set_size)
        ]
    rng = np.random.default_rng(0)
    # Each mixture contains a random share of the settings, between 0.2 and 0.9. A mixture of very few or almost all
    # settings would add little information to the two environments.
    is_chosen = rng.random((MAX_MIXTURES, len(settings))) < rng.uniform(0.2, 0.9, (MAX_MIXTURES, 1))
    random_mixtures = [
        frozenset(setting for setting, chosen in zip(settings, choices, strict=True) if chosen) for choices in is_chosen
    ]
    complements = [frozenset(settings) - necessary for necessary in hypotheses if len(necessary) <= 2]
    return list(dict.fromkeys([frozenset(), frozenset(settings), *complements, *random_mixtures]))
