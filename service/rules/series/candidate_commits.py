"""Decides which commits can have caused a change: those that ``git rev-list before..after`` lists. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def commits_between(parents: Mapping[str, Iterable[str]], before: str, after: str) -> frozenset[str]:
    """Return the commits that ``after`` contains and ``before`` does not, over merges of any shape.

    Parameters
    ----------
    parents
        The parents of each known commit. Unknown commits end the search: they are older than all known ones.
    """
    older = _contained(parents, [before], frozenset())
    return _contained(parents, [after], older)


def are_all_known(parents: Mapping[str, Iterable[str]], before: str, after: str) -> bool:
    """Return whether :func:`commits_between` lists all commits: ``before`` is one of the known ancestors of ``after``.

    Where single commits are measured, the ones between them are not known.
    """
    contained = _contained(parents, [after], frozenset())
    return before in contained or all(parent in parents for commit in contained for parent in parents[commit])


def _contained(parents: Mapping[str, Iterable[str]], commits: Iterable[str], without: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(commits)
    while waiting:
        commit = waiting.pop()
        if commit in parents and commit not in found and commit not in without:
            found.add(commit)
            waiting += parents[commit]
    return frozenset(found)
