"""Compares two revisions: executes them interleaved in one session on one host until the service decides."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.comparison import Comparison, ComparisonRequest
from runner.contract.explanation import Explanation
from runner.contract.judging import Judging
from runner.contract.level import Number, compute_median, find_majority
from runner.contract.metrics import Kind, get_metric
from runner.contract.other_builds import OtherBuild, OtherPlace
from runner.contract.proof_power import MAX_PAIRS
from runner.contract.report import Environment, Report, Sample
from runner.dependencies.lookup_answers import ProgramTree
from runner.dependencies.tree_difference import find_tree_differences
from runner.measuring.environment_change import InvalidSession, require_unchanged_environment
from runner.measuring.interleaved_servers import execute_servers_in_turns
from runner.measuring.side_failure import SideFailure, name_failed_side
from runner.measuring.trial import Trial
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.scheduling import raise_priority
from runner.subject.build import BuildFailure
from runner.subject.build_record import DamagedBuild
from runner.subject.session_tree_restorer import restore_tree
from runner.workload import Workload

Decide = Callable[[ComparisonRequest], Comparison]
BuildFurtherTrials = Callable[[int], tuple[Trial, Trial] | None]
BuildBaseInHeadFolder = Callable[[], AbstractContextManager[Trial]]
FIRST_PAIRS_OF_COUNTS = 2
"""Pairs before the service is first asked, if only exact counts are judged: two pairs show whether they repeat."""
FIRST_PAIRS_OF_NOISY_METRICS = 16
"""Pairs before the service is first asked, if noisy metrics are judged: fewer pairs show nothing about them."""
FIRST_PAIRS_OF_PROOF = 18
"""Pairs of a proof before the service is first asked: fewer pairs prove nothing. The sign test of one of four counts,
which share the error probability of a case, can decide from 18 pairs on (:mod:`service.rules.comparison.sign_test`)."""
SAMPLES_PER_FURTHER_BUILD = 5
"""Samples from which the level of a further build is computed."""
SAMPLES_IN_OTHER_PLACE = 20
"""Samples of base in the place of head. If all are equal, they exclude a change as firmly as this many equal pairs."""


class Pairs(Struct, frozen=True):
    """The numbers of pairs of a comparison.

    Attributes
    ----------
    min_pairs
        The number of pairs before the service is asked for the first time.
    max_pairs
        The number of pairs after which the comparison ends, even if the service has not decided.
    """

    min_pairs: int
    max_pairs: int

    @classmethod
    def from_workload(cls, workload: Workload, pair_count: int | None = None) -> Self:
        """Return the limits that a workload asks for, or those for a fixed number of pairs."""
        if pair_count is not None:
            return cls(pair_count, pair_count)
        has_noisy_metrics = bool(workload.metrics.judging.requested)
        first_pairs = FIRST_PAIRS_OF_NOISY_METRICS if has_noisy_metrics else FIRST_PAIRS_OF_COUNTS
        min_pairs = max(workload.workload.samples, first_pairs)
        return cls(min_pairs, max(min_pairs, workload.workload.max_samples or MAX_PAIRS))

    @classmethod
    def for_proof(cls, workload: Workload) -> Self:
        """Return the limits for a proof that one metric changed."""
        return cls(FIRST_PAIRS_OF_PROOF, max(MAX_PAIRS, workload.workload.max_samples or 0))


class ComparisonResult(Struct, frozen=True):
    """The result of a comparison; without a verdict if base or head could not be measured."""

    base: Report
    head: Report
    comparison: Comparison | None
    base_stored: bool = False
    """Whether base is a stored run."""
    max_pairs: int | None = None
    """The largest number of pairs that the comparison was allowed; None if a side could not be measured."""
    explanation: Explanation | None = None
    """Why head got worse; None if it did not, or if no explanation was requested."""

    def build_request(self, judging: Judging, n_cases: int = 1) -> ComparisonRequest:
        """Return the request that led to the service's decision."""
        return _make_request(self.base, self.head, judging, n_cases=n_cases, max_pairs=self.max_pairs)


