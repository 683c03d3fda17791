"""Decides by which rules a search judges a count, depending on how much the count varies.

A count that repeats is searched with single runs. The count of a program with threads, a garbage collector or random
sizes differs between executions of one commit: a difference between two runs then shows nothing, so the search uses the
rules for noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from runner.contract.level import Number, halve_number, is_repeating
from service.rules.bisect.question import Observation, Question

MIN_VARYING_SHARE = 0.25
"""A count varies if the samples do not repeat in at least this share of the runs of a range; fewer are outliers."""
_MIN_VARYING_RUNS = 2
"""A count varies only if at least this many runs have samples that do not repeat: one run may have been disturbed."""
MAX_RUNS_PER_END = 10
"""A search for a varying count gives up after this many runs of each end of the range; a run has several samples."""


def apply_noise_rules_if_varying(question: Question, observations: Iterable[Observation]) -> Question:
    """Return the question, with the rules for noise if an exact count varies in the range."""
    if not question.exact:
        return question
    if not has_varying_count(
        [run for run in observations if run.commit in question.graph.index_of], question.min_difference
    ):
        return question
    return question.model_copy(update={"exact": False, "patience": MAX_RUNS_PER_END})


def has_varying_count(observations: Iterable[Observation], min_difference: float) -> bool:
    """Return whether a count differs between executions of one commit in more runs than outliers would explain."""
    runs = [run for run in observations if run.value is not None]
    return sum(_has_varying_samples(run, min_difference) for run in runs) >= max(
        _MIN_VARYING_RUNS, MIN_VARYING_SHARE * len(runs)
    )


def _has_varying_samples(run: Observation, min_difference: float) -> bool:
    """Return whether the samples of a run do not repeat, and differ by at least ``min_difference``."""
    return bool(run.samples) and not is_repeating(run.samples) and max(run.samples) - min(run.samples) >= min_difference


def compute_half_range(observations: Iterable[Observation]) -> Number:
    """Return half of the largest difference between executions of one commit; 0 if none was seen."""
    values: dict[str, list[Number]] = defaultdict(list)
    for run in observations:
        if run.value is not None:
            values[run.commit] += run.samples or (run.value,)
    return halve_number(
        max((max(values_of_commit) - min(values_of_commit) for values_of_commit in values.values()), default=0)
    )
