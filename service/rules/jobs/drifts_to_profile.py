"""Decides for which drifts the service orders profiles of both sides without being asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runner.contract.job import ProfileQuestion
from service.schemas.history import Cause, Drift

MAX_DRIFTS = 10
"""How many of a subject's newest drifts are profiled: a history that was just measured can have many old ones."""


def list_questions_to_order(
    drifts: Iterable[Drift],
    build_question: Callable[[Drift], ProfileQuestion | None],
    is_answered: Callable[[ProfileQuestion], bool],
) -> list[ProfileQuestion]:
    """Return the profiles to order.

    Parameters
    ----------
    drifts
        The drifts of a subject, newest first.
    build_question
        Returns the question whose profiles would explain a drift; None if no job can be ordered for it.
    is_answered
        Returns whether both profiles exist, or were ordered before, with any result.
    """
    questions_by_subject: dict[str, list[ProfileQuestion]] = {}
    for drift in drifts:
        question = build_question(drift) if can_be_profiled(drift) and is_confirmed_fault_drift(drift) else None
        questions_of_subject = questions_by_subject.setdefault(drift.subject, [])
        if question is not None and question not in questions_of_subject and len(questions_of_subject) < MAX_DRIFTS:
            questions_of_subject.append(question)
    return [
        question
        for questions_of_subject in questions_by_subject.values()
        for question in questions_of_subject
        if not is_answered(question)
    ]


def can_be_profiled(drift: Drift) -> bool:
    """Return whether profiles of the two commits would show the drift: they cannot show a change of configuration."""
    return drift.cause in {Cause.COMMIT, Cause.COMMIT_AND_CONFIG} and drift.revision != drift.previous_revision


def is_confirmed_fault_drift(drift: Drift) -> bool:
    """Return whether a drift is a certain change of page faults."""
    return drift.metric.endswith("-faults") and not drift.evidence.wants_rerun
