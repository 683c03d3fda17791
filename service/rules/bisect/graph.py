"""Represents the commits of a range as a graph, with the ancestors of each commit.

Sets of commits are bit sets: integers in which bit 0 stands for ``good``, the next bits for the commits of the range,
and the last ones for the parents outside of the range. Every commit outside is older than ``good`` and contained in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from runner.contract.base import Strict


class Node(Strict):
    """A commit and its parents; the first parent is the line that it continues."""

    commit: str
    parents: tuple[str, ...] = ()


class Graph:
    """The commits of ``good..bad``. A parent outside of this range is older than ``good``, which contains it."""

    def __init__(self, good: str, bad: str, nodes: Iterable[Node]) -> None:
        self.good, self.bad = good, bad
        self.parents = {node.commit: node.parents for node in nodes}
        self.names = (good, *self.parents)
        self.index_of = {name: index for index, name in enumerate(self.names)}
        self._ancestry: dict[str, int] = {}

    def __contains__(self, commit: str) -> bool:
        return commit in self.parents

    @cached_property
    def line(self) -> tuple[str, ...] | None:
        """The commits from ``good`` to ``bad``, each a parent of the next; the first parent where possible.

        None if ``bad`` does not descend from ``good``.
        """
        return self.find_line_between(self.good, self.bad)

    def find_line_between(self, old_end: str, new_end: str) -> tuple[str, ...] | None:
        """Return a path of commits from ``old_end`` to ``new_end``, through first parents where possible.

        None if ``new_end`` is neither ``old_end`` nor a descendant of it.
        """
        descendants = {old_end}  # One pass finds all of them, because parents come before their children.
        for commit, parents in self.parents.items():
            if not descendants.isdisjoint(parents):
                descendants.add(commit)
        if new_end not in descendants:
            return None
        line = [new_end]
        while line[-1] != old_end:
            line.append(next(parent for parent in self.parents[line[-1]] if parent in descendants))
        return tuple(reversed(line))

    @cached_property
    def contains(self) -> npt.NDArray[np.bool_]:
        """Element [i, j] says whether ``names[i]`` is ``names[j + 1]`` or a descendant of it."""
        table = np.zeros((len(self.names), len(self.parents)), dtype=np.bool_)
        for commit, parents in self.parents.items():
            row = table[self.index_of[commit]]
            for parent in parents:
                if parent in self:
                    row |= table[self.index_of[parent]]
            row[self.index_of[commit] - 1] = True
        return table

    @cached_property
    def _bits_outside(self) -> Mapping[str, int]:
        """The bit of each parent outside of the range."""
        outside = (parent for parents in self.parents.values() for parent in parents if parent not in self.index_of)
        return {name: 1 << (len(self.names) + number) for number, name in enumerate(dict.fromkeys(outside))}

    @cached_property
    def older_commits(self) -> int:
        """The commits that ``good`` contains as a bit set: itself, and all outside of the range."""
        return 1 | sum(self._bits_outside.values())

    @cached_property
    def origins(self) -> npt.NDArray[np.intp]:
        """For each of :attr:`names`, a number: two are equal if both contain the same older commits."""
        older = [self.older_commits, *(self.collect_ancestry(name) & self.older_commits for name in self.parents)]
        # Bit sets are compared as strings, because they can have more bits than NumPy's integers.
        return np.unique([str(bits) for bits in older], return_inverse=True)[1].astype(np.intp)

    def collect_ancestry(self, commit: str) -> int:
        """Return the commits that a commit contains as a bit set: itself and its ancestors."""
        if commit not in self._ancestry:
            self._ancestry[commit] = self._collect_ancestors(commit)
        return self._ancestry[commit]

    def list_members(self, commits: int) -> Iterator[str]:
        """Return the commits of a bit set, parents before children, without those outside of the range."""
        while commits:
            lowest_bit = commits & -commits  # the lowest set bit
            index = lowest_bit.bit_length() - 1
            if index >= len(self.names):
                return
            yield self.names[index]
            commits ^= lowest_bit

    def map_ancestries(self, commits: int) -> dict[str, int]:
        """Return the ancestry of each commit of a bit set, which must contain all commits between any two of them."""
        ancestries: dict[str, int] = {}
        for name in self.list_members(commits):
            ancestry = 1 << self.index_of[name]
            for parent in self.parents.get(name, ()):
                ancestry |= ancestries[parent] if parent in ancestries else self.collect_ancestry(parent)
            ancestries[name] = self.older_commits if name == self.good else ancestry
        return ancestries

    def _collect_ancestors(self, commit: str) -> int:
        """Return a commit with all its ancestors as a bit set; ancestries that are already known are reused."""
        if commit in self._bits_outside:
            return self._bits_outside[commit]
        ancestors, visited_commits, pending_commits = 0, {commit}, [commit]
        while pending_commits:
            name = pending_commits.pop()
            if name == self.good:
                ancestors |= self.older_commits
            elif name in self._bits_outside:
                ancestors |= self._bits_outside[name]
            elif name in self._ancestry:
                ancestors |= self._ancestry[name]
            else:
                ancestors |= 1 << self.index_of[name]
                unvisited_parents = [parent for parent in self.parents[name] if parent not in visited_commits]
                visited_commits.update(unvisited_parents)
                pending_commits += unvisited_parents
        return ancestors
