"""Compares what was stored at different times: which runs belong together, and whether they differ. Pure.

Runs that were measured in turns are judged by :mod:`service.gate`. Here the two sides can lie months apart, so the
trend has the first say: a drift that was found between them is a difference, and where none was found a count that is
the same on both sides needs no more samples to be called the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from runner.contract import MetricVerdict, Status, Verdict, metric
from runner.contract.comparison import Rule
from runner.contract.level import bounds, median
from service import gate
from service.views import Drift, Number

GROUP = 3
"""Runs of one revision in one environment that are taken together, the newest ones."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A stored run, and what makes it comparable to another."""

    run_id: UUID
    subject: str
    case: str
    case_key: str
    host: str
    environment: str
    revision: str
    title: str
    position: int
    started_at: datetime


Runs = tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Runs of both sides that differ in what is asked about, and in as little else as possible."""

    base: Runs
    """The newest first."""
    head: Runs


@dataclass(frozen=True, slots=True)
class Matched:
    """What both sides have in common."""

    pairs: tuple[Pair, ...]
    only_base: Runs
    """One run for each case that only this side has."""
    only_head: Runs


@dataclass(frozen=True, slots=True)
class Readings:
    """One metric over the runs of one side."""

    samples: tuple[Number, ...]
    statuses: frozenset[Status] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Placed:
    """A drift, and the place of its revision in the history."""

    position: int
    drift: Drift


@dataclass(frozen=True, slots=True)
class Sides:
    """One metric on both sides."""

    metric: str
    base: Readings
    head: Readings

    @property
    def levels(self) -> tuple[Number | None, Number | None]:
        """The level of each side."""
        return median(self.base.samples), median(self.head.samples)

    def verdict(self, verdict: Verdict, rule: Rule, sentence: str) -> MetricVerdict:
        """Put a verdict together."""
        exact = metric(self.metric).exact
        return gate.verdict_of(
            self.metric,
            verdict,
            rule,
            self.base.samples,
            self.head.samples,
            counts=exact,
            sentence=sentence,
            threshold=1 if exact else gate.PRECISION,
        )


def match(base: Iterable[Measured], head: Iterable[Measured], *, by_host: bool) -> Matched:
    """Pair the runs of both sides.

    Parameters
    ----------
    by_host
        Whether a run is compared to runs of its own host only.
    """
    left, right = _grouped(base, by_host), _grouped(head, by_host)
    return Matched(
        pairs=tuple(_nearest(left[key], right[key]) for key in left if key in right),
        only_base=tuple(left[key][0] for key in left if key not in right),
        only_head=tuple(right[key][0] for key in right if key not in left),
    )


def judge(pair: Pair, sides: Sides, drifts: Sequence[Placed], error: float) -> MetricVerdict:
    """Say whether one metric differs between the two sides of a pair.

    Parameters
    ----------
    pair, sides
        The runs, and their readings.
    drifts
        All drifts of the series that both sides are points of; none where they are points of different series.
    error
        Chance to call a noisy metric changed that is not.
    """
    known = metric(sides.metric)
    base, head = sides.base, sides.head
    between = [placed.drift for placed in drifts if _lies_between(placed, pair)]
    if between:
        return _by_trend(sides, between)
    exact = known.exact and base.statuses | head.statuses == {Status.COUNTED} and base.samples and head.samples
    found = gate.judge_exact(known.name, base.samples, head.samples) if exact else None
    if found is None:
        return _apart(sides, error)
    if found.verdict is Verdict.NEEDS_MORE_RUNS and found.change == 0 and known.judged:
        return sides.verdict(Verdict.SAME, "trend", "The same count, and no drift was found between them.")
    return found


def _grouped(runs: Iterable[Measured], by_host: bool) -> dict[tuple[str, ...], list[Measured]]:
    groups: dict[tuple[str, ...], list[Measured]] = {}
    for run in sorted(runs, key=lambda run: run.started_at, reverse=True):
        groups.setdefault((run.subject, run.case_key, run.host if by_host else ""), []).append(run)
    return groups


def _nearest(base: Sequence[Measured], head: Sequence[Measured]) -> Pair:
    """Keep to the newest revision, then the newest environment, then the newest host that both sides have."""
    for same in ("revision", "environment", "host"):
        shared = {getattr(run, same) for run in base} & {getattr(run, same) for run in head}
        if shared:
            newest = max((run for run in base if getattr(run, same) in shared), key=_age)
            base = [run for run in base if getattr(run, same) == getattr(newest, same)]
            head = [run for run in head if getattr(run, same) == getattr(newest, same)]
    return Pair(_newest(base), _newest(head))


def _age(run: Measured) -> tuple[int, datetime]:
    return run.position, run.started_at


def _newest(runs: Sequence[Measured]) -> Runs:
    """Return the newest run, with those that repeat it."""
    newest = max(runs, key=_age)
    alike = [run for run in runs if _what(run) == _what(newest)]
    return tuple(sorted(alike, key=_age, reverse=True)[:GROUP])


def _what(run: Measured) -> tuple[str, str, str]:
    return run.revision, run.environment, run.host


def _lies_between(placed: Placed, pair: Pair) -> bool:
    base, head, drift = pair.base[0], pair.head[0], placed.drift
    environments = {base.environment, head.environment}
    if drift.environment_before != drift.environment_after:
        return {drift.environment_before, drift.environment_after} == environments
    low, high = sorted((base.position, head.position))
    return drift.environment_after in environments and low < placed.position <= high


def _by_trend(sides: Sides, between: Sequence[Drift]) -> MetricVerdict:
    many = "A drift was" if len(between) == 1 else f"{len(between)} drifts were"
    more = f", and {len(between) - 3} more" if len(between) > 3 else ""
    told = f"{many} found between them: {'; '.join(_told(drift) for drift in between[:3])}{more}."
    base, head = sides.levels
    if base == head:
        return sides.verdict(Verdict.SAME, "trend", f"{told} Together they cancel out.")
    return sides.verdict(Verdict.CHANGED, "trend", told)


def _told(drift: Drift) -> str:
    what = drift.revision[:10] if drift.cause != "config" else ", ".join(knob.name for knob in drift.knobs[:2])
    return f"{drift.change:+,} {drift.unit} at {what}"


def _apart(sides: Sides, error: float) -> MetricVerdict:
    """Judge noise: each side's median lies within bounds that hold however it is distributed."""
    base, head = sides.levels
    if base is None or head is None:
        return sides.verdict(Verdict.NEEDS_MORE_RUNS, "absent", "One side has no value.")
    left, right = (bounds(side.samples, error / 2) for side in (sides.base, sides.head))
    if left is None or right is None:
        few = min(len(sides.base.samples), len(sides.head.samples))
        sentence = f"The metric is noisy, and {few} sample{'s' if few > 1 else ''} of a side are too few to judge by."
        return sides.verdict(Verdict.NEEDS_MORE_RUNS, "apart", sentence)
    size = max(abs(base), abs(head)) or 1
    widest = 100 * max(abs(right[1] - left[0]), abs(right[0] - left[1])) / size
    far = left[1] < right[0] or right[1] < left[0]
    shown = f"The medians lie within {left[0]:,.6g} – {left[1]:,.6g} and {right[0]:,.6g} – {right[1]:,.6g}"
    if far and 200 * abs(head - base) / size >= gate.PRECISION:
        verdict, sentence = Verdict.CHANGED, f"{shown}: apart, with an error of {error:.2g}."
    elif widest < gate.PRECISION:
        verdict, sentence = Verdict.SAME, f"{shown}: less than {gate.PRECISION:g} % from each other."
    else:
        verdict, sentence = Verdict.NEEDS_MORE_RUNS, f"{shown}: not apart, and not near enough to call them the same."
    return sides.verdict(verdict, "apart", f"{sentence} They were not measured in turns.")