def compare_interleaved_trials(
    base: Trial,
    head: Trial,
    decide: Decide,
    *,
    pairs: Pairs,
    n_cases: int = 1,
    judging: Judging | None = None,
    build_further_trials: BuildFurtherTrials = lambda _: None,
    build_base_in_head_folder: BuildBaseInHeadFolder | None = None,
    deadline: float | None = None,
    progress: Callable[[], None] = lambda: None,
) -> ComparisonResult:
    """Execute base and head interleaved (A B B A), and let the service decide after enough pairs.

    In this order, a steady drift of the host affects both sides equally. Each side's first execution warms the page
    cache and shows which files are mapped, and is discarded.

    Parameters
    ----------
    decide
        Returns the decision of the service.
    n_cases
        How many cases are judged together: they share the error probability of the decision.
    judging
        Which metrics are judged, and how; by default as the workload says.
    build_further_trials
        Builds base and head once more and returns their trials; None if no more builds are possible. The argument is
        the number of the further build, from 1 on. Called if base and head differ by so little that the difference may
        be one between builds.
    build_base_in_head_folder
        Builds base in the folder of head and yields its trial there; the context's end restores the folder. Called if
        base and head differ although their file lookups had the same answers.
    deadline
        The time of the monotonic clock, in seconds, after which no more pairs are begun; None for no limit.
    progress
        Called after each execution.

    Raises
    ------
    FaultwatchError
        If measuring is impossible on this host. If the program fails, the report contains the failure.
    """
    prepared_trial = base  # The trial that is reported if the preparation fails.
    with raise_priority():
        try:
            for tree in dict.fromkeys((base.tree, head.tree)):
                restore_tree(tree)
            head.share_restorer(base)
            for prepared_trial in (base, head):
                prepared_trial.warm_up()
                progress()
        except (ExecutionFailure, InvalidSession) as error:
            return make_undecided_result(base, head, {prepared_trial: _report_failure(prepared_trial, error)})
        judging = judging or base.workload.metrics.judging
        result = sample_interleaved_trials(
            base, head, decide, pairs=pairs, n_cases=n_cases, judging=judging, deadline=deadline, progress=progress
        )
        if result.comparison and result.comparison.needs_cache_renewal:
            # Files whose page-cache state could not be prepared may make the difference: renew it, and measure again.
            try:
                for prepared_trial in (base, head):
                    prepared_trial.renew_page_cache()
                    progress()
            except (ExecutionFailure, InvalidSession) as error:
                return make_undecided_result(base, head, {prepared_trial: _report_failure(prepared_trial, error)})
            result = sample_interleaved_trials(
                base, head, decide, pairs=pairs, n_cases=n_cases, judging=judging, deadline=deadline, progress=progress
            )
    if build_base_in_head_folder:
        program_trees = base.answered_lookups.program_tree, head.answered_lookups.program_tree
        result = _compare_trials_in_other_place(
            result,
            build_base_in_head_folder,
            program_trees,
            decide,
            n_cases=n_cases,
            judging=judging,
            progress=progress,
        )
    return compare_other_builds(
        result, build_further_trials, decide, n_cases=n_cases, judging=judging, progress=progress
    )


