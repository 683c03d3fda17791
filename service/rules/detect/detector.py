"""Detects the level changes of a series, whole or growing, by the rule that its numbers allow."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.detect.input_numbers import centred, checked, checked_samples, difference
from service.rules.detect.level_change import Kind, LevelChange, Number, format_level
from service.rules.detect.newest_points import NewestChange
from service.rules.detect.noisy_series import NoisySeries
from service.rules.detect.ramps import JudgedChange
from service.rules.detect.repeating_series import RepeatingSeries

NEWEST = 36
"""Points after a change within which the newest points may show the same one."""
KINDS = ("count", "rate", "time", "ratio")
SAME = 3
"""Points by which the position of the same change may differ between the two rules."""


class LevelChangeDetector:
    """The level changes of a series that grows at its end.

    After any number of calls of :meth:`append` and :meth:`extend`, :meth:`changes` equals
    :func:`find_level_changes` of all points.
    """

    def __init__(self, kind: Kind = "count") -> None:
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}: one of {', '.join(KINDS)} is needed")
        self._kind = kind
        self._values: list[Number] = []
        self._samples: list[Sequence[Number]] = []
        self._repeating = RepeatingSeries()
        self._noisy = NoisySeries()
        self._changes: list[LevelChange] = []
        self._replaced: list[LevelChange] = []  # the change that the newest one replaces, if it is in doubt
        self._newest: NewestChange | None = None  # the last of the changes, if it concerns the newest points

    def append(self, value: Number, samples: Sequence[Number] | None = None) -> list[LevelChange]:
        """Append one point and return the level changes of the whole series; see :meth:`changes`."""
        self.extend([value], None if samples is None else [samples])
        return self.changes()

    def extend(self, values: Sequence[Number], samples: Sequence[Sequence[Number]] | None = None) -> None:
        """Append points.

        Raises
        ------
        ValueError
            If a number is not finite, or ``samples`` has another length than ``values``. Nothing is appended then.
        """
        values = checked(values, len(self._values), "values")
        if samples is not None:
            if len(samples) != len(values):
                raise ValueError(f"samples has {len(samples)} points, values has {len(values)}")
            samples = checked_samples(samples, len(self._values))
        self._values += values
        self._samples += samples if samples is not None else [()] * len(values)

    def changes(self) -> list[LevelChange]:
        """Return the level changes, in order of index.

        The list belongs to the detector, so that a call costs the same however many changes there are: read it before
        the next point is appended, and do not modify it.
        """
        n = len(self._values)
        if n < 2:
            return []
        self._repeating.extend(self._values[self._repeating.points :], self._samples[self._repeating.points :])
        self._noisy.extend(centred(self._values[self._noisy.n :], self._values[0]))
        if self._repeating.holds or self._noisy.noise.sigma == 0.0:
            return self._repeating.changes()
        exact = [change for change in self._repeating.confirmed if change.rule == "exact"]
        climbs = [self._describe(climb) for climb in self._noisy.climbs.values()]
        return _merged([*exact, *climbs], self._noisy_changes())

    def _noisy_changes(self) -> list[LevelChange]:
        if self._newest:
            self._changes.pop()
        self._changes += self._replaced
        unchanged, updated = self._noisy.updates()
        self._changes[unchanged:] = [self._describe(change) for change in updated]
        reruns = [difference(value, self._values[0]) for value in self._repeating.measurements()]
        self._newest, self._replaced = self._noisy.newest_change(reruns), []
        if self._newest:
            newest = self._describe_newest(self._newest)
            last = self._changes[-1] if self._changes else None
            reach = NEWEST if self._newest.length > 1 else SAME
            if last and (last.wants_rerun or newest.wants_rerun) and newest.index - last.high <= reach:
                self._replaced = [self._changes.pop()]
                newest = last if newest.wants_rerun else newest
            self._changes.append(newest)
        return self._changes

    def _describe(self, change: JudgedChange) -> LevelChange:
        at, old_level, new_level, low, high, rule, in_doubt = change
        before, after = self._level(old_level), self._level(new_level)
        sigma = self._noisy.noise.sigma
        size = f"{format_level(before)} → {format_level(after)}: %s of {abs(new_level - old_level) / sigma:.1f} sigma"
        if rule == "ramp":
            evidence = f"{size % 'a steady climb'} over {low:,} … {high:,}"
        else:
            evidence = f"{size % 'a step'} (sigma {sigma:.3g}), at {low:,} … {high:,}"
        return LevelChange(at, before, after, low, high, rule, evidence, wants_rerun=in_doubt)

    def _describe_newest(self, change: NewestChange) -> LevelChange:
        index = len(self._values) - change.length
        before, after = self._level(change.before), self._level(change.after)
        size = abs(change.after - change.before) / self._noisy.noise.sigma
        runs = "the newest run lies" if change.length == 1 else f"the newest {change.length} runs lie"
        evidence = f"{format_level(before)} → {format_level(after)}: {runs} {size:.1f} sigma off the previous level"
        if change.unsure:
            evidence += "; one more run will decide"
        return LevelChange(index, before, after, index, index, "newest", evidence, wants_rerun=change.unsure)

    def _level(self, centred: float) -> Number:
        """Return a level in the unit of the series; whole levels of an integer series as integers."""
        origin = self._values[0]
        if isinstance(origin, int):
            return origin + int(centred) if centred.is_integer() else origin + centred
        return origin + centred


def _merged(known: list[LevelChange], noisy: list[LevelChange]) -> list[LevelChange]:
    """Return the known changes, and those of noisy series that are not among them."""
    if not known:
        return noisy
    others = [change for change in noisy if not any(_overlap(change, other) for other in known)]
    return sorted([*known, *others], key=lambda change: change.index)


def _overlap(one: LevelChange, other: LevelChange) -> bool:
    return one.low <= other.high + SAME and one.high >= other.low - SAME


def find_level_changes(
    values: Sequence[Number],
    *,
    samples: Sequence[Sequence[Number]] | None = None,
    kind: Kind = "count",
) -> list[LevelChange]:
    """Return where a series changes its level.

    Parameters
    ----------
    values : sequence of n numbers
        One number for each point, oldest first.
    samples : sequence of n sequences, optional
        The samples that each point summarises; they show whether a count repeats to the fault.
    kind : {"count", "rate", "time", "ratio"}
        Kind of the numbers. Only counts can be exact.

    Returns
    -------
    list of LevelChange
        In order of index; empty where nothing changed.

    Raises
    ------
    ValueError
        If a number is NaN or infinite, or ``samples`` has another length than ``values``.
    """
    detector = LevelChangeDetector(kind)
    detector.extend(values, samples)
    return detector.changes()
