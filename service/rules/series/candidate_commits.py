"""Decides which commits could have caused a change: those that ``git rev-list before..after`` lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence


def list_commits_between(parents: Mapping[str, Iterable[str]], before: str, after: str) -> frozenset[str]:
    """Return the commits that ``after`` contains, but not ``before``, in histories with any merges.

    Parameters
    ----------
    parents
        The parents of each known commit. Unknown commits end the search: they are older than all known ones.
    """
    excluded_commits = collect_commits_with_ancestors(parents, [before])
    return collect_commits_with_ancestors(parents, [after], excluded_commits)


def collect_history(parents: Mapping[str, Collection[str]], commit: str) -> frozenset[str]:
    """Return the commits that a commit contains, as far as they are known, and the commit itself.

    If the known history ends at a commit without known parents, all commits before that one count: of commits that were
    imported, often no parent is known, and only their order tells which come before.

    Parameters
    ----------
    parents
        The parents of each known commit, in the order of the history: parents before children.
    """
    ancestors = collect_commits_with_ancestors(parents, [commit])
    ends = {ancestor for ancestor in ancestors if not any(parent in parents for parent in parents[ancestor])}
    commits = list(parents)
    index_of_last_end = next((index for index in reversed(range(len(commits))) if commits[index] in ends), 0)
    return ancestors.union(commits[:index_of_last_end])


def is_ancestor(parents: Mapping[str, Iterable[str]], newer: str, older: str) -> bool:
    """Return whether ``older`` is known to be an ancestor of ``newer``; a commit is not its own ancestor."""
    return older != newer and older in collect_commits_with_ancestors(parents, [newer])


def find_descent(parents: Mapping[str, Sequence[str]], newer: str, older: str) -> bool | None:
    """Return whether ``newer`` is ``older`` or descends from it; None if it may descend from it via unknown commits.

    A shallow clone shows its oldest commits without parents: these may descend from any older commit. So may the oldest
    known commit along the first parents. Merged branches that left the main line before a measured range also end at
    unknown commits, but those lead only to commits that are older than the range.

    Parameters
    ----------
    parents
        The parents of each known commit, in the order of the history: parents before children.
    """
    if newer not in parents or older not in parents:
        return True if newer == older else None
    contained_commits = collect_commits_with_ancestors(parents, [newer])
    if older in contained_commits:
        return True
    oldest_on_main_line = newer
    visited_commits = {newer}
    while parents[oldest_on_main_line]:
        first_parent = parents[oldest_on_main_line][0]
        # A report can claim that a commit is its own ancestor, which git cannot create.
        if first_parent not in parents or first_parent in visited_commits:
            break
        oldest_on_main_line = first_parent
        visited_commits.add(first_parent)
    # An end that comes before the older commit in the history cannot descend from it.
    index_of = {commit: index for index, commit in enumerate(parents)}
    commits_without_parents = [commit for commit in contained_commits if not parents[commit]]
    may_descend = any(index_of[end] > index_of[older] for end in (oldest_on_main_line, *commits_without_parents))
    return None if may_descend else False


def are_connected(parents: Mapping[str, Iterable[str]], first: str, second: str) -> bool:
    """Return whether two commits have a known common ancestor, which may be one of them.

    Commits that were imported without their repository have no known parents, so nothing connects them.
    """
    return not collect_commits_with_ancestors(parents, [first]).isdisjoint(
        collect_commits_with_ancestors(parents, [second])
    )


def are_all_known(parents: Mapping[str, Collection[str]], before: str, after: str) -> bool:
    """Return whether :func:`list_commits_between` is complete: it is if all parents of the listed commits are known.

    If only single commits were measured or imported, the commits between them are unknown. A commit without parents may
    be the first of a history, or its parents were not sent. It is unknown which, so the list counts as incomplete.
    """
    candidates = list_commits_between(parents, before, after)
    return all(parents[commit] and all(parent in parents for parent in parents[commit]) for commit in candidates)


def collect_commits_with_ancestors(
    parents: Mapping[str, Iterable[str]], commits: Iterable[str], excluded_commits: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return commits with all their known ancestors, except excluded commits and those reached only through them.

    Parameters
    ----------
    parents
        The parents of each known commit.
    """
    contained_commits: set[str] = set()
    pending_commits = list(commits)
    while pending_commits:
        commit = pending_commits.pop()
        if commit in parents and commit not in contained_commits and commit not in excluded_commits:
            contained_commits.add(commit)
            pending_commits += parents[commit]
    return frozenset(contained_commits)
