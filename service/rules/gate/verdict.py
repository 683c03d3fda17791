"""Decides the verdict of a gate from the verdicts on its cases and their metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from runner.contract import Comparison, Failure, MetricVerdict, Outcome, Stage, Verdict, get_metric
from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.gate import GateCase, GateReport, GateVerdict, JudgeChange
from runner.contract.level import Number
from runner.contract.metric_verdict_text import has_clearly_moved
from service.rules.comparison import comparison_verdict
from service.rules.gate.case_diagnosis import CaseDiagnosis
from service.rules.gate.gradual_regression import Baseline, find_gradual_change, is_small_step
from service.rules.gate.workload_file_acceptance import needs_acceptance
from service.rules.relative_change import compute_change_rank
from service.text import commands_to_copy


class GateState(StrEnum):
    """The outcome of a gate or of a case; of several cases, the outcome that comes first in this order decides."""

    HEAD_FAILED = "head_failed"
    """The head of a case does not build or run, but its base does."""
    OVER = "over"
    """A metric is significantly worse by more than its budget."""
    GRADUALLY_OVER = "crept"
    """A metric is worse than its baseline by more than its budget, in steps that are each within it."""
    NOTHING = "nothing"
    """No case could be measured."""
    DISTURBED = "disturbed"
    """A case could not be measured, because of head or because of an event during the measurement."""
    OLD_BASE_FAILED = "old_base_failed"
    """The base of a case does not build or run, and it is not the tip of the branch into which head is to be merged."""
    HEAD_LACKS = "head_lacks"
    """A metric that counts is undecided, and a smaller share of head's samples than of base's has a value."""
    UNMEASURED = "unmeasured"
    """A case could not be measured, because the host lacks something that base needs as well."""
    BASE_FAILED = "base_failed"
    """A case cannot be judged, because its base does not build or run; its head does."""
    UNDECIDED = "undecided"
    """A metric that counts is missing in base, or still undecided after all the runs that the workload allows."""
    WITHIN = "within"
    """A metric is worse, but within its budget."""
    BETTER = "better"
    SAME = "same"
    ADDED = "added"
    """Head adds the case, and runs it; base cannot."""


_VERDICTS = {
    GateState.HEAD_FAILED: GateVerdict.FAILED,
    GateState.OVER: GateVerdict.REGRESSED,
    GateState.GRADUALLY_OVER: GateVerdict.REGRESSED,
    GateState.NOTHING: GateVerdict.FAILED,
    GateState.DISTURBED: GateVerdict.FAILED,
    GateState.OLD_BASE_FAILED: GateVerdict.UNDECIDED,
    GateState.HEAD_LACKS: GateVerdict.UNDECIDED,
    GateState.UNMEASURED: GateVerdict.UNDECIDED,
    GateState.BASE_FAILED: GateVerdict.UNDECIDED,
    GateState.UNDECIDED: GateVerdict.UNDECIDED,
    GateState.WITHIN: GateVerdict.CHANGED,
    GateState.BETTER: GateVerdict.IMPROVED,
    GateState.SAME: GateVerdict.SAME,
    GateState.ADDED: GateVerdict.SAME,
}
_ACCEPTABLE = {
    GateState.OVER,
    GateState.GRADUALLY_OVER,
    GateState.OLD_BASE_FAILED,
    GateState.HEAD_LACKS,
}
"""States that pass only if somebody accepts them: head got worse, or its author may have prevented a decision."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Somebody's decision to accept the change."""

    author: str
    reason: str


