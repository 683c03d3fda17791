"""Finds which machines of a pool are equivalent in a series of exact counts.

A pool is several machines under one name, such as those of a CI system: each job gets a different one. Machines differ
in settings, such as the model of the processor, but most programs take the same faults on all of them. This is not
assumed, but proven by commits that were measured in both environments. Until then, or if a count differs, environments
stay separate, as on any host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from runner.contract.pool import are_of_one_pool
from service.rules.series.point_order import PathPoint
from service.schemas.history import Number

MIN_COMMITS = 3
"""A difference is proven irrelevant by at least this many commits with equal counts on both sides of it."""

Settings = Mapping[str, Mapping[str, str]]
"""The settings of environments, by hash."""
_Difference = frozenset[tuple[str, frozenset[str | None]]]
"""The settings that differ between two environments, each with its two values."""


@dataclass(slots=True)
class _Evidence:
    """The measurements on both sides of a difference."""

    equal_commits: set[str] = field(default_factory=set)
    """Commits whose counts are equal."""
    has_unequal_commit: bool = False

    @property
    def is_proof(self) -> bool:
        """Whether the difference is proven not to affect the count."""
        return not self.has_unequal_commit and len(self.equal_commits) >= MIN_COMMITS


def find_stand_ins(points: Iterable[PathPoint], settings: Settings) -> dict[str, str]:
    """Return, for environments of a pool, the environment that stands for each: one for all equivalent environments.

    Parameters
    ----------
    points
        The points of one series of exact counts.
    settings
        The settings of the environments that belong to pools, including environments of no point. Other environments
        stand for themselves.
    """
    counts = _map_counts(points, settings)
    pairs = [
        (first, second)
        for first, second in combinations(sorted(settings), 2)
        if are_of_one_pool(settings[first], settings[second])
    ]
    evidence: dict[_Difference, _Evidence] = defaultdict(_Evidence)
    differences = {(first, second): _find_difference(settings[first], settings[second]) for first, second in pairs}
    for (first, second), difference in differences.items():
        _compare_counts(counts.get(first, {}), counts.get(second, {}), evidence[difference])
    alike_pairs = [pair for pair, difference in differences.items() if evidence[difference].is_proof]
    differing_pairs = [pair for pair, difference in differences.items() if evidence[difference].has_unequal_commit]
    return _choose_stand_ins(alike_pairs, differing_pairs)


def _map_counts(points: Iterable[PathPoint], settings: Settings) -> dict[str, dict[str, set[Number]]]:
    """Return the counts of the environments in ``settings``, by environment and commit; reused counts are left out."""
    counts: dict[str, dict[str, set[Number]]] = defaultdict(lambda: defaultdict(set))
    for point in points:
        if point.environment in settings and not point.is_reused:
            counts[point.environment][point.revision].update(point.samples or (point.value,))
    return counts


def _find_difference(first: Mapping[str, str], second: Mapping[str, str]) -> _Difference:
    """Return the settings that differ, each with the set of its two values, so that the order does not matter."""
    names = (name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    return frozenset((name, frozenset((first.get(name), second.get(name)))) for name in names)


def _compare_counts(first: Mapping[str, set[Number]], second: Mapping[str, set[Number]], evidence: _Evidence) -> None:
    """Add the commits measured in both environments to the evidence; varying counts that overlap are no evidence."""
    for commit in first.keys() & second.keys():
        if first[commit] == second[commit] and len(first[commit]) == 1:
            evidence.equal_commits.add(commit)
        elif first[commit].isdisjoint(second[commit]):
            evidence.has_unequal_commit = True


def _choose_stand_ins(
    alike_pairs: Iterable[tuple[str, str]], differing_pairs: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """Return, for each environment of a group of equivalent ones, the first environment of its group.

    A group with two environments that are proven to count differently is left out.
    """
    groups: dict[str, set[str]] = {}
    for first, second in alike_pairs:
        joined_group = groups.get(first, {first}) | groups.get(second, {second})
        groups |= dict.fromkeys(joined_group, joined_group)
    contradicted_names = {
        name for first, second in differing_pairs if second in groups.get(first, ()) for name in groups[first]
    }
    return {name: min(group) for name, group in groups.items() if name not in contradicted_names}
