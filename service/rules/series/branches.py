"""Separates the branches of a history: living ones, and those that were rewritten.

After a rebase, an amend or a forced push, the former commits stay stored, but no branch leads to them any more. They
must not come between living commits, and their authors must not be named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from service.rules.series.candidate_commits import collect_with_ancestors
from service.rules.series.point_order import PathPoint, Points, Trend, arrange_trend


class Branches:
    """The commits of a subject with their parents, and the commits of its tags and branches.

    Parameters
    ----------
    parents
        The parents of each known commit, by its hash, in the order of the history: parents before children.
    refs
        The commits of the tags and branches that the service knows.
    """

    def __init__(self, parents: Mapping[str, Sequence[str]], refs: Collection[str]) -> None:
        self._parents = parents
        self._refs = [commit for commit in refs if commit in parents]
        # The results of list_histories: all metrics of a case need the same one.
        self._histories: dict[tuple[str, ...], tuple[frozenset[str], ...]] = {}

    @cached_property
    def is_linear(self) -> bool:
        """Whether each known commit has at most one parent and one child, so that there are no branches."""
        parents_so_far: set[str] = set()
        for parents in self._parents.values():
            if len(parents) > 1 or (parents and parents[0] in parents_so_far):
                return False
            parents_so_far.update(parents)
        return True

    @property
    def is_single_line(self) -> bool:
        """Whether all known commits form one line from a single oldest commit, so that no earlier history matters."""
        n_roots = sum(1 for parents in self._parents.values() if not any(parent in self._parents for parent in parents))
        return n_roots == 1 and self.is_linear

    def list_histories(self, measured_commits: Sequence[str]) -> tuple[frozenset[str], ...]:
        """Return the commits of each living branch with measured commits; the most recently measured comes first.

        A branch is living if a tag or a branch leads to it, or if it contains the most recently measured commit.
        Commits that share no known ancestor with this branch count as a part of it, because a part of the history may
        be unknown.

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
        """Return the result of :meth:`list_histories` for at least one measured commit."""
        last_measurement = {commit: index for index, commit in enumerate(measured_commits)}
        # The first tip belongs to the most recently measured branch.
        tips = sorted(self._find_tips(last_measurement), key=lambda commit: -last_measurement[commit])
        main_history = collect_with_ancestors(self._parents, [tips[0]])
        living_commits = main_history | collect_with_ancestors(self._parents, self._refs)
        branches = []
        main_branch = main_history
        for tip in tips[1:]:
            ancestors = collect_with_ancestors(self._parents, [tip])
            if not ancestors & main_history:
                main_branch |= ancestors  # the history that connects the two is unknown
            elif tip in living_commits or not self._refs:  # without refs, it is unknown which branches are gone
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
        return tips or list(measured_commits)  # of imported commits, no ancestors are known


def arrange_branches(points: Iterable[PathPoint], branches: Branches) -> Trend:
    """Arrange the points of a series: on the path, the most recently measured branch; beside it, other living branches.

    Points of rewritten branches are only listed as former points.
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