@dataclass(frozen=True, slots=True)
class MetricOutcome:
    """The outcome for one metric of a case."""

    case: str
    metric_verdict: MetricVerdict
    baseline: Baseline | None = None
    """The level from which the series is judged; looked up only for a small step, see :func:`is_small_step`."""
    often_missing: bool = False
    """Whether a smaller share of head's samples has a value than of base's."""

    @property
    def gradual_change(self) -> Number | None:
        """The change since the baseline if small steps take it over the budget; otherwise None."""
        return find_gradual_change(self.metric_verdict, self.baseline)

    @property
    def changed(self) -> bool:
        """Whether the metric counts and has changed."""
        return self.metric_verdict.counts and self.metric_verdict.verdict is Verdict.CHANGED

    @property
    def is_open(self) -> bool:
        """Whether the metric counts, and is missing on one side or needs more runs."""
        verdict = self.metric_verdict
        return verdict.counts and (verdict.verdict is Verdict.NEEDS_MORE_RUNS or verdict.may_exceed)

    @property
    def lacks_head_samples(self) -> bool:
        """Whether the metric is open, and a smaller share of head's samples has a value than of base's."""
        return self.is_open and self.often_missing

    @property
    def is_count(self) -> bool:
        """Whether the metric is an exact count, such as minor faults."""
        return get_metric(self.metric_verdict.metric).exact

    @property
    def settled(self) -> bool:
        """Whether nobody has to look at the metric: it is the same, or does not count and has not changed."""
        verdict = self.metric_verdict
        return not has_clearly_moved(verdict) and (not verdict.counts or verdict.verdict is Verdict.SAME)


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome for one case.

    Attributes
    ----------
    comparison
        The verdicts on its metrics; None if the case could not be compared.
    baselines
        The baselines of its metrics with small steps, by metric.
    at_tip
        Whether base is the tip of the branch into which head is to be merged.
    """

    case: GateCase
    comparison: Comparison | None
    baselines: Mapping[str, Baseline] = field(default_factory=dict)
    at_tip: bool = True

    @property
    def metrics(self) -> tuple[MetricOutcome, ...]:
        """The outcome of each metric."""
        verdicts = self.comparison.metrics if self.comparison else ()
        return tuple(
            MetricOutcome(
                self.name, verdict, self.baselines.get(verdict.metric), often_missing=self._is_often_missing(verdict)
            )
            for verdict in verdicts
        )

    def _is_often_missing(self, verdict: MetricVerdict) -> bool:
        """Return whether a metric that counts and is not the same has a value in a smaller share of head's samples."""
        if not verdict.counts or verdict.verdict is Verdict.SAME:
            return False
        base_share, head_share = (
            len(side.list_values(verdict.metric)) / max(1, len(side.samples))
            for side in (self.case.base, self.case.head)
        )
        return head_share < base_share

    @property
    def name(self) -> str:
        """The name of the case, for people."""
        return self.case.head.case.name

    @property
    def failures(self) -> tuple[tuple[str, Failure], ...]:
        """The sides that could not be measured, each with the reason.

        If no side failed, but one was skipped or quarantined, this counts as a failure of base, unless base was skipped
        only because of head.
        """
        sides = (("base", self.case.base), ("head", self.case.head))
        failed_sides = tuple(
            (name, side.failure) for name, side in sides if side.failure and side.outcome is Outcome.FAILED
        )
        if failed_sides:
            return failed_sides
        quarantine = self.case.base.quarantine or self.case.head.quarantine
        if quarantine:
            return (("base", Failure(stage=Stage.MEASURE, message=quarantine[:MAX_LINE_CHARACTERS])),)
        if self._is_skipped_because_of_head and self.case.head.failure:
            return (("head", self.case.head.failure),)
        failure = self.case.base.failure or self.case.head.failure
        return (("base", failure),) if failure else ()

    @property
    def first_failure(self) -> tuple[str, Failure] | None:
        """The first side that could not be measured, with the reason; None if both were measured."""
        return self.failures[0] if self.failures else None

    @property
    def state(self) -> GateState:
        """The outcome of the case as one state."""
        if self.comparison is None:
            return self._state_without_comparison
        counting_verdicts = [verdict for verdict in self.comparison.metrics if verdict.counts]
        directions = {verdict.direction for verdict in counting_verdicts}
        # The first condition that is true decides.
        conditions = {
            GateState.UNMEASURED: not any(verdict.base.n or verdict.head.n for verdict in counting_verdicts),
            GateState.OVER: any(verdict.over_budget for verdict in counting_verdicts),
            GateState.GRADUALLY_OVER: any(outcome.gradual_change is not None for outcome in self.metrics),
            GateState.HEAD_LACKS: any(outcome.lacks_head_samples for outcome in self.metrics),
            GateState.UNDECIDED: any(outcome.is_open for outcome in self.metrics),
            GateState.WITHIN: "regression" in directions,
            GateState.BETTER: "improvement" in directions,
        }
        return next((state for state, holds in conditions.items() if holds), GateState.SAME)

    @property
    def _state_without_comparison(self) -> GateState:
        """The state of a case that could not be compared: which side failed, is missing or was disturbed decides."""
        base, head = self.case.base.outcome, self.case.head.outcome
        # If the tip of the target branch fails as well, head did not cause the failure.
        if head is Outcome.FAILED and not (base is Outcome.FAILED and self.at_tip):
            return GateState.HEAD_FAILED
        if self.case.base.quarantine or self.case.head.quarantine:
            return GateState.UNMEASURED  # the host counted incorrectly, or the runs are no evidence
        if self.case.added and head is Outcome.MEASURED:
            return GateState.ADDED
        if base is Outcome.FAILED and not self.at_tip:
            return GateState.OLD_BASE_FAILED
        if base is Outcome.FAILED and head is Outcome.MEASURED:
            return GateState.BASE_FAILED
        return GateState.DISTURBED if self._is_disturbed else GateState.UNMEASURED

    @property
    def _is_disturbed(self) -> bool:
        """Whether a side was skipped because of a temporary failure, or base was skipped only because of head.

        If a side was skipped because the host lacks something that both need, the case is not disturbed.
        """
        sides = (self.case.base, self.case.head)
        has_temporary_failure = any(
            side.outcome is Outcome.SKIPPED and side.failure and side.failure.temporary for side in sides
        )
        return has_temporary_failure or self._is_skipped_because_of_head

    @property
    def _is_skipped_because_of_head(self) -> bool:
        """Whether base was skipped only because head was; otherwise both would give the same reason."""
        base, head = self.case.base, self.case.head
        are_both_skipped = {base.outcome, head.outcome} == {Outcome.SKIPPED}
        return are_both_skipped and bool(base.failure and head.failure and base.failure.message != head.failure.message)

    @property
    def command(self) -> str:
        """The command that compares the two commits again."""
        return commands_to_copy.build_compare_case_command(self.case.base, self.case.head)

    @property
    def profile_command(self) -> str:
        """The command that shows where a change of the case comes from."""
        base, head = self.case.base, self.case.head
        return commands_to_copy.build_profile_command(head.case, base.revision.commit, head.revision.commit)


