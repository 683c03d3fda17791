"""Finds which machines of a pool stand for each other in a series of exact counts.

A pool is several machines under one name, such as those of a CI system: each job gets another one. Machines differ in
settings, such as the model of the processor, and most programs fault the same on all of them. That is proven, not
assumed: by commits that were measured in both environments. Until then, and where a count differs, environments stay
apart as on any host.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from runner.contract.report import POOL_SETTING
from service.rules.series.point_order import PathPoint
from service.schemas.history import Number

MIN_COMMITS = 3
"""How many commits have to be measured on both sides of a difference, with equal counts."""

Settings = Mapping[str, Mapping[str, str]]
"""The settings of environments, by hash."""
_Difference = frozenset[tuple[str, frozenset[str | None]]]
"""The settings that differ, each with both values."""


@dataclass(slots=True)
class _Evidence:
    """What was measured on both sides of a difference."""

    equal: set[str] = field(default_factory=set)
    """Commits whose counts are equal."""
    unequal: bool = False

    @property
    def is_proof(self) -> bool:
        """Whether the difference is proven not to move the count."""
        return not self.unequal and len(self.equal) >= MIN_COMMITS


def find_stand_ins(points: Iterable[PathPoint], settings: Settings) -> dict[str, str]:
    """Return the environment that stands for each of some environments of a pool, the same for all that are alike.

    Parameters
    ----------
    points
        The points of one series of exact counts.
    settings
        The settings of the environments of pools among theirs, and of further ones. Environments that are not in it
        stand for themselves.
    """
    levels = _map_levels(points, settings)
    pairs = [(one, other) for one, other in combinations(sorted(settings), 2) if _are_of_one_pool(one, other, settings)]
    evidence: dict[_Difference, _Evidence] = defaultdict(_Evidence)
    differences = {(one, other): _find_difference(settings[one], settings[other]) for one, other in pairs}
    for (one, other), difference in differences.items():
        _compare_levels(levels.get(one, {}), levels.get(other, {}), evidence[difference])
    alike = [pair for pair, difference in differences.items() if evidence[difference].is_proof]
    apart = [pair for pair, difference in differences.items() if evidence[difference].unequal]
    return _choose_stand_ins(alike, apart)


def _map_levels(points: Iterable[PathPoint], settings: Settings) -> dict[str, dict[str, set[Number]]]:
    """Return the counts of each commit that were measured in each environment."""
    levels: dict[str, dict[str, set[Number]]] = defaultdict(lambda: defaultdict(set))
    for point in points:
        if point.environment in settings and not point.is_reused:
            levels[point.environment][point.revision].update(point.samples or (point.value,))
    return levels


def _are_of_one_pool(one: str, other: str, settings: Settings) -> bool:
    return settings[one].get(POOL_SETTING) == settings[other].get(POOL_SETTING) is not None


def _find_difference(one: Mapping[str, str], other: Mapping[str, str]) -> _Difference:
    names = (name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return frozenset((name, frozenset((one.get(name), other.get(name)))) for name in names)


def _compare_levels(one: Mapping[str, set[Number]], other: Mapping[str, set[Number]], evidence: _Evidence) -> None:
    """Add the commits that both sides have. A count that does not repeat on one side is no evidence."""
    for commit in one.keys() & other.keys():
        if one[commit] == other[commit] and len(one[commit]) == 1:
            evidence.equal.add(commit)
        elif one[commit].isdisjoint(other[commit]):
            evidence.unequal = True


def _choose_stand_ins(alike: Iterable[tuple[str, str]], apart: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Join environments that are alike into groups, and leave out groups in which two are apart."""
    groups: dict[str, set[str]] = {}
    for one, other in alike:
        joined = groups.get(one, {one}) | groups.get(other, {other})
        groups |= dict.fromkeys(joined, joined)
    broken = {name for one, other in apart if other in groups.get(one, ()) for name in groups[one]}
    return {name: min(group) for name, group in groups.items() if name not in broken}
