"""Explains why a case got worse: profiles both sides, requests a diagnosis, and measures the remedies in it."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from msgspec import Struct

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.comparison import Comparison, ComparisonRequest, MetricVerdict
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest, Finding, Remedy
from runner.contract.explanation import MIN_WON_BACK, Explanation, MeasuredRemedy
from runner.contract.metric_verdict_text import is_apart
from runner.contract.profile import Profile
from runner.contract.report import Sample
from runner.errors import FaultwatchError
from runner.measuring.cold_files import EvictionError
from runner.measuring.comparison import ComparisonResult, Pairs, sample_interleaved_trials
from runner.measuring.trial import Trial
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.scheduling import raise_priority
from runner.profile.case_profiler import Progress, open_profiling
from runner.subject.source_change import SourceChange
from runner.system.valid_text import make_valid_text
from runner.workload.remedy import apply_remedy

_PAIRS = Pairs(min_pairs=2, max_pairs=6)
"""Pairs of head with and without a remedy. Two pairs decide if both sides repeat their counts: head has already
repeated its count in the comparison of the commits. Otherwise the service requests more, up to six: if a remedy has no
effect, the probability that all six counts with it are lower than all six counts without it is 1 in 924."""
_MAX_REMEDIES = 3
"""The largest number of remedies that are measured."""
_SUFFICIENT_WON_BACK = 0.9
"""Once a remedy has won back this share of the regression, no further remedy is measured."""


class Judge(Protocol):
    """The service, which diagnoses profiles and decides comparisons."""

    def diagnose(self, request: DiagnosisRequest) -> Diagnosis:
        """Return the diagnosis of a profile, compared with the earlier profile."""

    def compare(self, request: ComparisonRequest) -> Comparison:
        """Return the decision on a comparison."""


class RegressedCase(Struct, frozen=True):
    """A case that got worse: the trials of both sides, and the verdict on the metric that is to be explained.

    Attributes
    ----------
    base_sample, head_sample
        The sample that each trial has just taken; None if that side is a stored run.
    change
        How the sources of head differ from those of base.
    """

    base: Trial
    head: Trial
    verdict: MetricVerdict
    base_sample: Sample | None = None
    head_sample: Sample | None = None
    change: SourceChange = SourceChange()


def choose_verdict(result: ComparisonResult) -> MetricVerdict | None:
    """Return the verdict on the metric with the largest relative regression; None if none is certainly over its budget.

    Metrics of faults are preferred, because a profile can explain them.
    """
    verdicts = result.comparison.metrics if result.comparison else ()
    worse_verdicts = [
        verdict
        for verdict in verdicts
        if verdict.over_budget and verdict.base.level is not None and verdict.head.level is not None
    ]
    return max(
        worse_verdicts, key=lambda verdict: ("faults" in verdict.metric, compute_relative_change(verdict)), default=None
    )


def compute_relative_change(verdict: MetricVerdict) -> float:
    """Return the size of a metric's change relative to base; infinity if the level of base is 0."""
    base, head = verdict.base.level or 0, verdict.head.level or 0
    return abs(head - base) / base if base else float("inf")


def explain_regression(
    regressed_case: RegressedCase, judge: Judge, *, seconds: float, progress: Progress = lambda _: None
) -> Explanation:
    """Explain why a case got worse. If this host cannot profile it, a remark replaces the explanation.

    Parameters
    ----------
    seconds
        The time after which no further remedy is measured.
    """
    started_at = time.monotonic()
    deadline = started_at + seconds
    try:
        base_profile, head_profile = _profile_sides(regressed_case, progress)
        head_profile = regressed_case.change.add_to_profile(head_profile, base_profile)
        diagnosis = judge.diagnose(DiagnosisRequest.from_profiles(base_profile, head_profile))
    except (FaultwatchError, ExecutionFailure, EvictionError) as error:
        return Explanation(
            seconds=time.monotonic() - started_at,
            remark=make_valid_text(f"the regression could not be explained: {error}")[:MAX_LINE_CHARACTERS],
        )
    best_remedy, remark = _find_best_remedy(regressed_case, diagnosis.findings, judge, deadline, progress)
    return Explanation(
        difference=diagnosis.difference,
        finding=diagnosis.findings[0] if diagnosis.findings else None,
        remedy=best_remedy,
        seconds=time.monotonic() - started_at,
        remark=remark,
    )


def _profile_sides(regressed_case: RegressedCase, progress: Progress) -> tuple[Profile, Profile]:
    """Profile base and head; analyse the recordings only after both have been executed."""
    with open_profiling() as profiling:
        pending_profiles = [
            profiling.record_case(trial, counted_sample=sample, progress=_name_side(progress, name))
            for name, trial, sample in (
                ("base", regressed_case.base, regressed_case.base_sample),
                ("head", regressed_case.head, regressed_case.head_sample),
            )
        ]
        base_profile, head_profile = [assemble() for assemble in pending_profiles]
    return base_profile, head_profile


