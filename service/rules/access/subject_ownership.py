"""Decides which subjects a repository may own: the one of its name, and those that the settings assign to it."""

from __future__ import annotations

from collections.abc import Iterable

from service.rules.access.token_limits import Patterns, TokenLimits, matches_any_pattern


def compute_job_limits(repository: str, assignments: Iterable[tuple[str, str]], hosts: Patterns | None) -> TokenLimits:
    """Return the limits of the token of a CI job.

    The job may report on the subject named after its repository, unless the settings assign that subject to another
    repository.

    Parameters
    ----------
    assignments
        Repositories, each with a pattern of the subjects that the settings assign to it.
    hosts
        The hosts under whose names jobs may report; None for all.
    """
    short_name = repository.partition("/")[2]
    assignments = tuple(assignments)
    is_assigned_elsewhere = any(
        matches_any_pattern(short_name, (pattern,)) for name, pattern in assignments if name != repository
    )
    assigned_patterns = tuple(pattern for name, pattern in assignments if name == repository)
    return TokenLimits(
        hosts=hosts, subjects=assigned_patterns if is_assigned_elsewhere else (short_name, *assigned_patterns)
    )


def may_own_subject(repository: str, subject: str, assigned_subjects: Patterns | None) -> bool:
    """Return whether a subject without an owner may become owned by a repository whose job reports about it.

    Parameters
    ----------
    assigned_subjects
        Patterns of the subjects assigned to the repository; None for only the subject of its own name.
    """
    name = repository.partition("/")[2]
    return matches_any_pattern(subject, (name,) if assigned_subjects is None else assigned_subjects)
