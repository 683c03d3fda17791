"""Names the commits that could have caused a change: a single candidate by its title, several by their hashes."""

from __future__ import annotations

from collections.abc import Sequence

SHORT_HASH_DIGITS = 10
"""Digits of a commit's hash in a sentence."""
PROVISIONAL = "suspected: "
"""The prefix of every text about a cause while further runs still have to confirm the change itself."""
_MAX_COMMITS = 3
"""Largest number of commits that a headline lists."""


def name_candidates(commits: Sequence[str], title: str, *, all_known: bool = True, confirmed: bool = True) -> str:
    """Return the text for the cause in a headline: the title of the only candidate, otherwise the range of commits.

    Every reservation comes first: that the change is not confirmed, or that several commits could have caused it. Lists
    and the map cut off the ends of long texts, and what is left of a range must not read like one commit.

    Parameters
    ----------
    commits
        The candidates, oldest first.
    title
        The title of the newest one.
    all_known
        Whether all candidates are known.
    confirmed
        Whether the change is certain, so that it needs no further runs.
    """
    if not confirmed:
        is_single = len(commits) == 1 and all_known
        names = name_candidates(commits, title, all_known=all_known)
        return prefix_provisional(f"the only candidate is {names}" if is_single else names)
    if not commits:
        return title
    first_hash, last_hash = commits[0][:SHORT_HASH_DIGITS], commits[-1][:SHORT_HASH_DIGITS]
    if not all_known:
        return f"a commit up to {last_hash}"
    return (title or last_hash) if len(commits) == 1 else f"one of {len(commits)} commits, {first_hash}…{last_hash}"


def prefix_provisional(text: str) -> str:
    """Return the text about a cause with “suspected: ” in front, because further runs have to confirm it."""
    return text if not text or text.startswith(PROVISIONAL) else PROVISIONAL + text


def name_culprits(commits: Sequence[str]) -> str:
    """Return the hashes of several commits that together caused a change, oldest first, as a text."""
    names = [commit[:SHORT_HASH_DIGITS] for commit in commits]
    return f"{len(names)} commits: {', '.join(names[:_MAX_COMMITS])}{' …' if len(names) > _MAX_COMMITS else ''}"
