"""What a gate found, as it is told: every case with the verdict on it, and what that comes to. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from runner.contract import Comparison, Failure, MetricVerdict, Outcome, Report, Stage, Verdict
from runner.contract.gate import GateCase, GateReport, GateVerdict
from runner.contract.level import Number
from service.rules.comparison import in_turns
from service.rules.gate.creep import Baseline, crept_change, is_small_step
from service.rules.gate.insight import Insight


class GateState(StrEnum):
    """What a gate comes to; of several cases the first in this order decides."""

    HEAD_FAILED = "head_failed"
    """The head of a case does not build or run, and its base does."""
    OVER = "over"
    """A metric is worse by more than its budget."""
    CREPT = "crept"
    """A metric is worse by more than its budget since its baseline, in steps that are each within it."""
    BASE_FAILED = "base_failed"
    """Nothing can be said of a case, since its base could not be measured."""
    UNDECIDED = "undecided"
    """A metric that counts is not decided after as many runs as the workload allows."""
    WITHIN = "within"
    """Something is worse, and within its budget."""
    BETTER = "better"
    SAME = "same"
    EMPTY = "empty"
    """There was no case to measure."""


_WORDS = {
    GateState.HEAD_FAILED: GateVerdict.FAILED,
    GateState.OVER: GateVerdict.REGRESSED,
    GateState.CREPT: GateVerdict.REGRESSED,
    GateState.BASE_FAILED: GateVerdict.UNDECIDED,
    GateState.UNDECIDED: GateVerdict.UNDECIDED,
    GateState.WITHIN: GateVerdict.CHANGED,
    GateState.BETTER: GateVerdict.IMPROVED,
    GateState.SAME: GateVerdict.SAME,
    GateState.EMPTY: GateVerdict.UNDECIDED,
}


@dataclass(frozen=True, slots=True)
class Acceptance:
    """That somebody wants the change."""

    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class MetricOutcome:
    """One metric of one case."""

    case: str
    one: MetricVerdict
    since: Baseline | None = None
    """The level from which its series is judged; only looked up where it is a step for the worse within its budget."""

    @property
    def crept(self) -> Number | None:
        """By how much it is worse than that, where that is over its budget."""
        return crept_change(self.one, self.since)

    @property
    def changed(self) -> bool:
        """Whether it counts and differs."""
        return self.one.counts and self.one.verdict is Verdict.CHANGED

    @property
    def settled(self) -> bool:
        """Whether nobody has to look at it: what is the same, or does not count."""
        return not self.one.counts or self.one.verdict is Verdict.SAME


@dataclass(frozen=True)
class CaseOutcome:
    """One case."""

    case: GateCase
    comparison: Comparison | None
    baselines: Mapping[str, Baseline] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[MetricOutcome, ...]:
        """What was found out about each metric."""
        metrics = self.comparison.metrics if self.comparison else ()
        return tuple(MetricOutcome(self.name, one, self.baselines.get(one.metric)) for one in metrics)

    @property
    def name(self) -> str:
        """The case, as people read it."""
        return self.case.head.case.name

    @property
    def failed(self) -> tuple[str, Failure] | None:
        """The side that could not be measured, and why; the base where that is neither's fault but its own."""
        for side in ("base", "head"):
            report: Report = getattr(self.case, side)
            if report.failure and report.outcome is Outcome.FAILED:
                return side, report.failure
        skipped = self.case.base.failure or self.case.head.failure
        quarantined = self.case.base.quarantine or self.case.head.quarantine
        if quarantined:
            return "base", Failure(stage=Stage.MEASURE, message=quarantined[:1000])
        return ("base", skipped) if skipped else None

    @property
    def state(self) -> GateState:
        """What it comes to."""
        if self.comparison is None:
            return GateState.HEAD_FAILED if self.failed and self.failed[0] == "head" else GateState.BASE_FAILED
        counting = [one for one in self.comparison.metrics if one.counts]
        if any(one.over for one in counting):
            return GateState.OVER
        if any(row.crept is not None for row in self.rows):
            return GateState.CREPT
        if any(one.verdict is Verdict.NEEDS_MORE_RUNS for one in counting):
            return GateState.UNDECIDED
        directions = {one.direction for one in counting}
        if "regression" in directions:
            return GateState.WITHIN
        return GateState.BETTER if "improvement" in directions else GateState.SAME

    @property
    def command(self) -> str:
        """The command that compares the two again; the reader's clone is a folder called like the subject."""
        base, head = self.case.base, self.case.head
        words = ["faultwatch", "compare", base.revision.commit[:12], head.revision.commit[:12]]
        words += ["--workload", head.case.workload, "--repo", f"./{head.subject}"]
        for name, value in sorted(head.case.parameters.items()):
            words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
        return shlex.join(words)


@dataclass(frozen=True)
class GateOutcome:
    """All of it."""

    base: str
    head: str
    cases: tuple[CaseOutcome, ...]
    log_url: str = ""
    accepted: Acceptance | None = None
    insights: tuple[Insight, ...] = ()

    @cached_property
    def state(self) -> GateState:
        """What it comes to."""
        order = list(GateState)
        return min((one.state for one in self.cases), key=order.index, default=GateState.EMPTY)

    @property
    def word(self) -> GateVerdict:
        """The same in one word, as a job's output has it."""
        return _WORDS[self.state]

    @property
    def passed(self) -> bool:
        """Whether the pull request may go on."""
        if self.state in {GateState.OVER, GateState.CREPT}:
            return self.accepted is not None
        return self.state is not GateState.HEAD_FAILED

    @cached_property
    def rows(self) -> tuple[MetricOutcome, ...]:
        """Every metric of every case; what matters most first."""
        return tuple(sorted((row for one in self.cases for row in one.rows), key=_weight))

    def changed(self) -> Iterator[MetricOutcome]:
        """Return what differs and counts."""
        return (row for row in self.rows if row.changed)

    def steps(self) -> Iterator[tuple[int, str]]:
        """Return which metrics of which cases got worse within their budgets: their baselines matter."""
        for place, case in enumerate(self.cases):
            yield from ((place, row.one.metric) for row in case.rows if is_small_step(row.one))

    def since(self, baselines: Mapping[tuple[int, str], Baseline]) -> GateOutcome:
        """Return the same beside the baselines of its steps."""
        of_case: dict[int, dict[str, Baseline]] = {}
        for (place, metric), baseline in baselines.items():
            of_case.setdefault(place, {})[metric] = baseline
        cases = tuple(replace(case, baselines=of_case.get(place, {})) for place, case in enumerate(self.cases))
        return replace(self, cases=cases)


def judge_gate(report: GateReport, accepted: Acceptance | None = None) -> GateOutcome:
    """Decide every case of a report."""
    judged = tuple(
        CaseOutcome(case, in_turns.decide(case.request()) if case.measured and not _spoilt(case) else None)
        for case in report.cases
    )
    return GateOutcome(report.base, report.head, judged, report.log_url, accepted)


def _spoilt(case: GateCase) -> bool:
    return bool(case.base.quarantine or case.head.quarantine)


def _weight(row: MetricOutcome) -> tuple[int, float, str, str]:
    one = row.one
    if not one.counts:
        place = 4
    elif one.verdict is Verdict.CHANGED:
        place = 0 if one.over or row.crept is not None else 1 if one.direction == "regression" else 2
    else:
        place = 3 if one.verdict is Verdict.SAME else 2
    return place, -abs(one.percent or 0) if place < 3 else 0, row.case, one.metric