def _find_best_remedy(
    regressed_case: RegressedCase, findings: tuple[Finding, ...], judge: Judge, deadline: float, progress: Progress
) -> tuple[MeasuredRemedy | None, str]:
    """Measure the remedies of findings in order; return the best one, and a remark if there was no time for all."""
    best_remedy: MeasuredRemedy | None = None
    for remedy in _list_applicable_remedies(findings):
        if time.monotonic() >= deadline:
            return best_remedy, "there was not enough time to measure all remedies"
        progress(f"measuring a remedy: {remedy.text}")
        measured_remedy = _measure_remedy(regressed_case, remedy, judge.compare, deadline)
        if measured_remedy is not None and (best_remedy is None or measured_remedy.won_back > best_remedy.won_back):
            best_remedy = measured_remedy
        if best_remedy is not None and best_remedy.won_back >= _SUFFICIENT_WON_BACK:
            break
    return best_remedy, ""


def _name_side(progress: Progress, name: str) -> Progress:
    return lambda text: progress(f"explaining, {name}: {text}")


def _list_applicable_remedies(findings: tuple[Finding, ...]) -> Iterator[Remedy]:
    """Yield the first few remedies that settings can apply, without duplicates."""
    yielded_settings: list[dict[str, str]] = []
    for finding in findings:
        for remedy in finding.remedies:
            if remedy.settings and remedy.settings not in yielded_settings and len(yielded_settings) < _MAX_REMEDIES:
                yielded_settings.append(remedy.settings)
                yield remedy


def _may_remedy_help(remedied_head: Trial, verdict: MetricVerdict) -> bool:
    """Execute head with a remedy once; return whether the remedy may win back enough, or this cannot be told.

    For most findings, one remedy helps and the others do nothing. Measuring pairs of each would take too long.
    """
    base, head = verdict.base.level, verdict.head.level
    if remedied_head.workload.server or base is None or head is None or base == head:
        return True
    values = remedied_head.build_measured_report([remedied_head.execute()]).list_values(verdict.metric)
    if not values:
        return True
    won_back_share = (head - values[0]) / (head - base)
    return won_back_share >= MIN_WON_BACK / 2  # Half is enough here, because a single execution can be an outlier.


def _decide_on_metric(
    decide: Callable[[ComparisonRequest], Comparison], metric: str, request: ComparisonRequest
) -> Comparison:
    """Return a decision that requests no more pairs once the metric is exact on both sides, and differs."""
    comparison = decide(request)
    verdict = comparison.find_verdict(metric)
    if (
        verdict is not None
        and is_apart(verdict)
        and all(side.low == side.high for side in (verdict.base, verdict.head))
    ):
        return comparison.model_copy(update={"remaining_pairs": 0})
    return comparison


def _measure_remedy(
    regressed_case: RegressedCase, remedy: Remedy, decide: Callable[[ComparisonRequest], Comparison], deadline: float
) -> MeasuredRemedy | None:
    """Measure head with and without a remedy; None if it cannot be applied or measured, or wins too little back.

    Parameters
    ----------
    decide
        Returns the decision of the service on a comparison.
    deadline
        The monotonic time after which no further pair begins.
    """
    head, verdict = regressed_case.head, regressed_case.verdict
    try:
        remedied_head = head.replace_workload(apply_remedy(head.workload, remedy.settings))
        if remedied_head.obstacle:
            return None
        with raise_priority():
            # Only the remedied side has to warm up: head has just been measured.
            remedied_head.share_restorer(head)
            remedied_head.warm_up()
            if not _may_remedy_help(remedied_head, verdict):
                return None
            judging = head.workload.metrics.judging
            result = sample_interleaved_trials(
                head,
                remedied_head,
                partial(_decide_on_metric, decide, verdict.metric),
                pairs=_PAIRS,
                n_cases=1,
                judging=judging,
                deadline=deadline,
            )
    except (FaultwatchError, ExecutionFailure, EvictionError):
        return None
    # In this verdict, base is head without the remedy, and head is head with it.
    remedy_verdict = result.comparison.find_verdict(verdict.metric) if result.comparison else None
    if remedy_verdict is None or not is_apart(remedy_verdict):
        return None
    base_level, head_level, remedied_level = verdict.base.level, remedy_verdict.base.level, remedy_verdict.head.level
    if base_level is None or head_level is None or remedied_level is None:
        return None
    measured_remedy = MeasuredRemedy(
        text=remedy.text,
        settings=remedy.settings,
        metric=verdict.metric,
        base=base_level,
        unchanged=head_level,
        remedied=remedied_level,
        pairs=len(result.head.samples),
    )
    return measured_remedy if measured_remedy.won_back >= MIN_WON_BACK else None