@dataclass(frozen=True)
class GateOutcome:
    """The outcome of a gate.

    Attributes
    ----------
    report
        The report from which the outcome was decided.
    accepted
        The decision to accept the change although it exceeds a budget or changes how it is judged; None if there is
        none.
    """

    report: GateReport
    cases: tuple[CaseOutcome, ...]
    accepted: Acceptance | None = None
    diagnoses: tuple[CaseDiagnosis, ...] = ()

    @property
    def base(self) -> str:
        """The base commit."""
        return self.report.base

    @property
    def head(self) -> str:
        """The head commit."""
        return self.report.head

    @property
    def log_url(self) -> str:
        """The URL of the log of the measuring job; empty if there is none."""
        return self.report.log_url

    @cached_property
    def state(self) -> GateState:
        """The case's state that comes first in :class:`GateState`; NOTHING if no case could be measured.

        Once the changes are accepted, a case that nobody can accept comes before them: it has to be measured first.
        """
        states = {case.state for case in self.cases}
        # A case that head adds has no base, so it cannot make up for cases that were not measured.
        judged_states = {case.state for case in self.cases if not case.case.added} or states
        if judged_states <= {GateState.UNMEASURED} and GateState.HEAD_FAILED not in states:
            return GateState.NOTHING
        failed_states = {state for state in states if _VERDICTS[state] is GateVerdict.FAILED}
        return min((self.accepted and failed_states) or states, key=list(GateState).index)

    @property
    def same_bytes(self) -> bool:
        """Whether nothing changed, and base and head have the same bytes in every case."""
        have_same_bytes = all(case.comparison is not None and case.comparison.same_bytes for case in self.cases)
        return have_same_bytes and self.state is GateState.SAME

    @cached_property
    def changes_to_accept(self) -> tuple[JudgeChange, ...]:
        """The changes by head of how it is measured and judged that somebody has to accept."""
        return tuple(change for change in self.report.changes if needs_acceptance(change))

    @property
    def is_neutral_without_measurements(self) -> bool:
        """Whether nothing could be measured, and ``unmeasured = "pass"`` makes this neutral instead of a failure."""
        return self.state is GateState.NOTHING and self.report.may_be_unmeasured

    @property
    def verdict(self) -> GateVerdict:
        """The state as the verdict that a job outputs."""
        if self.is_neutral_without_measurements:
            return GateVerdict.UNDECIDED
        verdict = _VERDICTS[self.state]
        is_failing = verdict in {GateVerdict.FAILED, GateVerdict.REGRESSED}
        lacks_acceptance = self.changes_to_accept and not self.accepted
        return GateVerdict.UNDECIDED if lacks_acceptance and not is_failing else verdict

    @property
    def needs_acceptance(self) -> bool:
        """Whether the pull request only passes if somebody accepts it."""
        return self.state in _ACCEPTABLE or bool(self.changes_to_accept)

    @property
    def passed(self) -> bool:
        """Whether the pull request passes."""
        if self.needs_acceptance and self.accepted is None:
            return False
        # A state that needs acceptance has it here.
        return self.state in _ACCEPTABLE or self.verdict is not GateVerdict.FAILED

    @cached_property
    def metrics(self) -> tuple[MetricOutcome, ...]:
        """Every metric of every case, the most important first."""
        return tuple(sorted((outcome for case in self.cases for outcome in case.metrics), key=_rank_metric))

    def list_changed_metrics(self) -> Iterator[MetricOutcome]:
        """Return the metrics that count and have changed."""
        return (outcome for outcome in self.metrics if outcome.changed)

    def list_small_steps(self) -> Iterator[tuple[int, str]]:
        """Yield the case index and the metric of each small step, whose baselines have to be looked up."""
        for index, case in enumerate(self.cases):
            for outcome in case.metrics:
                if is_small_step(outcome.metric_verdict):
                    yield index, outcome.metric_verdict.metric

    def with_baselines(self, baselines: Mapping[tuple[int, str], Baseline]) -> GateOutcome:
        """Return the outcome with the baselines of its small steps, by case index and metric."""
        baselines_by_case: dict[int, dict[str, Baseline]] = {}
        for (index, name), baseline in baselines.items():
            baselines_by_case.setdefault(index, {})[name] = baseline
        cases = tuple(
            replace(case, baselines=baselines_by_case.get(index, {})) for index, case in enumerate(self.cases)
        )
        return replace(self, cases=cases)


