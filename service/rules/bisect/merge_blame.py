"""Decides which commits are candidates if no measurement divides a gap any further: usually, its newer end is a merge.

The changes of a branch are attributed to its commits, so a merge is blamed only for what its branches do not explain.
If the merge may have changed nothing itself, or could not be compared with each of its parents, the commits of its
branches are named together with it. See :mod:`service.rules.bisect.exact_search` for gaps and suspects. Sets of commits
are bit sets.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from runner.contract.level import Number
from service.rules.bisect.graph import Graph


def blame_merge(
    suspects: int, remaining_suspects: int, cleared_commits: int, *, failed_ancestors: int, may_be_innocent: bool
) -> int:
    """Return the candidates of a gap: the commits that cannot be distinguished from its newer end, and this end.

    Parameters
    ----------
    suspects
        All suspects of the gap.
    remaining_suspects
        Those that no measurement clears.
    cleared_commits
        Those that the branches inside the gap clear.
    failed_ancestors
        The ancestors of the newer end that could not be measured, see :func:`collect_failed_ancestors`.
    may_be_innocent
        Whether the newer end may have changed nothing itself, so that cleared suspects are candidates as well.
    """
    candidates = suspects if may_be_innocent else remaining_suspects
    if failed_ancestors:
        # A parent could not be measured. So suspects stay candidates if they were cleared only because two measured
        # commits around them have the same level.
        candidates |= suspects & ~cleared_commits | failed_ancestors
    return candidates


def has_level_of_branch(
    graph: Graph,
    levels: Mapping[str, Number],
    merge: str,
    suspects: int,
    do_differ: Callable[[Number, Number], bool],
) -> bool:
    """Return whether a merge has the level of a branch that it merged.

    The merge then changed nothing itself; two changes cancel each other in the branch, but not in the line.
    """
    measured_parents = [parent for parent in graph.parents[merge] if parent in levels]
    merged_parents = [parent for parent in measured_parents if suspects >> graph.index_of[parent] & 1]
    return any(not do_differ(levels[parent], levels[merge]) for parent in merged_parents)


def collect_failed_ancestors(graph: Graph, failed_commits: Collection[str], commit: str) -> int:
    """Return the failed ancestors of a commit with only failed commits between them and it."""
    failed_ancestors, pending_commits = 0, [commit]
    while pending_commits:
        for parent in graph.parents[pending_commits.pop()]:
            bit = 1 << graph.index_of[parent] if parent in failed_commits and parent in graph else 0
            if bit & ~failed_ancestors:
                failed_ancestors |= bit
                pending_commits.append(parent)
    return failed_ancestors
