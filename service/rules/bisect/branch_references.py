"""Finds the commit with which a commit of a merged branch can be compared.

Two commits can be compared to test some suspects if one contains the other and everything that it contains besides is
suspect. So a commit that descends from the older end of a gap is compared with that end, a commit of a branch with a
measured earlier one of the same branch, or with the commit at which the branch started, which is its merge base with
the line. If branches were merged criss-cross, there may be no such start, unless what is missing from the best one
is known to have moved nothing, or it is known how much each of the commits before the branch moved; and there is none
in the range where the branch started before it. Then only commits of the branch can be compared with each other, and
only between two such merges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from itertools import islice
from math import log2

from service.rules.bisect.graph import Graph

_MAX_FORKS = 8
"""Commits that are tried as the start of a branch, the newest first."""


class BranchReferences:
    """The references of the suspects of a gap.

    Parameters
    ----------
    old
        The older end of the gap.
    suspects
        What the newer end contains, and ``old`` does not.
    measured
        The measured commits.
    innocent
        Commits that are known to have moved nothing.
    known
        Commits of which it is known how much they moved: nothing, or as much as a culprit.
    """

    def __init__(
        self, graph: Graph, old: str, suspects: int, measured: Collection[str], *, innocent: int, known: int
    ) -> None:
        self._graph, self._innocent, self._known = graph, innocent, known
        self._contained = graph.map_ancestries(suspects)
        start, self._old = 1 << graph.index_of[old], old
        self._groups: dict[int, list[str]] = defaultdict(list)
        """The suspects that do not descend from ``old``, by what they contain besides suspects."""
        self._base_of: dict[str, int] = {}
        for commit, contained in self._contained.items():
            if not contained & start:
                self._base_of[commit] = contained & ~suspects
                self._groups[contained & ~suspects].append(commit)
        self._measured = {
            base: [commit for commit in group if commit in measured] for base, group in self._groups.items()
        }
        self._forks = {base: self._find_fork(base) for base in self._groups}

    def find_reference(self, commit: str) -> str | None:
        """Return the commit with which a suspect is compared, whether it is measured or not; None if there is none."""
        if commit not in self._base_of:
            return self._old
        base, contained = self._base_of[commit], self._contained[commit]
        earlier = [
            other for other in self._measured[base] if other != commit and contained >> self._graph.index_of[other] & 1
        ]
        if earlier:
            return max(earlier, key=lambda other: (self._contained[other].bit_count(), other))
        return self._forks[base]

    def find_branch_start(self, commit: str) -> str | None:
        """Return the commit at which the branch of a suspect started; None if the range has none."""
        base = self._base_of.get(commit)
        return None if base is None else self._forks[base]

    def choose_most_useful_commit(self, suspects: int, usable: Callable[[str], bool]) -> str | None:
        """Return the commit to measure so that the most suspects can be compared; None if no commit helps.

        A branch that was merged criss-cross many times has many parts that can only be searched one by one: after a few
        of them there is none either.
        """
        covers: dict[str, int] = {}
        opened = sum(self.find_reference(commit) is None for group in self._measured.values() for commit in group)
        if opened >= max(2, log2(len(self._contained)) / 4):
            return None
        for base, group in self._groups.items():
            waiting = [commit for commit in group if suspects >> self._graph.index_of[commit] & 1 and usable(commit)]
            fork = self._forks[base]
            if fork is not None and usable(fork):
                covers[fork] = covers.get(fork, 0) + len(waiting)
            else:
                for start in waiting[: 1 if len(waiting) > 64 else None]:
                    bit = 1 << self._graph.index_of[start]
                    covers[start] = sum(bool(self._contained[commit] & bit) for commit in waiting) - 1
        best = max(covers, key=lambda commit: (covers[commit], -self._graph.index_of[commit]), default=None)
        return best if best is not None and covers[best] else None

    def _find_fork(self, base: int) -> str | None:
        """Return a commit that contains exactly these commits, but for innocent ones; None if the range has none.

        The good end serves as well where it is known how much each of these commits moved.
        """
        for commit in islice(reversed(list(self._graph.list_members(base))), _MAX_FORKS):
            if not base & ~self._graph.collect_ancestry(commit) & ~self._innocent:
                return commit
        graph = self._graph
        unmeasurable = base & ~graph.older
        known = not graph.older & ~base and not unmeasurable & ~self._known
        return graph.good if known else None
