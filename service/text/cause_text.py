"""Names the commits that could have caused a change: only a single candidate by its title."""

from __future__ import annotations

from collections.abc import Sequence

SHORT_HASH_DIGITS = 10
"""Digits of a commit's hash in a sentence."""
PROVISIONAL = "suspected: "
"""Begins whatever is said of a cause while further runs still have to confirm the change itself."""
_MAX_COMMITS = 3
"""Commits that a headline lists."""


def name_candidates(commits: Sequence[str], title: str, *, all_known: bool = True, confirmed: bool = True) -> str:
    """Return the text for the cause in a headline: the title of the only candidate, otherwise the range of commits.

    While the change waits for further runs, the text begins with that, so that no list cuts it off.

    Parameters
    ----------
    commits
        The candidates, oldest first.
    title
        The title of the newest one.
    all_known
        Whether all candidates are known.
    confirmed
        Whether the change is a fact.
    """
    if not confirmed:
        is_single = len(commits) == 1 and all_known
        names = name_candidates(commits, title, all_known=all_known)
        return prefix_provisional(f"the only candidate is {names}" if is_single else names)
    if not commits:
        return title
    first_hash, last_hash = commits[0][:SHORT_HASH_DIGITS], commits[-1][:SHORT_HASH_DIGITS]
    if not all_known:
        return f"{last_hash} or a commit before it"
    return (title or last_hash) if len(commits) == 1 else f"one of {len(commits)} commits, {first_hash}…{last_hash}"


def prefix_provisional(text: str) -> str:
    """Return the text about a cause with “suspected: ” in front, because further runs have to confirm it."""
    return text if not text or text.startswith(PROVISIONAL) else PROVISIONAL + text


def name_culprits(commits: Sequence[str]) -> str:
    """Return several commits that together caused a change, by their hashes, oldest first."""
    names = [commit[:SHORT_HASH_DIGITS] for commit in commits]
    return f"{len(names)} commits: {', '.join(names[:_MAX_COMMITS])}{' …' if len(names) > _MAX_COMMITS else ''}"
