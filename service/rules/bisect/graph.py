"""Represents the commits of a range as a graph: lines, and the branches that were merged into them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property

import numpy as np
import numpy.typing as npt

from service.rules.bisect.base import Frozen


class Node(Frozen):
    """A commit and its parents; the first parent is the line that it continues."""

    commit: str
    parents: tuple[str, ...] = ()


class Graph:
    """The commits of ``good..bad``. A parent outside this range is older: ``good`` contains it too."""

    def __init__(self, good: str, bad: str, nodes: Iterable[Node]) -> None:
        self.good, self.bad = good, bad
        self.parents = {node.commit: node.parents for node in nodes}
        self.names = (good, *self.parents)
        self.place = {name: number for number, name in enumerate(self.names)}

    def __contains__(self, commit: str) -> bool:
        return commit in self.parents

    @cached_property
    def line(self) -> tuple[str, ...] | None:
        """The commits from ``good`` to ``bad``, each a parent of the next, by first parents where possible.

        None where ``bad`` does not descend from ``good``.
        """
        descendants = {self.good}
        for commit, parents in self.parents.items():
            if not descendants.isdisjoint(parents):
                descendants.add(commit)
        if self.bad not in descendants:
            return None
        line = [self.bad]
        while line[-1] != self.good:
            line.append(next(parent for parent in self.parents[line[-1]] if parent in descendants))
        return tuple(reversed(line))

    @cached_property
    def contains(self) -> npt.NDArray[np.bool_]:
        """Table of whether ``names[i]`` contains ``names[j + 1]``: is that commit or a descendant of it."""
        table = np.zeros((len(self.names), len(self.parents)), dtype=np.bool_)
        for commit, parents in self.parents.items():
            row = table[self.place[commit]]
            for parent in parents:
                if parent in self:
                    row |= table[self.place[parent]]
            row[self.place[commit] - 1] = True
        return table

    def branch(self, tip: str, known: Set[str]) -> list[str]:
        """Return the line that leads to ``tip``, oldest first, from where it branched off the ``known`` commits."""
        line = [tip]
        while line[-1] in self and line[-1] not in known and self.parents[line[-1]]:
            line.append(self.parents[line[-1]][0])
        return line[::-1]

    def ancestors(self, commit: str) -> set[str]:
        """Return a commit and its ancestors, within the range."""
        return self._new(commit, set())

    def weights(self, line: Sequence[str], known: Set[str]) -> list[int]:
        """Return how many commits each commit of a line brings: itself, and what was merged with it."""
        counted = set(known)
        weights = []
        for commit in line:
            new = self._new(commit, counted)
            counted |= new
            weights.append(max(1, len(new)))
        return weights

    def _new(self, commit: str, known: Set[str]) -> set[str]:
        new: set[str] = set()
        waiting = [commit]
        while waiting:
            ancestor = waiting.pop()
            if ancestor in self and ancestor not in known and ancestor not in new:
                new.add(ancestor)
                waiting += self.parents[ancestor]
        return new
