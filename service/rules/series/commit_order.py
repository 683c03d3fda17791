"""Sorts the commits of a subject topologically."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heappush


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, with the fields that determine its position in the order."""

    commit: str
    parents: tuple[str, ...]
    committed_at: datetime


def sort_commits_by_history(commits: Iterable[Commit]) -> list[str]:
    """Return commits sorted oldest first: parents before children, otherwise by date, then by hash.

    The order depends only on the set of commits, not on the order in which they became known. Parents outside the set
    are ignored. Commits that are their own ancestors, which git cannot create, come last.
    """
    commit_by_hash = {entry.commit: entry for entry in commits}
    n_unsorted_parents = {
        entry.commit: len(commit_by_hash.keys() & set(entry.parents)) for entry in commit_by_hash.values()
    }
    children = defaultdict(list)
    for entry in commit_by_hash.values():
        for parent in commit_by_hash.keys() & set(entry.parents):
            children[parent].append(entry.commit)

    ready_commits = [
        (commit_by_hash[commit].committed_at, commit)
        for commit, n_unsorted in n_unsorted_parents.items()
        if n_unsorted == 0
    ]
    heapify(ready_commits)
    sorted_commits: list[str] = []
    while ready_commits:
        _, commit = heappop(ready_commits)
        sorted_commits.append(commit)
        for child in children[commit]:
            n_unsorted_parents[child] -= 1
            if n_unsorted_parents[child] == 0:
                heappush(ready_commits, (commit_by_hash[child].committed_at, child))

    commits_in_cycles = commit_by_hash.keys() - set(sorted_commits)
    return sorted_commits + sorted(commits_in_cycles, key=lambda commit: (commit_by_hash[commit].committed_at, commit))


def order_continuation(tip: str, commits: Iterable[Commit]) -> list[str] | None:
    """Return new commits in their order if they continue a history in one line; None if they do not.

    They do if the first new commit is a child of ``tip``, and each further commit is a child of the new commit before
    it. :func:`sort_commits_by_history` would then place all of them after the stored history, whatever their dates are,
    so that the history need not be sorted again. The caller has to check that no stored commit is a child of a new one.

    Parameters
    ----------
    tip
        The last commit in the order of the history.
    """
    commit_by_hash = {entry.commit: entry for entry in commits}
    sorted_commits = sort_commits_by_history(commit_by_hash.values())
    remaining_commits = set(sorted_commits)
    for commit, previous_commit in zip(sorted_commits, [tip, *sorted_commits], strict=False):
        parents = set(commit_by_hash[commit].parents)
        # If a parent is still among the remaining commits, commits are their own ancestors, which git cannot create.
        if previous_commit not in parents or parents & remaining_commits:
            return None
        remaining_commits.remove(commit)
    return sorted_commits
