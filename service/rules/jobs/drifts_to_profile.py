"""Which drifts are to be profiled on both sides, by themselves. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runner.contract.job import ProfileQuestion
from service.schemas.history import Cause, Drift

MOST = 10
"""Drifts of each subject that are profiled, the newest ones: a history that was just measured has many old ones."""


def questions_to_order(
    drifts: Iterable[Drift],
    question: Callable[[Drift], ProfileQuestion],
    is_answered: Callable[[ProfileQuestion], bool],
) -> list[ProfileQuestion]:
    """Return what is to be profiled.

    Parameters
    ----------
    drifts
        The newest first.
    question
        What has to be profiled of a drift.
    is_answered
        Whether that was asked before, whatever came of it, or both profiles are there.
    """
    asked: dict[str, list[ProfileQuestion]] = {}
    for drift in drifts:
        one = question(drift) if can_be_profiled(drift) and is_confirmed(drift) else None
        of_subject = asked.setdefault(drift.subject, [])
        if one is not None and one not in of_subject and len(of_subject) < MOST:
            of_subject.append(one)
    return [one for questions in asked.values() for one in questions if not is_answered(one)]


def can_be_profiled(drift: Drift) -> bool:
    """Whether profiles of its two commits would show it: another configuration is not to be had again by a commit."""
    return drift.cause in {Cause.COMMIT, Cause.BOTH} and drift.revision != drift.previous_revision


def is_confirmed(drift: Drift) -> bool:
    """Whether it is a fact, and one about faults."""
    return drift.metric.endswith("-faults") and not drift.evidence.wants_rerun
