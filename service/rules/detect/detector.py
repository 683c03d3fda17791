"""One series of any kind, kept up to date: chooses the rule its numbers allow and words what that rule found."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.detect.exact_series import ExactSeries
from service.rules.detect.input_numbers import centred, checked, checked_samples, difference
from service.rules.detect.level_change import Kind, LevelChange, Number, format_level
from service.rules.detect.newest_points import NewestChange
from service.rules.detect.noisy_series import NoisySeries
from service.rules.detect.repeating_series import RepeatingSeries
from service.rules.detect.steps_and_ramps import JudgedChange

KINDS = ("count", "rate", "time", "ratio")


class LevelChangeDetector:
    """The drifts of a series that grows at its end.

    After any number of :meth:`append` and :meth:`extend`, :meth:`drifts` equals ``find_drifts`` of all points.
    """

    def __init__(self, kind: Kind = "count") -> None:
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}: one of {', '.join(KINDS)} is needed")
        self._kind = kind
        self._values: list[Number] = []
        self._samples: list[Sequence[Number]] = []
        self._exact = ExactSeries()
        self._repeating = RepeatingSeries()
        self._noisy = NoisySeries()
        self._drifts: list[LevelChange] = []
        self._tail: NewestChange | None = None  # the last of the drifts, if it is about the newest points

    def append(self, value: Number, samples: Sequence[Number] | None = None) -> list[LevelChange]:
        """Append one point and return the drifts of the whole series; see :meth:`drifts`."""
        self.extend([value], None if samples is None else [samples])
        return self.drifts()

    def extend(self, values: Sequence[Number], samples: Sequence[Sequence[Number]] | None = None) -> None:
        """Append points.

        Raises
        ------
        ValueError
            If a number is not finite or ``samples`` has another length than ``values``; nothing is appended then.
        """
        values = checked(values, len(self._values), "values")
        if samples is not None:
            if len(samples) != len(values):
                raise ValueError(f"samples has {len(samples)} points, values has {len(values)}")
            samples = checked_samples(samples, len(self._values))
        self._values += values
        self._samples += samples if samples is not None else [()] * len(values)

    def drifts(self) -> list[LevelChange]:
        """Return the drifts, in order of index.

        The list is the series' own, so that asking costs the same however many drifts there are: read it before the
        next point is appended, do not write to it.
        """
        n = len(self._values)
        if n < 2:
            return []
        if self._kind == "count" and self._samples[-1]:
            self._exact.extend(self._values[self._exact.points :], self._samples[self._exact.points :])
            if self._exact.holds:
                return list(self._exact.drifts)
        self._noisy.extend(centred(self._values[self._noisy.n :], self._values[0]))
        if self._noisy.noise.sigma == 0.0:
            self._repeating.extend(self._values[self._repeating.points :])
            return self._repeating.drifts(self._samples[-1])
        return self._noisy_drifts()

    def _noisy_drifts(self) -> list[LevelChange]:
        if self._tail:
            self._drifts.pop()
        kept, news = self._noisy.news()
        self._drifts[kept:] = [self._word(finding) for finding in news]
        again = [difference(value, self._values[0]) for value in self._samples[-1]]
        self._tail = self._noisy.tail(again)
        if self._tail:
            self._drifts.append(self._word_tail(self._tail))
        return self._drifts

    def _word(self, finding: JudgedChange) -> LevelChange:
        at, low_level, high_level, low, high, rule = finding
        before, after = self._level(low_level), self._level(high_level)
        sigma = self._noisy.noise.sigma
        size = f"{format_level(before)} → {format_level(after)}: %s of {abs(high_level - low_level) / sigma:.1f} sigma"
        if rule == "ramp":
            evidence = f"{size % 'a steady climb'} over {low:,} … {high:,}"
        else:
            evidence = f"{size % 'a step'} (sigma {sigma:.3g}), at {low:,} … {high:,}"
        return LevelChange(at, before, after, low, high, rule, evidence)

    def _word_tail(self, tail: NewestChange) -> LevelChange:
        index = len(self._values) - tail.length
        before, after = self._level(tail.before), self._level(tail.after)
        size = abs(tail.after - tail.before) / self._noisy.noise.sigma
        runs = "the newest run lies" if tail.length == 1 else f"the newest {tail.length} runs lie"
        evidence = f"{format_level(before)} → {format_level(after)}: {runs} {size:.1f} sigma off the level before"
        if tail.unsure:
            evidence += "; one run more will tell"
        return LevelChange(index, before, after, index, index, "newest", evidence, wants_rerun=tail.unsure)

    def _level(self, centred: float) -> Number:
        """Return a level in the unit of the series, whole numbers as such where the series has only those."""
        origin = self._values[0]
        if isinstance(origin, int):
            return origin + int(centred) if centred.is_integer() else origin + centred
        return origin + centred