def sample_interleaved_trials(
    base: Trial,
    head: Trial,
    decide: Decide,
    *,
    pairs: Pairs,
    n_cases: int,
    judging: Judging,
    deadline: float | None = None,
    progress: Callable[[], None] = lambda: None,
) -> ComparisonResult:
    """Take pairs of samples until the service needs no more pairs, or no more are allowed.

    If a program fails or the host invalidates the session, the result has no verdict. If base fails, but runs without
    head, head is at fault.

    ``decide`` returns the service's decision on the pairs so far, which says how many more it needs. The other
    parameters are those of :func:`compare_interleaved_trials`.
    """
    session = uuid.uuid4()
    samples: dict[Trial, list[Sample]] = {base: [], head: []}
    executed_trial, n_target_pairs = base, pairs.min_pairs
    try:
        while True:
            for number in range(len(samples[base]), n_target_pairs):
                if number >= pairs.min_pairs and _is_over(deadline):
                    break
                # Alternate the order, so that a steady drift of the host affects both sides equally.
                order = (base, head) if number % 2 == 0 else (head, base)
                for position, (executed_trial, sample) in enumerate(_execute_pair(order)):
                    samples[executed_trial].append(sample.model_copy(update={"place": 2 * number + position}))
                    progress()
            base_report, head_report = (trial.build_measured_report(samples[trial], session) for trial in (base, head))
            request = _make_request(base_report, head_report, judging, n_cases=n_cases, max_pairs=pairs.max_pairs)
            decision = decide(request)
            if decision.remaining_pairs == 0 or n_target_pairs >= pairs.max_pairs or _is_over(deadline):
                return ComparisonResult(request.base, request.head, decision, max_pairs=pairs.max_pairs)
            n_target_pairs = min(pairs.max_pairs, n_target_pairs + decision.remaining_pairs)
    except SideFailure as side_failure:
        failed_trial, failure = side_failure.trial, side_failure.failure
        if failed_trial is base and isinstance(failure, ExecutionFailure) and _can_run_alone(base):
            # Base runs when head does not: head makes it fail, for example because it fills the disk.
            skipped_report = head.build_skipped_report(
                f"base fails only when it is measured together with head: {failure.message}",
                temporary=True,
            )
            return make_undecided_result(base, head, {head: skipped_report})
        return make_undecided_result(base, head, {failed_trial: _report_failure(failed_trial, failure)})
    except InvalidSession as error:
        # The environment has changed, which is reported for the side that was executed last.
        return make_undecided_result(base, head, {executed_trial: _report_failure(executed_trial, error)})


def _execute_pair(trials: tuple[Trial, Trial]) -> Iterator[tuple[Trial, Sample]]:
    """Execute two trials, and yield their samples: one after the other, or as servers with alternating windows.

    Raises
    ------
    SideFailure
        One of the programs fails, or the host invalidates its execution.
    """
    first, second = trials
    if first.can_run_at_once(second):
        yield from execute_servers_in_turns(trials)
        return
    for trial in trials:
        with name_failed_side(trial):
            sample = trial.execute()
        yield trial, sample


def _is_over(deadline: float | None) -> bool:
    """Return whether the deadline of a comparison has passed."""
    return deadline is not None and time.monotonic() >= deadline


def _can_run_alone(trial: Trial) -> bool:
    """Return whether a program runs without the other side, after its tree was restored to its built state."""
    try:
        restore_tree(trial.tree)
        trial.warm_up()
    except (ExecutionFailure, InvalidSession):
        return False
    return True


def _compare_trials_in_other_place(
    result: ComparisonResult,
    build_base_in_head_folder: BuildBaseInHeadFolder,
    program_trees: tuple[ProgramTree, ProgramTree],
    decide: Decide,
    *,
    n_cases: int,
    judging: Judging,
    progress: Callable[[], None],
) -> ComparisonResult:
    """If the service asks for it, measure base in the place of head, and let the service decide again.

    If this measurement fails, return the result unchanged.

    Parameters
    ----------
    program_trees
        The trees of base and of head, whose differences are listed in the result.
    """
    if not result.comparison or not result.comparison.needs_other_place:
        return result
    differences = find_tree_differences(*program_trees)
    samples = []
    try:
        with build_base_in_head_folder() as trial, raise_priority():
            require_unchanged_environment(result.base.environment, trial.environment)
            trial.warm_up()
            progress()
            for _ in range(SAMPLES_IN_OTHER_PLACE):
                samples.append(trial.execute())
                progress()
            report = trial.build_measured_report(samples)
    except (BuildFailure, ExecutionFailure, InvalidSession):
        return result
    values_by_count = {name: report.list_values(name) for name in report.metrics if get_metric(name).kind is Kind.COUNT}
    counted_values = {name: values for name, values in values_by_count.items() if values}
    other_place = OtherPlace(counted=counted_values, differences=tuple(differences))
    base = result.base.model_copy(update={"other_place": other_place})
    request = _make_request(base, result.head, judging, n_cases=n_cases, max_pairs=result.max_pairs)
    return replace(result, base=base, comparison=decide(request))


