"""Predicts which commits a search measures next, so that they can be built while the current one is. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runner.contract.level import Number
from service.rules.bisect.exact_search import search
from service.rules.bisect.question import Measure, Observation, Question


def likely_commits(question: Question, seen: Sequence[Observation], answer: Measure, most: int) -> tuple[str, ...]:
    """Return the commits that an exact search measures after the first of its answer, the nearest first.

    A commit has the level of one end or of the other, if one commit moved the metric. Each of the two leads to one next
    commit, and so on.

    Parameters
    ----------
    most
        How many commits to return at most.
    """
    if not answer.commits or not question.exact:
        return ()
    levels = _levels_of_ends(question, seen)
    found: dict[str, None] = {}
    waiting = deque([(list(seen), answer.commits[0])])
    while waiting and len(found) < most:
        known, commit = waiting.popleft()
        for level in levels:
            imagined = [*known, Observation(commit=commit, value=level)]
            after = search(question, imagined)
            if isinstance(after, Measure) and after.commits:
                found[after.commits[0]] = None
                waiting.append((imagined, after.commits[0]))
    return tuple(found)[:most]


def _levels_of_ends(question: Question, seen: Sequence[Observation]) -> tuple[Number, Number]:
    """Return the levels of both ends; those that are not known yet are different ones."""
    known = {run.commit: run.value for run in seen if run.value is not None}
    good = known.get(question.good)
    bad = known.get(question.bad)
    if good is None:
        return (0 if bad is None else bad - 1 - question.least, 1 + question.least if bad is None else bad)
    return good, good + 1 + question.least if bad is None else bad
