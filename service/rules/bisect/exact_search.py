"""Bisects a range of commits if a single run shows a commit's level.

A *gap* consists of two commits with different levels, one a descendant of the other. Its *suspects* are the commits
that the newer end contains and the older end does not. The level of one more commit divides a gap. A commit that
descends from the older end divides it into two gaps, and a gap with equal ends is dropped. A commit of a merged branch
is compared with the commit at which its branch started: if their levels agree, the commits between them are cleared; if
not, they form a gap of their own, whose culprits account for a part of the difference. So all culprits are separated,
in histories of any shape, and a commit is named only if it and its parent were measured.

Only commits of the range are measured. A branch that started before the good end is searched among its own commits. Its
first commit, and any that merges still older commits, can only be distinguished from the merge of the branch by
measuring outside of the range, so they are named together with the merge.

A level measured interleaved with another commit takes precedence over one measured alone: if a proof fails, its levels
replace those that misled the search, which then continues with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import ceil, log2
from operator import or_

from runner.contract.level import Number, compute_median
from service.rules.bisect import refusals
from service.rules.bisect.branch_references import BranchReferences
from service.rules.bisect.graph import Graph
from service.rules.bisect.merge_blame import blame_merge, collect_failed_ancestors, has_level_of_branch
from service.rules.bisect.question import Answer, Culprit, Found, Measure, Observation, Question
from service.rules.bisect.range_division import choose_positions

MAX_SUSPECTS_OF_ALL_LINES = 8192
"""In a gap with more suspects, only commits on one line between its two ends are considered for measuring."""


def search_exact_metric(question: Question, observations: Iterable[Observation], max_commits: int = 1) -> Answer:
    """Return what to measure next, or the culprits.

    Parameters
    ----------
    observations
        All known observations, of any commits: a known result is never requested again.
    max_commits
        How many commits to return at most: as many as are built in parallel.
    """
    # Step 1: refuse a range whose ends cannot be measured.
    values, failed_commits = _read_levels(observations)
    refusal = refusals.refuse_unfit_ends(question, failed_commits)
    if refusal is not None:
        return refusal
    # Step 2: measure the ends, or search between them. Until both are measured, the whole range is one gap.
    graph = question.graph
    values_in_range = {commit: level for commit, level in values.items() if commit in graph.index_of}
    state = _ExactSearch(graph, values_in_range, failed_commits, question.min_difference)
    unmeasured_ends = [end for end in (question.good, question.bad) if end not in values]
    if unmeasured_ends:
        state.required_commits += unmeasured_ends
        state.open_first_gap(question.good, question.bad)
    else:
        good, bad = values[question.good], values[question.bad]
        if not state.do_differ(good, bad):
            return refusals.refuse_equal_ends(question, good, bad)
        is_complete = state.find_culprits_between(question.good, question.bad) and state.explain_inner_commits(
            question.good
        )
        if state.has_too_many_steps:
            return refusals.refuse_too_many_steps(question, values_in_range)
        if is_complete and state.culprits:
            return Found(culprits=tuple(_sort_culprits_by_position(state.culprits.values(), graph)))
        if is_complete:
            return refusals.refuse_small_changes(question, good, bad)
    # Step 3: choose what to measure next. Required commits come first. Commits inside the gaps, the parts of the range
    # whose ends differ, are only guesses that use the remaining parallel builds.
    commits = list(dict.fromkeys(state.required_commits))[:max_commits]
    commits += _choose_commits_inside_gaps(state.gaps, max_commits - len(commits), {*commits, *values_in_range})
    n_left = len(set(state.required_commits)) + sum(gap.estimate_measurements(max_commits) for gap in state.gaps)
    return Measure(commits=tuple(commits), runs_left=n_left)


def _read_levels(observations: Iterable[Observation]) -> tuple[dict[str, Number], set[str]]:
    """Return the level of each measured commit, from interleaved runs if it has any, and the failed commits."""
    separate_levels: dict[str, list[Number]] = {}
    interleaved_levels: dict[str, list[Number]] = {}
    failed_commits: set[str] = set()
    for observation in observations:
        if observation.value is None:
            failed_commits.add(observation.commit)
        else:
            values = interleaved_levels if observation.session else separate_levels
            values.setdefault(observation.commit, []).append(observation.value)
    preferred_levels = separate_levels | interleaved_levels
    levels = {
        commit: level for commit, values in preferred_levels.items() if (level := compute_median(values)) is not None
    }
    return levels, failed_commits - levels.keys()


@dataclass(frozen=True, slots=True)
class _Gap:
    """The suspects of a gap in order, and how many of them the measurement of each measurable one would test."""

    suspect_commits: tuple[str, ...]
    n_tested_by_commit: Mapping[str, int]
    """For each commit, the number of suspects between it and the commit with which it would be compared."""
    failed_indices: frozenset[int]
    """Indices of the suspects that could not be measured."""

    @property
    def n_suspects(self) -> int:
        """The number of suspects."""
        return len(self.suspect_commits)

    def estimate_measurements(self, n_commits: int) -> int:
        """Return the expected number of remaining measurements, if ``n_commits`` commits are measured in one step.

        Each step leaves one of ``n_commits + 1`` equal parts.
        """
        return min(len(self.n_tested_by_commit), ceil(n_commits * log2(max(2, self.n_suspects)) / log2(n_commits + 1)))

    def choose_commits(self, n_commits: int, measured_commits: Collection[str]) -> list[str]:
        """Return up to ``n_commits`` commits to measure besides those that are already measured or chosen."""
        # The share of the suspects that are on one side of each commit.
        shares = [self.n_tested_by_commit.get(commit, 0) / self.n_suspects for commit in self.suspect_commits]
        measurable_indices = [
            index for index, commit in enumerate(self.suspect_commits) if commit in self.n_tested_by_commit
        ]
        allowed_indices = [index for index in measurable_indices if self.suspect_commits[index] not in measured_commits]
        measured_indices = [index for index in measurable_indices if self.suspect_commits[index] in measured_commits]
        chosen_indices = choose_positions(
            shares, self.failed_indices, n_commits, candidates=allowed_indices, measured_positions=measured_indices
        )
        return [self.suspect_commits[index] for index in chosen_indices]


def _choose_commits_inside_gaps(gaps: Iterable[_Gap], max_commits: int, excluded_commits: Collection[str]) -> list[str]:
    """Return up to ``max_commits`` commits inside the gaps, without the excluded ones.

    Excluded are commits that are measured already or requested in this step; they divide a gap like chosen ones. One
    after the other, each commit is given to the gap whose parts are largest at that point.
    """
    gaps = list(gaps)
    n_open = [sum(commit not in excluded_commits for commit in gap.n_tested_by_commit) for gap in gaps]
    n_measured = [len(gap.n_tested_by_commit) - open_commits for gap, open_commits in zip(gaps, n_open, strict=True)]
    n_chosen = [0] * len(gaps)

    def get_part_size(index: int) -> float:
        """Return the mean number of suspects between the measured and chosen commits of a gap."""
        return gaps[index].n_suspects / (n_chosen[index] + n_measured[index] + 1)

    for _ in range(max_commits):
        open_gaps = [index for index, open_commits in enumerate(n_open) if n_chosen[index] < open_commits]
        if not open_gaps:
            break
        coarsest_gap = max(open_gaps, key=lambda index: (get_part_size(index), -index))
        n_chosen[coarsest_gap] += 1
    chosen_commits = [
        commit
        for gap, n_commits in zip(gaps, n_chosen, strict=True)
        if n_commits
        for commit in gap.choose_commits(n_commits, excluded_commits)
    ]
    return list(dict.fromkeys(chosen_commits))


@dataclass
class _ExactSearch:
    """The state of a search, computed from the measurements."""

    graph: Graph
    values: dict[str, Number]
    failed_commits: set[str]
    min_difference: float
    gaps: list[_Gap] = field(default_factory=list)
    required_commits: list[str] = field(default_factory=list)
    """Commits without which the search cannot continue."""
    culprits: dict[str, Culprit] = field(default_factory=dict)
    _level_at_gap: dict[str, Number] = field(default_factory=dict)
    """The last known level of each end of a gap."""
    _is_explained: dict[tuple[str, str], bool] = field(default_factory=dict)
    _commits_in_explained_gaps: int = 0
    """The commits of the gaps that the culprits so far explain, as a bit set."""

    def do_differ(self, level: Number, other_level: Number) -> bool:
        """Return whether two levels differ by at least the smallest difference that matters."""
        return level != other_level and abs(other_level - level) >= self.min_difference

    @property
    def has_too_many_steps(self) -> bool:
        """Whether the metric moves at so many places that no culprit can be named."""
        return len(self.gaps) + len(self.culprits) > refusals.MAX_STEPS

    def find_culprits_between(self, old_end: str, new_end: str) -> bool:
        """Add the culprits between two commits whose levels differ to :attr:`culprits`.

        A measured commit between the two divides the range, and each part whose ends differ is searched recursively. If
        no measured commit is left inside, the newer end is a culprit, or a gap is opened that has to be measured.

        Parameters
        ----------
        old_end, new_end
            The commits. ``new_end`` descends from ``old_end``, and both have known levels.

        Returns
        -------
        bool
            Whether the measurements explain the whole difference; False if more have to be measured.
        """
        if (old_end, new_end) not in self._is_explained:
            suspects = self._collect_commits_between(old_end, new_end)
            dividing_commit = self._find_dividing_commit(old_end, new_end, suspects)
            if dividing_commit is None:
                is_complete = self._explain_undivided_gap(old_end, new_end, suspects)
            else:
                halves = [(old_end, dividing_commit), (dividing_commit, new_end)]
                # If no half differs by what matters, the culprit is more likely in the half that differs more.
                halves = [half for half in halves if self._do_levels_differ(*half)] or [
                    max(halves, key=lambda half: abs(self._compute_gap_change(*half)))
                ]
                # Search both halves, even if the first is not complete, so that the gaps of both are opened.
                results = [self.find_culprits_between(older, newer) for older, newer in halves]
                is_complete = all(results)
            self._is_explained[old_end, new_end] = is_complete
            if is_complete:
                self._commits_in_explained_gaps |= suspects
        return self._is_explained[old_end, new_end]

    def explain_inner_commits(self, good: str) -> bool:
        """Add the culprits that show only in commits inside the range; return whether no more measurements are needed.

        Two changes that cancel each other do not affect the ends. But if a commit between the two was measured, its
        level contradicts the culprits found so far. False is also returned as soon as there are too many culprits.
        """
        explained_commits = [good]
        # Only commits that contain the good end (bit 0) can be compared with it. If a commit contains only some
        # candidates of a culprit, it is unknown which level the culprits explain.
        for commit in sorted(self.values, key=self.graph.index_of.__getitem__):
            ancestry = self.graph.collect_ancestry(commit)
            if commit == good or not ancestry & 1 or self._contains_some_candidates(ancestry):
                continue
            # Changes that do not matter add up over many commits, so the level is explained if it is the expected one
            # after any commit before it.
            explained_ancestors = self._list_ancestors_of(commit, explained_commits)
            nearest_ancestor = self._choose_newest_commit(explained_ancestors)
            level_without_own = self._predict_level(nearest_ancestor, ancestry & ~(1 << self.graph.index_of[commit]))
            self._update_culprit(commit, level_without_own)
            if all(
                self.do_differ(self._predict_level(ancestor, ancestry), self.values[commit])
                for ancestor in explained_ancestors
            ):
                if self.has_too_many_steps:  # which refuses the search, so further culprits do not matter
                    return False
                # A further culprit may contradict the levels of earlier commits, so all commits are checked again.
                return self._explain_level(commit, level_without_own, explained_commits) and self.explain_inner_commits(
                    good
                )
            explained_commits.append(commit)
        return True

    def _update_culprit(self, commit: str, expected_level: Number) -> None:
        """Update a culprit's own change, now that all culprits before it are found; drop it if it has none.

        ``expected_level`` is the level of the commit without its own change. A culprit with several candidates stays as
        it is, because the change need not be its own.
        """
        culprit = self.culprits.get(commit)
        if culprit is None or culprit.candidates != (commit,):
            return
        if self.do_differ(expected_level, self.values[commit]):
            self.culprits[commit] = culprit.model_copy(update={"branch_change": expected_level - culprit.before})
        else:
            del self.culprits[commit]

    def _explain_level(self, commit: str, expected_level: Number, explained_commits: Collection[str]) -> bool:
        """Add the culprit of an unexpected level, or open a gap that contains it.

        Return whether the level is explained.

        The culprit is among the ancestors of the commit that no explained commit contains. ``expected_level`` is the
        level of the commit without its own change.
        """
        graph = self.graph
        ancestry = graph.collect_ancestry(commit)
        explained_ancestors = self._list_ancestors_of(commit, explained_commits)
        suspects = ancestry & ~reduce(or_, map(graph.collect_ancestry, explained_ancestors))
        ancestries = {name: graph.collect_ancestry(name) for name in graph.list_members(suspects)}
        # Only suspects that contain the good end (bit 0) can be compared.
        n_tested_by_commit = {
            name: (candidate_ancestry & suspects).bit_count()
            for name, candidate_ancestry in ancestries.items()
            if candidate_ancestry & 1 and name not in self.values and name not in self.failed_commits
        }
        if n_tested_by_commit:
            return self._open_gap(suspects, n_tested_by_commit)
        parent = self._choose_newest_commit(explained_ancestors)
        self.culprits[commit] = Culprit(
            commit=commit,
            parent=parent,
            before=self.values[parent],
            after=self.values[commit],
            candidates=tuple(graph.list_members(suspects)),
            branch_change=expected_level - self.values[parent],
        )
        return True

    def _contains_some_candidates(self, commits: int) -> bool:
        """Return whether a set of commits contains some candidates of a culprit, but not all of them.

        It is then unknown whether the set contains the commit that moved the metric.
        """
        candidates = (
            sum(1 << self.graph.index_of[name] for name in culprit.candidates) for culprit in self.culprits.values()
        )
        return any(commits & group and group & ~commits for group in candidates)

    def open_first_gap(self, old_end: str, new_end: str) -> None:
        """Open the gap between two commits that are not measured yet."""
        suspects = self._collect_commits_between(old_end, new_end)
        self._open_gap(suspects, self._count_tested_on_line(old_end, new_end, suspects))

    def _collect_commits_between(self, old_end: str, new_end: str) -> int:
        """Return the commits that ``new_end`` contains, but not ``old_end``, as a bit set."""
        return self.graph.collect_ancestry(new_end) & ~self.graph.collect_ancestry(old_end)

    def _do_levels_differ(self, old_end: str, new_end: str) -> bool:
        """Return whether the levels of the two ends of a gap differ by at least the smallest relevant difference."""
        return self.do_differ(self._get_level_of_gap(old_end), self._get_level_of_gap(new_end))

    def _compute_gap_change(self, old_end: str, new_end: str) -> Number:
        return self._get_level_of_gap(new_end) - self._get_level_of_gap(old_end)

    def _get_level_of_gap(self, commit: str) -> Number:
        """Return the level of an end of a gap; if culprits found since have put it in doubt, its last known level."""
        level = self._find_level(commit)
        if level is not None:
            self._level_at_gap[commit] = level
        return self._level_at_gap[commit]

    def _find_level(self, commit: str) -> Number | None:
        """Return the level of a commit: as measured, or the common level of two measured commits around it.

        Two commits that agree, but have a culprit between them, say nothing, because another commit undoes the change.
        None if the level is unknown.
        """
        if commit in self.values:
            return self.values[commit]
        bit, ancestry = 1 << self.graph.index_of[commit], self.graph.collect_ancestry(commit)
        suspected_commits = self._suspected_commits
        # An agreement is given by the earlier of two commits with the same level, and the commits between the two.
        levels = (
            self.values[low]
            for low, bits_between in self._agreements
            if bits_between & bit and ancestry >> self.graph.index_of[low] & 1 and not bits_between & suspected_commits
        )
        return next(levels, None)

    def _list_ancestors_of(self, commit: str, measured_commits: Iterable[str]) -> list[str]:
        """Return those of the measured commits that a commit contains."""
        ancestry = self.graph.collect_ancestry(commit)
        return [name for name in measured_commits if ancestry >> self.graph.index_of[name] & 1]

    def _choose_newest_commit(self, measured_commits: Iterable[str]) -> str:
        """Return the commit that contains the most commits."""
        graph = self.graph
        return max(measured_commits, key=lambda name: (graph.collect_ancestry(name).bit_count(), graph.index_of[name]))

    def _predict_level(self, reference: str, commits: int) -> Number:
        """Return the level expected after ``commits``, a bit set: that of a measured commit plus all known effects.

        The effects are those of the culprits found so far that the measured commit, ``reference``, does not contain.
        """
        return self.values[reference] + self._sum_effects(commits & ~self.graph.collect_ancestry(reference))

    def _find_dividing_commit(self, old_end: str, new_end: str, suspects: int) -> str | None:
        """Return a measured commit that divides a gap; None if there is none.

        Preferred are commits at the level of one end, as near to the other end as possible, because the part between
        equal levels is dropped; otherwise commits near the middle.
        """
        graph, start = self.graph, 1 << self.graph.index_of[old_end]
        inner_commits = [
            commit
            for commit in self.values
            if commit != new_end and suspects >> graph.index_of[commit] & 1 and graph.collect_ancestry(commit) & start
        ]
        if not inner_commits:
            return None
        n_contained = {commit: (graph.collect_ancestry(commit) & suspects).bit_count() for commit in inner_commits}
        commits_on_new_level = [commit for commit in inner_commits if not self._do_levels_differ(commit, new_end)]
        commits_on_old_level = [commit for commit in inner_commits if not self._do_levels_differ(old_end, commit)]
        if commits_on_new_level:
            return min(commits_on_new_level, key=lambda commit: (n_contained[commit], graph.index_of[commit]))
        if commits_on_old_level:
            return max(commits_on_old_level, key=lambda commit: (n_contained[commit], graph.index_of[commit]))
        half_size = suspects.bit_count() / 2
        return min(inner_commits, key=lambda commit: (abs(n_contained[commit] - half_size), graph.index_of[commit]))

    def _explain_undivided_gap(self, old_end: str, new_end: str, suspects: int) -> bool:
        """Name the culprit of a gap with no measured commit inside, or open the gap; return whether it is explained.

        A gap consists of two commits whose levels differ; it is open while commits inside it have to be measured. Its
        suspects are the commits that the newer end contains, but not the older one.
        """
        # Step 1: divide a very large gap along one line, on which the tested suspects are cheap to count.
        if suspects.bit_count() > MAX_SUSPECTS_OF_ALL_LINES:
            n_tested_by_commit = self._count_tested_on_line(old_end, new_end, suspects)
            if n_tested_by_commit:
                return self._open_gap(suspects, n_tested_by_commit)
        # Step 2: culprits within measured branches explain the gap if their changes add up to its difference.
        references = self._collect_references(old_end, suspects)
        is_complete, cleared_commits = self._explain_branches(new_end, suspects, references)
        expected_level = self._get_level_of_gap(old_end) + self._sum_effects(suspects)
        is_rest_small = not self.do_differ(expected_level, self._get_level_of_gap(new_end))
        if not is_complete or (is_rest_small and self._do_levels_differ(old_end, new_end)):
            return is_complete
        # Step 3: otherwise measure the suspects that can be compared.
        remaining_suspects = self._drop_innocent_suspects(new_end, suspects & ~cleared_commits)
        n_tested_by_commit = self._count_tested_by_commit(new_end, remaining_suspects, references)
        if n_tested_by_commit:
            return self._open_gap(remaining_suspects, n_tested_by_commit)
        if is_rest_small:
            return True
        # Step 4: if none can be compared, measure the commit that makes the most suspects comparable, or else the
        # parents of the newer end.
        useful_commit = references.choose_most_useful_commit(
            remaining_suspects, lambda commit: commit not in self.failed_commits and self._find_level(commit) is None
        )
        commits_to_measure = (
            [useful_commit]
            if useful_commit is not None
            else self._list_commits_needed_for_culprit(old_end, new_end, suspects, references)
        )
        if commits_to_measure:
            self.required_commits += commits_to_measure
            return False
        # Step 5: if nothing is left to measure, name the newer end.
        self.culprits[new_end] = self._build_culprit(old_end, new_end, suspects, remaining_suspects, cleared_commits)
        return True

    def _collect_references(self, old_end: str, suspects: int) -> BranchReferences:
        """Return the measured commits with which commits of branches inside a gap can be compared."""
        innocent_commits = self._innocent_commits
        return BranchReferences(
            self.graph,
            old_end,
            suspects,
            self.values.keys(),
            innocent_commits=innocent_commits,
            known_effects=innocent_commits | self._sole_candidates,
        )

    def _drop_innocent_suspects(self, new_end: str, suspects: int) -> int:
        """Return the suspects of a gap without the commits that two measured commits with one level clear.

        If the newer end counts as innocent although the ends differ, changes cancel each other somewhere, so the
        agreement of two levels does not clear any commit.
        """
        innocent_commits = self._innocent_commits
        if innocent_commits >> self.graph.index_of[new_end] & 1:
            return suspects
        return suspects & (~innocent_commits | self._failed_bits)

    def _build_culprit(
        self, old_end: str, new_end: str, suspects: int, remaining_suspects: int, cleared_commits: int
    ) -> Culprit:
        """Return the newer end of a gap as a culprit, with the commits that cannot be distinguished from it.

        Parameters
        ----------
        suspects
            All suspects of the gap, as a bit set.
        remaining_suspects
            Those that no measurement clears.
        cleared_commits
            Those that the branches inside the gap clear.
        """
        moved_within = self._sum_effects(suspects)
        may_be_innocent = moved_within != 0 or (
            remaining_suspects.bit_count() == 1
            and has_level_of_branch(self.graph, self.values, new_end, suspects, self.do_differ)
        )
        failed_ancestors = collect_failed_ancestors(self.graph, self.failed_commits, new_end)
        candidates = blame_merge(
            suspects,
            remaining_suspects,
            cleared_commits,
            failed_ancestors=failed_ancestors,
            may_be_innocent=may_be_innocent,
        )
        parent = old_end
        if old_end not in self.values:
            # The older end cannot be measured; its level is that of its newest measured ancestor. All commits since
            # this ancestor are in doubt.
            parent = self._choose_newest_commit(self._list_ancestors_of(old_end, self.values))
            candidates |= self._collect_commits_between(parent, new_end) & ~self.graph.older_commits
        return Culprit(
            commit=new_end,
            parent=parent,
            before=self._get_level_of_gap(old_end),
            after=self._get_level_of_gap(new_end),
            candidates=tuple(self.graph.list_members(candidates)),
            branch_change=moved_within,
        )

    @cached_property
    def _failed_bits(self) -> int:
        """The commits that could not be measured, as a bit set."""
        return sum(1 << self.graph.index_of[commit] for commit in self.failed_commits if commit in self.graph.index_of)

    @property
    def _innocent_commits(self) -> int:
        """The commits cleared by two measured commits that agree, or by an explained gap, as a bit set.

        Candidates of culprits are not cleared. Two commits that agree, but have a candidate between them, say nothing,
        because another commit may undo its change.
        """
        suspected_commits = self._suspected_commits
        agreeing_commits = reduce(
            or_, (bits_between for _, bits_between in self._agreements if not bits_between & suspected_commits), 0
        )
        return (agreeing_commits | self._commits_in_explained_gaps) & ~suspected_commits

    @property
    def _suspected_commits(self) -> int:
        """The candidates of the culprits so far, as a bit set."""
        candidates = {commit for culprit in self.culprits.values() for commit in culprit.candidates}
        return sum(1 << self.graph.index_of[commit] for commit in candidates)

    @property
    def _sole_candidates(self) -> int:
        """The culprits so far that are the single candidates of their change, as a bit set."""
        single = (name for name, culprit in self.culprits.items() if culprit.candidates == (name,))
        return sum(1 << self.graph.index_of[name] for name in single)

    @cached_property
    def _agreements(self) -> list[tuple[str, int]]:
        """The pairs of measured commits that agree: the earlier commit, and the commits between the two as a bit set.

        The commits between them are those that the later one contains, but not the earlier one. A pair does not count
        if commits from before the range are among them, or a measured commit that differs from both.
        """
        graph = self.graph
        agreements: list[tuple[str, int]] = []
        for low, level in self.values.items():
            later_commits = [
                high
                for high, other_level in self.values.items()
                if high != low
                and graph.collect_ancestry(high) >> graph.index_of[low] & 1
                and not self.do_differ(level, other_level)
            ]
            differing_bits = sum(
                1 << graph.index_of[name]
                for name, other_level in self.values.items()
                if self.do_differ(level, other_level)
            )
            bits_of_pairs = (self._collect_commits_between(low, high) for high in later_commits)
            agreements += [
                (low, bits_between)
                for bits_between in bits_of_pairs
                if not bits_between & (graph.older_commits | differing_bits)
            ]
        return agreements

    def _list_commits_needed_for_culprit(
        self, old_end: str, new_end: str, suspects: int, references: BranchReferences
    ) -> list[str]:
        """Return the unmeasured commits that have to be measured before ``new_end`` is named as a culprit.

        Those are its parents, the commits at which merged branches started, and the older end of the gap.

        Parameters
        ----------
        suspects
            The suspects that are left, as a bit set.
        """
        index_of = self.graph.index_of
        parents = [parent for parent in self.graph.parents[new_end] if parent in index_of]
        comparable_parents = [
            parent
            for parent in parents
            if suspects >> index_of[parent] & 1 and references.find_reference(parent) is not None
        ]
        possible_starts = [references.find_branch_start(parent) for parent in comparable_parents]
        starts = [start for start in possible_starts if start is not None]
        needed_commits = dict.fromkeys([*comparable_parents, *starts, old_end])
        return [name for name in needed_commits if name not in self.values and name not in self.failed_commits]

    def _explain_branches(self, new_end: str, suspects: int, references: BranchReferences) -> tuple[bool, int]:
        """Search the measured parts of merged branches.

        Returns
        -------
        tuple[bool, int]
            Whether the measurements explain all differences within these parts, and the commits of the parts as a bit
            set.
        """
        is_complete = True
        searched_bits = 0
        for commit in self.graph.list_members(suspects):
            reference = references.find_reference(commit) if commit in self.values and commit != new_end else None
            if reference is None or self._find_level(reference) is None:
                continue
            level = self._get_level_of_gap(reference)
            part_bits = self._collect_commits_between(reference, commit)
            if self.do_differ(level + self._sum_effects(part_bits), self.values[commit]):
                is_complete &= self.find_culprits_between(reference, commit)
            searched_bits |= part_bits
        return is_complete, searched_bits

    def _sum_effects(self, commits: int) -> Number:
        """Return by how much the culprits found so far among ``commits``, a bit set, moved the metric."""
        return sum(
            culprit.own_change for name, culprit in self.culprits.items() if commits >> self.graph.index_of[name] & 1
        )

    def _count_tested_by_commit(self, new_end: str, suspects: int, references: BranchReferences) -> dict[str, int]:
        """Return, for each commit, how many suspects its measurement would test: those that its reference lacks.

        Failed commits, commits whose reference has no known level, and the newer end, whose level is known, are left
        out.
        """
        n_tested_by_commit: dict[str, int] = {}
        has_level: dict[str, bool] = {}
        for commit in self.graph.list_members(suspects):
            reference = references.find_reference(commit)
            if commit != new_end and commit not in self.failed_commits and reference is not None:
                if reference not in has_level:
                    has_level[reference] = self._find_level(reference) is not None
                if has_level[reference]:
                    n_tested_by_commit[commit] = (
                        self._collect_commits_between(reference, commit) & suspects
                    ).bit_count()
        return n_tested_by_commit

    def _count_tested_on_line(self, old_end: str, new_end: str, suspects: int) -> dict[str, int]:
        """Return, for each commit on the line between two commits, how many suspects its measurement would test.

        Unlike in :meth:`_count_tested_by_commit`, each commit is compared with ``old_end``, so that one pass over the
        suspects counts them all. The result is empty if ``new_end`` does not descend from ``old_end``.
        """
        graph = self.graph
        line = graph.find_line_between(old_end, new_end) or ()
        n_tested_by_commit: dict[str, int] = {}
        counted_commits: set[str] = set()
        for commit in line[1:-1]:
            # Add the suspects that this commit contains, but not the commit before it on the line.
            pending_commits = [commit]
            while pending_commits:
                name = pending_commits.pop()
                if name not in counted_commits and name in graph and suspects >> graph.index_of[name] & 1:
                    counted_commits.add(name)
                    pending_commits += graph.parents[name]
            if commit not in self.failed_commits:
                n_tested_by_commit[commit] = len(counted_commits)
        return n_tested_by_commit

    def _open_gap(self, suspect_bits: int, n_tested_by_commit: Mapping[str, int]) -> bool:
        """Add a gap: suspects of which some have to be measured; return False, because the search is not complete."""
        suspects = tuple(self.graph.list_members(suspect_bits))
        failed = frozenset(index for index, commit in enumerate(suspects) if commit in self.failed_commits)
        self.gaps.append(_Gap(suspects, n_tested_by_commit, failed))
        return False


def _sort_culprits_by_position(culprits: Iterable[Culprit], graph: Graph) -> list[Culprit]:
    return sorted(culprits, key=lambda culprit: graph.index_of[culprit.commit])
