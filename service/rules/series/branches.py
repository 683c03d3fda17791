"""Tells the branches of a history apart: which commits lead to a head, and which no branch has any more.

After a rebase, an amend or a forced push, the former commits stay stored, but nobody can go back to them. They must not
stand between the living ones, and nobody of a former branch is named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from service.rules.series.candidate_commits import collect_with_ancestors
from service.rules.series.point_order import PathPoint, Points, Trend, arrange_trend


class Branches:
    """The commits of a subject with their parents, and where its tags and branches are.

    Parameters
    ----------
    parents
        The parents of each known commit, by its hash, in the order of the history: parents before children.
    refs
        The commits that tags and branches name, as far as the service was told.
    """

    def __init__(self, parents: Mapping[str, Sequence[str]], refs: Collection[str]) -> None:
        self._parents = parents
        self._refs = [commit for commit in refs if commit in parents]
        self._histories: dict[tuple[str, ...], tuple[frozenset[str], ...]] = {}  # metrics of a case share it

    @cached_property
    def is_linear(self) -> bool:
        """Whether each known commit has one child at most, and one parent: then there are no branches."""
        parents_so_far: set[str] = set()
        for parents in self._parents.values():
            if len(parents) > 1 or (parents and parents[0] in parents_so_far):
                return False
            parents_so_far.update(parents)
        return True

    @property
    def is_single_line(self) -> bool:
        """Whether all known commits but the oldest follow each other, so that no history before them matters."""
        n_roots = sum(1 for parents in self._parents.values() if not any(parent in self._parents for parent in parents))
        return n_roots == 1 and self.is_linear

    def list_histories(self, measured_commits: Sequence[str]) -> tuple[frozenset[str], ...]:
        """Return the commits of each living branch that has measured commits, those of the newest measured one first.

        A branch is living if a tag or a branch leads to it, or if it has the newest measured commit. Commits of which
        nothing shows where they left that one are on its line: a part of the history may be unknown.

        Parameters
        ----------
        measured_commits
            The measured commits, in the order in which they were measured; a commit may occur several times.
        """
        key = tuple(dict.fromkeys(reversed(measured_commits)))
        if key not in self._histories:
            self._histories[key] = self._find_histories(measured_commits) if measured_commits else ()
        return self._histories[key]

    def _find_histories(self, measured_commits: Sequence[str]) -> tuple[frozenset[str], ...]:
        """Return what :meth:`list_histories` returns; ``measured_commits`` is not empty."""
        last_measurement = {commit: index for index, commit in enumerate(measured_commits)}
        # The commit that was measured last is on the newest measured branch.
        tips = sorted(self._find_tips(last_measurement), key=lambda commit: -last_measurement[commit])
        main_history = collect_with_ancestors(self._parents, [tips[0]])
        living_commits = main_history | collect_with_ancestors(self._parents, self._refs)
        branches = []
        main_branch = main_history
        for tip in tips[1:]:
            ancestors = collect_with_ancestors(self._parents, [tip])
            if not ancestors & main_history:
                main_branch |= ancestors  # a part of the history between them is unknown
            elif tip in living_commits or not self._refs:  # without refs, nothing shows that a branch is gone
                branches.append(ancestors)
        return (main_branch, *branches)

    def _find_tips(self, measured_commits: Collection[str]) -> list[str]:
        """Return the measured commits that no other measured commit descends from."""
        tips: list[str] = []
        ancestors: set[str] = set()
        for commit in reversed(list(self._parents)):
            if commit in measured_commits and commit not in ancestors:
                tips.append(commit)
            if commit in measured_commits or commit in ancestors:
                ancestors.update(self._parents[commit])
        return tips or list(measured_commits)  # nothing is known of the ancestors of imported commits


def arrange_branches(points: Iterable[PathPoint], branches: Branches) -> Trend:
    """Arrange the points of a series: the path is that of the newest measured branch, the other living ones beside it.

    Points of former branches have no place in it.
    """
    sorted_points = sorted(points, key=lambda point: (point.measured_at, point.position, point.run_id))
    if branches.is_linear:
        return arrange_trend(sorted_points)
    histories = branches.list_histories([point.revision for point in sorted_points])
    trends = [_arrange_history(sorted_points, history) for history in histories]
    other_sequences: list[Points] = [sequence for trend in trends for sequence in trend.points_beside]
    other_sequences += [trend.path for trend in trends[1:]]
    living_commits = frozenset().union(*histories)
    former_points = tuple(point for point in sorted_points if point.revision not in living_commits)
    return Trend(trends[0].path, tuple(other_sequences), former_points) if trends else Trend((), ())


def _arrange_history(points: Sequence[PathPoint], history: frozenset[str]) -> Trend:
    return arrange_trend(point for point in points if point.revision in history)
