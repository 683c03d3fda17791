"""Bisects a range of commits if one run is enough to know a commit's level. Pure.

A line of commits is measured at both ends. Between two neighbouring measurements that differ lies a culprit; between
two that agree, none is searched. So all culprits of a range are separated, by one bisection each. Where the step is at
a merge, the merged branch is a line of its own, measured against the commit it started from: if its ends differ, the
search continues inside, and if they do not, the merge itself is the culprit.

A level measured in turns with another commit is worth more than one measured alone: where a proof fails, its levels
replace those that misled the search, which then continues by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, log2

from runner.contract.level import Number, median
from service.rules.bisect.graph import Graph
from service.rules.bisect.next_places import choose_places
from service.rules.bisect.question import Answer, Culprit, Found, Measure, Observation, Question, Refused


def search(
    question: Question, observations: Iterable[Observation], slots: int = 1, pending: Collection[str] = ()
) -> Answer:
    """Return what to measure next, or the culprits.

    Parameters
    ----------
    observations
        All known observations, of any commits: a known result is never requested again.
    slots
        How many commits can be measured at the same time.
    pending
        Commits that are being measured now; they are not requested again.
    """
    values, failed = _levels(observations)
    refused = refuse_unfit_ends(question, failed)
    if refused is not None:
        return refused
    graph, line = question.graph, question.graph.line or ()
    state = _ExactSearch(graph, values, failed, question.least)
    ends = [end for end in (question.good, question.bad) if end not in values]
    if not ends:
        good, bad = values[question.good], values[question.bad]
        if not state.differ(good, bad):
            least = f", and differences of less than {question.least:g} do not matter" if question.least else ""
            return Refused(sentence=f"The ends do not differ: good {good}, bad {bad}{least}.")
        state.walk(line, set())
        if not state.gaps and not state.required:
            return Found(culprits=tuple(_in_order(state.culprits, graph)))
    else:
        state.required += ends
        state.gaps.append(_Gap(line, 0, len(line) - 1, tuple(graph.weights(line[1:], set()))))
    commits = [commit for commit in dict.fromkeys(state.required) if commit not in pending][:slots]
    # Required commits come first; commits inside the gaps are only guesses that keep idle hosts busy.
    commits += _inside(state.gaps, failed, slots - len(commits), {*pending, *commits})
    left = len(set(state.required)) + sum(gap.looks(failed) for gap in state.gaps)
    return Measure(commits=tuple(commits), left=left)


def refuse_unfit_ends(question: Question, failed: Collection[str]) -> Refused | None:
    """Return why the ends allow no search; None where they do."""
    if question.graph.line is None:
        return Refused(
            sentence=f"The bad end, {question.bad[:10]}, does not descend from the good one, {question.good[:10]}."
        )
    for name, end in (("good", question.good), ("bad", question.bad)):
        if end in failed:
            return Refused(
                sentence=f"The {name} end, {end[:10]}, could not be built or measured, or has no such metric."
            )
    return None


def _levels(observations: Iterable[Observation]) -> tuple[dict[str, Number], set[str]]:
    alone: dict[str, list[Number]] = {}
    in_turns: dict[str, list[Number]] = {}
    failed: set[str] = set()
    for observation in observations:
        if observation.value is None:
            failed.add(observation.commit)
        else:
            values = in_turns if observation.session else alone
            values.setdefault(observation.commit, []).append(observation.value)
    best = alone | in_turns
    levels = {commit: level for commit, values in best.items() if (level := median(values)) is not None}
    return levels, failed - levels.keys()


@dataclass(frozen=True, slots=True)
class _Gap:
    """Two measured positions of a line that differ, and the weights of the commits after the first one."""

    line: Sequence[str]
    start: int
    end: int
    weights: tuple[int, ...]

    def looks(self, failed: Collection[str]) -> int:
        """Return the expected number of remaining measurements."""
        inner = sum(1 for commit in self.line[self.start + 1 : self.end] if commit not in failed)
        return min(inner, ceil(log2(sum(self.weights))))

    def between(self, pending: Collection[str]) -> list[_Gap]:
        """Return the parts into which the pending commits divide this gap."""
        marks = [place for place in range(self.start + 1, self.end) if self.line[place] in pending]
        return [
            _Gap(self.line, low, high, self.weights[low - self.start : high - self.start])
            for low, high in pairwise([self.start, *marks, self.end])
        ]

    def choose(self, many: int, failed: Collection[str]) -> list[str]:
        total, shares, passed = sum(self.weights), [0.0], 0
        for weight in self.weights[:-1]:
            passed += weight
            shares.append(passed / total)
        inner = range(1, len(self.weights))
        broken = {place for place in inner if self.line[self.start + place] in failed}
        allowed = [place for place in inner if place not in broken]
        return [self.line[self.start + place] for place in choose_places(shares, broken, many, allowed=allowed)]


def _inside(gaps: Iterable[_Gap], failed: Collection[str], slots: int, pending: Collection[str]) -> list[str]:
    """Distribute the slots among the gaps: each goes to the gap whose parts would be largest without it."""
    parts = [part for gap in gaps for part in gap.between(pending)]
    rooms = [sum(1 for commit in part.line[part.start + 1 : part.end] if commit not in failed) for part in parts]
    given = [0] * len(parts)
    for _ in range(slots):
        open_parts = [index for index, room in enumerate(rooms) if given[index] < room]
        if not open_parts:
            break
        given[max(open_parts, key=lambda index: (sum(parts[index].weights) / (given[index] + 1), -index))] += 1
    chosen = [commit for part, many in zip(parts, given, strict=True) for commit in part.choose(many, failed)]
    return list(dict.fromkeys(chosen))


@dataclass(slots=True)
class _ExactSearch:
    """The state of a search, as it follows from the measurements."""

    graph: Graph
    values: dict[str, Number]
    failed: set[str]
    least: float
    gaps: list[_Gap] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    """Commits without which the search cannot continue."""
    culprits: list[Culprit] = field(default_factory=list)
    settled: dict[str, Number] = field(default_factory=dict)
    """Levels of commits that lie between two measured ones that agree."""
    cleared: set[str] = field(default_factory=set)
    """Commits that changed nothing, whether they can be measured or not."""

    def differ(self, one: Number, other: Number) -> bool:
        return one != other and abs(other - one) >= self.least

    def level(self, commit: str) -> Number | None:
        return self.values.get(commit, self.settled.get(commit))

    def walk(self, line: Sequence[str], known: set[str]) -> None:
        """Search a line whose ends are measured; the effects of the ``known`` commits are searched elsewhere."""
        measured = [place for place, commit in enumerate(line) if commit in self.values]
        weights: list[int] | None = None
        steps = []
        for low, high in pairwise(measured):
            before, after = self.values[line[low]], self.values[line[high]]
            if not self.differ(before, after):
                self.settled.update(dict.fromkeys(line[low : high + 1], before))
                self.cleared |= self._between(line[low], line[high]) if self.failed else set()
            elif known and not self.differ(before + self._brought(line[low], line[high]), after):
                continue  # The whole difference was merged from branches that are searched anyway.
            elif all(commit in self.failed for commit in line[low + 1 : high]):
                steps.append((low, high))
            else:
                weights = weights or self.graph.weights(line[1:], known)
                self.gaps.append(_Gap(line, low, high, tuple(weights[low:high])))
        for low, high in steps:
            self._step(line, low, high, known)

    def _step(self, line: Sequence[str], low: int, high: int, known: set[str]) -> None:
        """Search the culprit between two measurements without a measurable commit in between."""
        open_before = len(self.gaps) + len(self.required)
        before = self.values[line[low]]
        for place in range(low + 1, high + 1):
            others = [parent for parent in self.graph.parents[line[place]] if parent != line[place - 1]]
            if not others:
                continue
            elsewhere = known | self.graph.ancestors(line[place - 1])
            for tip in others:
                if (
                    tip in self.graph
                    and tip not in elsewhere
                    and self._branch(self.graph.branch(tip, elsewhere - self.failed), elsewhere, before)
                ):
                    elsewhere |= self.graph.ancestors(tip)
        if len(self.gaps) + len(self.required) > open_before:
            return
        # The culprits on the branches account for what they brought; the merge accounts for the rest only.
        brought = self._brought(line[low], line[high])
        expected, after = before + brought, self.values[line[high]]
        if self.differ(expected, after):
            new = self._between(line[low], line[high]) - self.cleared
            alike = new if new & self.failed else {line[high]}
            suspects = [commit for commit in self.graph.parents if commit in alike]
            self.culprits.append(
                Culprit(
                    commit=line[high],
                    parent=line[low],
                    before=expected,
                    after=after,
                    candidates=tuple(suspects),
                    brought=brought,
                )
            )

    def _between(self, low: str, high: str) -> set[str]:
        return self.graph.ancestors(high) - self.graph.ancestors(low)

    def _brought(self, low: str, high: str) -> Number:
        """Return how much the culprits found so far contribute to the difference between two commits."""
        new = self._between(low, high) if self.culprits else set()
        return sum(culprit.after - culprit.before for culprit in self.culprits if culprit.commit in new)

    def _branch(self, branch: Sequence[str], elsewhere: set[str], before: Number) -> bool:
        """Search a merged branch; return whether any of it can be measured."""
        start, *own = branch
        tip = next((commit for commit in reversed(own) if commit not in self.failed), None)
        if tip is None:
            return False
        # A start that cannot be measured is assumed to have the level of the line into which the branch was merged.
        base = before if start in self.failed else self.level(start)
        end = self.level(tip)
        self.required += [commit for commit, level in ((start, base), (tip, end)) if level is None]
        if base is None or end is None:
            return True
        if not self.differ(base, end):
            self.cleared |= self._between(start, tip) if self.failed else set()
        else:
            self.values.setdefault(start, base)
            self.values.setdefault(tip, end)
            self.walk(branch[: branch.index(tip) + 1], elsewhere)
        return True


def _in_order(culprits: Iterable[Culprit], graph: Graph) -> list[Culprit]:
    unique = {culprit.commit: culprit for culprit in culprits}
    return sorted(unique.values(), key=lambda culprit: graph.place[culprit.commit])