def compare_other_builds(
    result: ComparisonResult,
    build_further_trials: BuildFurtherTrials,
    decide: Decide,
    *,
    n_cases: int,
    judging: Judging,
    progress: Callable[[], None] = lambda: None,
) -> ComparisonResult:
    """Measure further builds of base and head as long as the service asks for them.

    The parameters are those of :func:`compare_interleaved_trials`. If no further build is possible, or one cannot be
    measured, the last decision stands.
    """
    number = 0
    while result.comparison and result.comparison.needs_other_builds:
        number += 1
        trials = build_further_trials(number)
        if trials is None:
            break
        try:
            with raise_priority():
                builds = [
                    _measure_other_build(trial, report.environment, progress)
                    for trial, report in zip(trials, (result.base, result.head), strict=True)
                ]
        except (ExecutionFailure, InvalidSession, DamagedBuild):
            break
        base, head = (
            report.model_copy(update={"other_builds": (*report.other_builds, other_build)})
            for report, other_build in zip((result.base, result.head), builds, strict=True)
        )
        request = _make_request(base, head, judging, n_cases=n_cases, max_pairs=result.max_pairs)
        result = replace(result, base=base, head=head, comparison=decide(request))
    return result


def _measure_other_build(trial: Trial, environment: Environment, progress: Callable[[], None]) -> OtherBuild:
    """Measure a further build of a revision, and return the levels of its counts.

    Raises
    ------
    InvalidSession
        The environment is another one than that of the first build, ``environment``: it could move the counts too.
    ExecutionFailure
        The program fails.
    DamagedBuild
        The build cannot be used.
    """
    require_unchanged_environment(environment, trial.environment)
    restore_tree(trial.tree)
    trial.warm_up()
    progress()
    samples = []
    for _ in range(SAMPLES_PER_FURTHER_BUILD):
        samples.append(trial.execute())
        progress()
    report = trial.build_measured_report(samples)
    own_bytes = report.files.own_bytes if report.files else ""
    values_by_count = {name: report.list_values(name) for name in report.metrics if get_metric(name).kind is Kind.COUNT}
    levels_by_count = {name: _compute_level(values) for name, values in values_by_count.items() if values}
    return OtherBuild(own_bytes=own_bytes, counted=levels_by_count)


def _compute_level(values: Sequence[Number]) -> Number:
    """Return the value on which more than half of the samples agree; if there is none, their median."""
    majority, median = find_majority(values), compute_median(values)
    assert median is not None
    return majority[0] if majority else median


def _make_request(
    base: Report, head: Report, judging: Judging, *, n_cases: int, max_pairs: int | None
) -> ComparisonRequest:
    """Return the request to the service for a decision on the samples so far."""
    return ComparisonRequest(
        base=base,
        head=head,
        judge=judging.judge,
        precision=judging.precision,
        budgets=judging.budgets,
        cases=n_cases,
        max_pairs=max_pairs,
    )


def make_undecided_result(base: Trial, head: Trial, reports: Mapping[Trial, Report]) -> ComparisonResult:
    """Return the result of a comparison in which a side cannot be measured.

    If only base cannot be measured, head is executed alone, to find out whether the change repairs the program. If head
    cannot be measured, base is skipped.

    Parameters
    ----------
    reports
        The reports of the sides that cannot be measured.
    """
    if head in reports:
        base_report = reports.get(base) or base.build_skipped_report(
            "the other side of the comparison could not be measured"
        )
        return ComparisonResult(base_report, reports[head], comparison=None)
    return ComparisonResult(reports[base], _measure_head_alone(head), comparison=None)


def _measure_head_alone(head: Trial) -> Report:
    """Return the report of one execution of head without base."""
    try:
        head.warm_up()
        return head.build_measured_report([head.execute()])
    except (ExecutionFailure, InvalidSession) as error:
        return _report_failure(head, error)


def _report_failure(trial: Trial, error: ExecutionFailure | InvalidSession) -> Report:
    """Return the report of a trial whose program failed, or whose session was invalidated by the host."""
    if isinstance(error, ExecutionFailure):
        return trial.build_failure_report(error.stage, error.message, error.log, temporary=error.temporary)
    return trial.build_skipped_report(str(error), temporary=True)
