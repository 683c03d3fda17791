"""Names the commits that can have caused a change: only a single candidate by its title."""

from __future__ import annotations

from collections.abc import Sequence

SHORT = 10
"""Digits of a commit's hash in a sentence."""
_NAMED = 3
"""Commits that a headline lists."""


def name_candidates(commits: Sequence[str], title: str, *, all_known: bool = True) -> str:
    """Return whom a headline blames: the only candidate by its title, else no single commit.

    Parameters
    ----------
    commits
        The candidates, oldest first.
    title
        The title of the newest one.
    all_known
        Whether there are no others.
    """
    if not commits:
        return title
    first, last = commits[0][:SHORT], commits[-1][:SHORT]
    if not all_known:
        return f"one of the commits up to {last}"
    return (title or last) if len(commits) == 1 else f"one of {len(commits)} commits, {first}…{last}"


def name_culprits(commits: Sequence[str]) -> str:
    """Return several commits that together caused a change, by their hashes, oldest first."""
    names = [commit[:SHORT] for commit in commits]
    return f"{len(names)} commits: {', '.join(names[:_NAMED])}{' …' if len(names) > _NAMED else ''}"