def judge_gate(report: GateReport, accepted: Acceptance | None = None) -> GateOutcome:
    """Return the outcome of a gate; its error probability is divided among all cases.

    Parameters
    ----------
    accepted
        Somebody's decision to accept the change; None if nobody has decided.
    """
    n_cases = max(1, len(report.cases))
    is_base_at_tip = report.target in {None, report.base}
    cases: list[CaseOutcome] = []
    for case in report.cases:
        comparison = None
        if case.measured and not _is_quarantined(case):
            comparison = comparison_verdict.decide_comparison(case.build_request(n_cases))
        cases.append(CaseOutcome(case, comparison, at_tip=is_base_at_tip))
    return GateOutcome(report, tuple(cases), accepted)


def _is_quarantined(case: GateCase) -> bool:
    return bool(case.base.quarantine or case.head.quarantine)


def _rank_metric(outcome: MetricOutcome) -> tuple[int, float, str, str]:
    """Return the sort key of a metric: the most urgent come first, and of equally urgent ones, the largest changes.

    The ranks are: 0 for metrics that fail the gate, 1 for other regressions, 2 for improvements and undecided metrics,
    3 for those that are the same, and 4 for those that do not count.
    """
    verdict = outcome.metric_verdict
    if not verdict.counts:
        rank = 4
    elif verdict.verdict is Verdict.SAME:
        rank = 3
    elif verdict.verdict is not Verdict.CHANGED:
        rank = 2
    elif verdict.over_budget or outcome.gradual_change is not None:
        rank = 0
    else:
        rank = 1 if verdict.direction == "regression" else 2
    size = 0.0
    if rank < 3 and verdict.change and verdict.base.level is not None:
        size = compute_change_rank(verdict.change, verdict.base.level)
    return rank, -size, outcome.case, verdict.metric
