"""Finds the commit with which a commit of a merged branch can be compared.

Two commits can be compared to test suspects if one contains the other, and all further commits that it contains are
suspects. So a commit that descends from the older end of a gap is compared with this end. A commit of a branch is
compared with an earlier measured commit of the same branch, or with the commit at which the branch started: its merge
base with the line.

Branches that were merged criss-cross may have no such start. A commit still serves as their start if the commits that
it lacks are known to have moved nothing, and the good end if it is known how much each commit before the branch moved
the metric. A branch that started before the range has no start within the range. Without a start, commits of a branch
can only be compared with each other, between two merges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from itertools import islice
from math import log2

from service.rules.bisect.graph import Graph

_MAX_START_CANDIDATES = 8
"""At most this many commits are tried as the start of a branch, newest first."""
_MAX_FULLY_COUNTED_SUSPECTS = 64
"""If a branch has at most this many suspects, each is tried as the start of comparisons, which takes quadratic time. In
a longer branch, only the oldest suspect is tried."""
_MIN_OPENED_PARTS = 2
"""A search may always open this many parts of branches before it gives up comparing commits within branches."""


class BranchReferences:
    """The references of the suspects of a gap.

    Parameters
    ----------
    old_end
        The older end of the gap.
    suspects
        The commits that the newer end contains, and ``old_end`` does not, as a bit set.
    measured_commits
        The measured commits.
    innocent_commits
        The commits that are known to have moved nothing, as a bit set.
    known_effects
        The commits whose effect on the metric is known: the innocent ones, and culprits. As a bit set.
    """

    def __init__(
        self,
        graph: Graph,
        old_end: str,
        suspects: int,
        measured_commits: Collection[str],
        *,
        innocent_commits: int,
        known_effects: int,
    ) -> None:
        self._graph, self._innocent_commits, self._known_effects = graph, innocent_commits, known_effects
        self._ancestry_of = graph.map_ancestries(suspects)
        self._old_end = old_end
        old_end_bit = 1 << graph.index_of[old_end]
        self._suspects_by_base: dict[int, list[str]] = defaultdict(list)
        """The suspects that do not descend from ``old_end``, by the bit set of the other commits that they contain."""
        self._base_of: dict[str, int] = {}
        for commit, ancestry in self._ancestry_of.items():
            if not ancestry & old_end_bit:
                self._base_of[commit] = ancestry & ~suspects
                self._suspects_by_base[ancestry & ~suspects].append(commit)
        self._measured_by_base = {
            base: [commit for commit in group if commit in measured_commits]
            for base, group in self._suspects_by_base.items()
        }
        self._start_of_base = {base: self._find_start(base) for base in self._suspects_by_base}

    def find_reference(self, commit: str) -> str | None:
        """Return the commit with which a suspect is compared; None if there is none.

        This is the older end of the gap if the suspect descends from it; otherwise the nearest measured ancestor on its
        branch, or else the commit at which the branch started, which need not be measured.
        """
        if commit not in self._base_of:
            return self._old_end
        base, ancestry = self._base_of[commit], self._ancestry_of[commit]
        earlier_measured = [
            other
            for other in self._measured_by_base[base]
            if other != commit and ancestry >> self._graph.index_of[other] & 1
        ]
        if earlier_measured:  # The nearest is the one with the most ancestors.
            return max(earlier_measured, key=lambda other: (self._ancestry_of[other].bit_count(), other))
        return self._start_of_base[base]

    def find_branch_start(self, commit: str) -> str | None:
        """Return the commit at which the branch of a suspect started; None if the range has none."""
        base = self._base_of.get(commit)
        return None if base is None else self._start_of_base[base]

    def choose_most_useful_commit(self, suspects: int, is_usable: Callable[[str], bool]) -> str | None:
        """Return the commit to measure so that the most suspects can be compared; None if no commit helps.

        The suspects that contain the same older commits are a part. A branch that was merged criss-cross many times has
        many parts that can only be searched one by one, which would take too many measurements. None is also returned
        once a few parts are opened; the limit grows with the logarithm of the number of suspects.

        Parameters
        ----------
        suspects
            The suspects that are left, as a bit set.
        is_usable
            Returns whether a commit can be measured: it has no level yet, and did not fail.
        """
        # A part is opened if one of its commits is measured, although this commit cannot be compared with any yet.
        n_opened_parts = sum(
            self.find_reference(commit) is None for part in self._measured_by_base.values() for commit in part
        )
        if n_opened_parts >= max(_MIN_OPENED_PARTS, log2(len(self._ancestry_of)) / 4):
            return None
        # For each commit, how many usable suspects its measurement would make comparable.
        n_comparable: dict[str, int] = {}
        for base, part in self._suspects_by_base.items():
            usable_suspects = [
                commit for commit in part if suspects >> self._graph.index_of[commit] & 1 and is_usable(commit)
            ]
            branch_start = self._start_of_base[base]
            if branch_start is not None and is_usable(branch_start):
                n_comparable[branch_start] = n_comparable.get(branch_start, 0) + len(usable_suspects)
            else:
                # On a long branch, only the oldest suspect counts, from which most others descend.
                is_long = len(usable_suspects) > _MAX_FULLY_COUNTED_SUSPECTS
                for start in usable_suspects[:1] if is_long else usable_suspects:
                    bit = 1 << self._graph.index_of[start]
                    n_descendants = sum(bool(self._ancestry_of[commit] & bit) for commit in usable_suspects) - 1
                    n_comparable[start] = n_descendants
        # Of several equally useful commits, the oldest.
        best_commit = max(
            n_comparable, key=lambda commit: (n_comparable[commit], -self._graph.index_of[commit]), default=None
        )
        return best_commit if best_commit is not None and n_comparable[best_commit] else None

    def _find_start(self, base: int) -> str | None:
        """Return the commit at which a branch started, given the bit set ``base`` of its commits that are not suspects.

        This is the newest commit that contains all of ``base`` except innocent commits. Otherwise it is the good end,
        if ``base`` contains it, and the effect of each commit of ``base`` after the good end is known. None if neither
        exists.
        """
        for commit in islice(reversed(list(self._graph.list_members(base))), _MAX_START_CANDIDATES):
            if not base & ~self._graph.collect_ancestry(commit) & ~self._innocent_commits:
                return commit
        graph = self._graph
        contains_good = not graph.older_commits & ~base  # the good end, with all commits that it contains
        commits_after_good = base & ~graph.older_commits
        return graph.good if contains_good and not commits_after_good & ~self._known_effects else None
