"""Separates the lines of a history, along which commits follow each other, and living branches from rewritten ones.

Commits of two lines contain different changes, even if a merge joins them later, so they are not compared. After a
rebase, an amend or a forced push, the former commits stay stored, but no branch leads to them any more. They must not
come between living commits, and their authors must not be named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from service.rules.series.candidate_commits import collect_commits_with_ancestors
from service.rules.series.point_order import PathPoint, Points, Trend, arrange_trend

_COMMITS_BEFORE_FORK = 64
"""A line beside the path begins so many measured commits before it leaves the lines before. This is as many as the
detector compares; with all of them, a history of thousands of merges would be judged thousands of times."""


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
        # The results of list_lines: all metrics of a case need the same one.
        self._lines: dict[tuple[str, ...], tuple[frozenset[str], ...]] = {}

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

    def list_lines(self, measured_commits: Sequence[str]) -> tuple[frozenset[str], ...]:
        """Return the measured commits of all living branches in lines: along each, every commit contains those before.

        Two commits on different sides of a merge contain different changes, so they must not be neighbours: a change
        on one side would be blamed on the commits of the other.

        The first line leads to the most recently measured commit, through as many measured commits as possible, and
        through first parents if there is a choice. The others end at the remaining tips and at the merged commits that
        are beside it; each begins a little before the first commit that is in no line before.

        A branch is living if a tag or a branch leads to it, or if it contains the most recently measured commit.
        Commits that share no known ancestor with this branch count as a part of it, because a part of the history may
        be unknown.

        Parameters
        ----------
        measured_commits
            The measured commits, in the order in which they were measured; a commit may occur several times.
        """
        key = tuple(dict.fromkeys(reversed(measured_commits)))
        if key not in self._lines:
            self._lines[key] = tuple(self._find_lines(measured_commits)) if measured_commits else ()
        return self._lines[key]

    def _find_lines(self, measured_commits: Sequence[str]) -> Iterator[frozenset[str]]:
        """Yield the result of :meth:`list_lines` for at least one measured commit."""
        main_tips, living_commits = self._find_main_tips_and_living_commits(measured_commits)
        measured_living_commits = living_commits.intersection(measured_commits)
        best_parents = self._choose_best_parents(living_commits, measured_living_commits)

        def follow_best_parents(
            tip: str, commits_in_lines: Collection[str] = (), max_shared: int | None = None
        ) -> Iterator[str]:
            """Yield the measured living commits from a tip back along the best parents, newest first.

            The last one is the ``max_shared``-th that is already in another line.
            """
            n_shared = 0
            commit: str | None = tip
            while commit is not None and n_shared != max_shared:
                if commit in measured_living_commits:
                    yield commit
                    n_shared += commit in commits_in_lines
                commit = best_parents.get(commit)

        line = frozenset(commit for tip in main_tips for commit in follow_best_parents(tip))
        yield line
        commits_in_lines = set(line)
        for tip in [commit for commit in reversed(best_parents) if commit in measured_living_commits]:
            if tip not in commits_in_lines:
                line = frozenset(follow_best_parents(tip, commits_in_lines, _COMMITS_BEFORE_FORK))
                commits_in_lines |= line
                yield line

    def _choose_best_parents(
        self, commits: Collection[str], measured_commits: Collection[str]
    ) -> dict[str, str | None]:
        """Return, for each commit, the parent to which the most measured commits lead; None if no parent is known.

        If several are equal, it is the first of them. The commits are in the order of the history.
        """
        n_measured: dict[str, int] = {}
        best_parents: dict[str, str | None] = {}
        for commit in (commit for commit in self._parents if commit in commits):
            # Only parents before the commit: a report can claim that a commit is its own ancestor.
            known_parents = [parent for parent in self._parents[commit] if parent in n_measured]
            best_parent = max(known_parents, key=n_measured.__getitem__, default=None)
            best_parents[commit] = best_parent
            n_measured[commit] = (commit in measured_commits) + (n_measured[best_parent] if best_parent else 0)
        return best_parents

    def _find_main_tips_and_living_commits(self, measured_commits: Sequence[str]) -> tuple[list[str], frozenset[str]]:
        """Return the tips of the line with the most recently measured commit, and all commits of living branches."""
        order_of_measurement = {commit: index for index, commit in enumerate(measured_commits)}
        # The first tip belongs to the most recently measured branch.
        newest_tip, *other_tips = sorted(
            self._find_tips(order_of_measurement), key=lambda tip: -order_of_measurement[tip]
        )
        main_history = collect_commits_with_ancestors(self._parents, [newest_tip])
        commits_of_refs = collect_commits_with_ancestors(self._parents, self._refs)
        main_tips, main_commits, living_commits = [newest_tip], set(main_history), set(main_history)
        for tip in other_tips:
            ancestors = collect_commits_with_ancestors(self._parents, [tip])
            is_connected = bool(ancestors & main_history)
            # Without refs, it is unknown which branches are gone.
            if is_connected and tip not in commits_of_refs and self._refs:
                continue
            living_commits |= ancestors
            if ancestors.isdisjoint(main_commits):  # the history that connects the two is unknown
                main_tips.append(tip)
                main_commits |= ancestors
        return main_tips, frozenset(living_commits)

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
    """Arrange the points of a series: on the path, the most recently measured line; beside it, other living lines.

    Each commit of a line contains those before it. A line is living if a tag or a branch still leads to it; points of
    rewritten branches are only listed as former points.
    """
    sorted_points = sorted(points, key=lambda point: (point.measured_at, point.position, point.run_id))
    if branches.is_linear:
        return arrange_trend(sorted_points)
    # The first line leads to the most recently measured commit. There is no line only if there are no points.
    lines = branches.list_lines([point.revision for point in sorted_points])
    points_of_commit: dict[str, list[PathPoint]] = defaultdict(list)
    for point in sorted_points:
        points_of_commit[point.revision].append(point)
    trends = [arrange_trend(chain.from_iterable(points_of_commit[commit] for commit in line)) for line in lines]
    other_sequences: list[Points] = [sequence for trend in trends for sequence in trend.points_beside]
    other_sequences += [trend.path for trend in trends[1:]]
    living_commits = frozenset().union(*lines)
    former_points = tuple(point for point in sorted_points if point.revision not in living_commits)
    return Trend(trends[0].path, tuple(other_sequences), former_points) if trends else Trend((), ())
