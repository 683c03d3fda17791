"""Refuses a search for commits that can name none: which ends and which measurements allow no answer, and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from runner.contract.level import Number
from runner.contract.number_text import format_number
from service.rules.bisect.count_variation import compute_half_range
from service.rules.bisect.question import Observation, Question, Refused

MAX_STEPS = 16
"""A metric that moves at more places than this does not move in steps."""
_LAST_RESORT = "Make the count repeatable, or search between commits that differ by more."


def refuse_unfit_ends(question: Question, failed_commits: Collection[str]) -> Refused | None:
    """Return why the ends allow no search; None if they do."""
    if question.graph.line is None:
        return Refused(
            sentence=f"The bad end, {question.bad[:10]}, does not descend from the good end, {question.good[:10]}."
        )
    for name, end in (("good", question.good), ("bad", question.bad)):
        if end in failed_commits:
            return Refused(
                sentence=f"The {name} end, {end[:10]}, could not be built or measured, or lacks this metric."
            )
    return None


def refuse_equal_ends(question: Question, good: Number, bad: Number) -> Refused:
    """Refuse a search whose ends do not differ, with the levels of both."""
    levels = f"good {question.format_quantity(good, bad)}, bad {question.format_quantity(bad, good)}"
    if good == bad:
        return Refused(sentence=f"The two ends of the range do not differ: {levels}.")
    limit = format_number(question.min_difference)
    return Refused(sentence=f"The two ends of the range differ by less than {limit}: {levels}.")


def refuse_small_changes(question: Question, good: Number, bad: Number) -> Refused:
    """Refuse a search whose ends differ by small changes that add up, none of which matters by itself."""
    return Refused(
        sentence=f"The two ends of the range differ (good {question.format_quantity(good, bad)}, bad "
        f"{question.format_quantity(bad, good)}), but no commit was found that moves the metric by "
        f"{format_number(question.min_difference)} or more, the smallest difference that matters: smaller changes may "
        "add up to the difference."
    )


def refuse_too_many_steps(question: Question, values: Mapping[str, Number]) -> Refused:
    """Refuse a search with too many changes, which proves nothing, and say what to do instead."""
    low, high = min(values.values()), max(values.values())
    return Refused(
        sentence=f"Not proven: the metric moves at more than {MAX_STEPS} places in the range. The levels of the "
        f"{len(values)} measured commits lie between {question.format_quantity(low, high)} and "
        f"{question.format_quantity(high, low)}. State the smallest difference that matters (--min-difference), or "
        "search a shorter range."
    )


def refuse_variation(question: Question, observations: Sequence[Observation], reason: str) -> Refused:
    """Return the refusal of a search that proves nothing: how much the metric varies, why it fails, and what helps.

    Parameters
    ----------
    reason
        A clause, without a full stop.
    """
    half_range = compute_half_range(run for run in observations if run.commit in question.graph.index_of)
    if not half_range:
        return Refused(sentence=f"Not proven: {reason}.")
    formatted_range = question.format_quantity(half_range)
    return Refused(
        sentence=f"Not proven: this metric varies by ±{formatted_range} between executions of one commit; {reason}. "
        f"{question.remedy} {_LAST_RESORT}"
    )
