"""``faultwatch compare``: measure two revisions interleaved in one session, and show the verdict on each metric."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct, field
from msgspec.structs import replace

from runner.cli.activity import Activity, show_activity
from runner.cli.arguments import add_workload_and_range, parse_range
from runner.cli.measuring_setup import create_host_turn, find_target, prepare_workbench
from runner.cli.next_command import TypedTarget
from runner.cli.options import (
    again_option,
    apply_options,
    choice_options,
    env_option,
    explain_option,
    make_sandbox_option,
    repo_option,
    result_options,
    samples_option,
)
from runner.cli.result_output import output_result
from runner.cli.terminal import print_message
from runner.contract.comparison import Comparison, ComparisonRequest
from runner.contract.explanation import MIN_SECONDS
from runner.contract.number_text import format_count
from runner.contract.report import Build, Case, Outcome, Revision, Stage
from runner.errors import FaultwatchError
from runner.measuring.comparison import (
    SAMPLES_PER_FURTHER_BUILD,
    ComparisonResult,
    Pairs,
    compare_interleaved_trials,
    make_undecided_result,
)
from runner.measuring.preflight import Workbench, is_sandbox_needed
from runner.measuring.stored_base import MIN_SAMPLES, build_base_query, compare_with_stored_base
from runner.measuring.trial import Subject, Trial
from runner.reporting.client import Service
from runner.settings import load_settings
from runner.subject.check_clone_before_turn import find_complete_revision
from runner.subject.repository import Repository
from runner.subject.source_change import SourceChange, read_source_change
from runner.workload import Workload
from runner.workload.case_choice import choose_cases
from runner.workload.gate_cases import CasePair

if TYPE_CHECKING:
    from runner.subject.build import BuildFailure

_WARM_UP_EXECUTIONS = 1
"""The number of executions of each side before the samples, which warm the caches."""


@click.command(name="compare")
@apply_options(
    add_workload_and_range(required=True),
    repo_option,
    choice_options,
    env_option,
    samples_option,
    make_sandbox_option(),
    again_option,
    explain_option(default=False),
    result_options,
)
def command(
    workload_name: str | None,
    commit_range: str,
    repo: str | None,
    parameter_choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    sandboxed: bool | None,
    retry_failed: bool,
    explain: bool,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Measure both ends of a RANGE, BASE..HEAD, interleaved until all changes are decided or max_samples is reached.

    With --samples, measure that many pairs. Exit code 1 if a metric got worse by more than its budget, or if a case
    failed.
    """
    from runner.reporting.embedded_service import connect_to_service

    settings = load_settings()
    ends = parse_range(commit_range)
    workload, repository = find_target(settings, workload_name, repo)
    cases = choose_cases(workload, parameter_choices, case_names)
    base, head = (find_complete_revision(repository, workload, end).commit for end in ends)
    is_sandboxed = is_sandbox_needed(sandboxed, repository, settings)
    with connect_to_service(settings) as service, create_host_turn(settings) as turn:
        service.check_availability()
        workbench = prepare_workbench(settings, variables, turn=turn, sandboxed=is_sandboxed, retry_failed=retry_failed)
        retrying_service = service.connect_with_retries(print_message, turn.pause)
        case_pairs = [CasePair(workload, workload, case.parameters) for case in cases]
        results = compare_cases(
            retrying_service, repository, workload, workbench, (base, head), case_pairs, samples, explain=explain
        )
        _store_comparisons(retrying_service, results, workload)
    output_result(
        [build_document(result) for result in results],
        as_json=as_json,
        output_file=output_file,
        show=lambda: show_results(results, TypedTarget(workload.name, workload_name, repo, variables)),
    )
    if any(_is_regressed(result) for result in results):
        raise click.exceptions.Exit(1)


def _store_comparisons(service: Service, results: Sequence[ComparisonResult], workload: Workload) -> None:
    """Store the verdicts on these commits in the service, so that they settle the drifts of their series.

    Only interleaved pairs are proofs. After an error, no more results are sent; they are shown nevertheless.
    """
    for number, result in enumerate(results, 1):
        if result.comparison is not None and not result.base_stored:
            try:
                service.prove(result.build_request(workload.metrics.judging, len(results)))
            except FaultwatchError as error:
                later_text = ", nor those of later cases" if number < len(results) else ""
                print_message(
                    f"the comparison of {result.head.case.name} could not be stored{later_text}: {error.what}"
                )
                return


def show_results(results: Sequence[ComparisonResult], target: TypedTarget | None) -> None:
    """Print the results of all cases as tables and, for each regressed case, the command that explains it."""
    from runner.cli.comparison_tables import show_comparison

    for result in results:
        show_comparison(result, target)


def compare_cases(
    service: Service,
    repository: Repository,
    workload: Workload,
    workbench: Workbench,
    ends: tuple[str, str],
    case_pairs: Sequence[CasePair],
    samples: int | None = None,
    *,
    may_use_stored_base: bool = False,
    explain: bool = False,
) -> list[ComparisonResult]:
    """Build base and head, and measure them interleaved, case by case; then explain what got worse.

    Parameters
    ----------
    workload
        The workload that sets the number of pairs.
    ends
        The revisions of base and head.
    case_pairs
        The cases, each with the workloads by which base and head are built and run.
    samples
        The number of pairs of each case; None to measure until the service has decided.
    may_use_stored_base
        Whether to skip measuring base if its stored run shows that head is the same.
    explain
        Whether to profile both sides of the regressed cases, and to measure remedies. This takes at most about as long
        as the comparison.
    """
    results = []
    # The trials of both sides of each case to explain, by the index of its result.
    trials_by_index: dict[int, tuple[Trial, Trial]] = {}
    started_at = time.monotonic()
    with show_activity("comparing") as activity:
        base, head = (_RevisionSides(repository, workbench, repository.get_revision(name), activity) for name in ends)
        session = _Session(service, Pairs.from_workload(workload, samples), len(case_pairs), activity)
        for number, case_pair in enumerate(case_pairs, 1):
            case = case_pair.head_case
            session.begin(case, len(case_pairs) - number)
            if case_pair.base is None:
                results.append(_report_added_case(base.find_side(case_pair.head), head.find_side(case_pair.head), case))
                continue
            sides = base.find_side(case_pair.base), head.find_side(case_pair.head)
            result = None
            if may_use_stored_base and case_pair.is_same_recipe:
                result = _try_stored_base(*sides, case, session)
            if result is None:
                result = _compare_case(sides, (case_pair.base_case, case), session)
            if explain and _is_regressed(result) and result.comparison is not None:
                trials_by_index[len(results)] = sides[0].get_trial(case_pair.base_case), sides[1].get_trial(case)
            results.append(result)
        max_seconds = max(MIN_SECONDS, time.monotonic() - started_at)
        change = read_source_change(repository, *ends) if trials_by_index else SourceChange()
        return _explain_regressions(results, trials_by_index, change, service, max_seconds, activity)


def _explain_regressions(
    results: Sequence[ComparisonResult],
    trials_by_index: Mapping[int, tuple[Trial, Trial]],
    change: SourceChange,
    service: Service,
    max_seconds: float,
    activity: Activity,
) -> list[ComparisonResult]:
    """Explain the regressed cases within a time limit, the worst first; return all results.

    Parameters
    ----------
    trials_by_index
        The trials of base and head of each case to explain, by the index of its result.
    change
        What head changed in the sources.
    """
    from runner.campaigns.explanation import RegressedCase, choose_verdict, compute_relative_change, explain_regression

    explained_results = list(results)
    deadline = time.monotonic() + max_seconds
    verdicts_by_index = {}
    for index in trials_by_index:
        verdict = choose_verdict(results[index])
        if verdict is not None:
            verdicts_by_index[index] = verdict
    for index in sorted(verdicts_by_index, key=lambda index: -compute_relative_change(verdicts_by_index[index])):
        remaining_seconds = deadline - time.monotonic()
        if remaining_seconds <= 0:
            break
        result = results[index]
        activity(f"explaining {result.head.case.name}")
        regressed_case = RegressedCase(
            *trials_by_index[index],
            verdicts_by_index[index],
            base_sample=None if result.base_stored else result.base.samples[-1],
            head_sample=result.head.samples[-1],
            change=change,
        )
        explanation = explain_regression(regressed_case, service, seconds=remaining_seconds, progress=activity)
        explained_results[index] = replace(result, explanation=explanation)
    return explained_results


class _BuildResult(Struct, frozen=True):
    """A built revision, or why it does not build."""

    tree: Path
    build: Build
    failure: "BuildFailure | None" = None


class _Side(Struct, frozen=True, dict=True):
    """Base or head of a comparison: a revision, which is built when it is first needed."""

    repository: Repository
    workload: Workload
    workbench: Workbench
    revision: Revision
    activity: Activity

    @cached_property
    def finished_build(self) -> _BuildResult:
        """The built tree of the revision, or why it does not build."""
        from runner.subject.build import BuildFailure

        self.activity(f"building {self.revision.commit[:10]}")
        try:
            return _BuildResult(*self.workbench.builder.build(self.repository, self.revision.commit, self.workload))
        except BuildFailure as failure:
            return _BuildResult(Path(), failure.build, failure)  # there is no tree

    @cached_property
    def _trials(self) -> dict[str, Trial]:
        """The trials that :meth:`get_trial` has made, by the name of their case."""
        return {}

    def get_trial(self, case: Case) -> Trial:
        """Return the trial of a case of the built revision: always the same object, because it remembers its files."""
        if case.name not in self._trials:
            self._trials[case.name] = self._make_trial(case, self.finished_build.tree, self.finished_build.build)
        return self._trials[case.name]

    def get_unbuilt_trial(self, case: Case) -> Trial:
        """Return the trial of a case without building the revision; it cannot be executed."""
        return self._make_trial(case, Path(), Build())

    def build_further_trial(self, case: Case, number: int) -> Trial:
        """Build this revision once more, as further build ``number``; return its trial.

        Raises
        ------
        BuildFailure
            The build fails this time.
        """
        self.activity(f"building {self.revision.commit[:10]} again")
        build = self.workbench.builder.build
        return self._make_trial(case, *build(self.repository, self.revision.commit, self.workload, number=number))

    @contextmanager
    def build_trial_in_folder(self, case: Case, tree: Path) -> Iterator[Trial]:
        """Build this revision in the folder of another one; yield its trial.

        Raises
        ------
        BuildFailure
            The build fails this time.
        """
        self.activity(f"building {self.revision.commit[:10]} in the folder of the other revision")
        builder = self.workbench.builder
        with builder.build_revision_in_other_folder(
            self.repository, self.revision.commit, self.workload, tree
        ) as rebuilt_tree:
            yield self._make_trial(case, rebuilt_tree, self.finished_build.build)

    def _make_trial(self, case: Case, tree: Path, build: Build) -> Trial:
        subject = Subject(self.repository.name, self.revision, case, build)
        return Trial(self.workload, subject, self.workbench.bench, tree)


class _RevisionSides(Struct, frozen=True):
    """The sides of a revision: one for each workload by which it is built and run, usually only one."""

    repository: Repository
    workbench: Workbench
    revision: Revision
    activity: Activity
    sides_by_workload: dict[int, _Side] = field(default_factory=dict)

    def find_side(self, workload: Workload) -> _Side:
        """Return the side that is built and run by a workload: the same object each time, so that it is built once."""
        side = _Side(self.repository, workload, self.workbench, self.revision, self.activity)
        # The key is the id, because workloads cannot be hashed, and the pairs of cases share the same objects.
        return self.sides_by_workload.setdefault(id(workload), side)


class _Session(Struct):
    """The state that all comparisons of a command share. It requests the decisions, and shows the progress."""

    service: Service
    pairs: Pairs
    n_cases: int
    activity: Activity
    title: str = ""
    later_executions: int = 0
    """The smallest number of executions that the following cases need."""

    def begin(self, case: Case, remaining_cases: int) -> None:
        """Begin a case; ``remaining_cases`` follow."""
        self.title = f"comparing {case.name}"
        self.later_executions = remaining_cases * 2 * (_WARM_UP_EXECUTIONS + self.pairs.min_pairs)

    def start_executing(self, n_executions: int) -> None:
        """Set the number of executions until the first decision about the case."""
        self.activity(self.title)
        self.activity.set_remaining_steps(n_executions + self.later_executions)

    def decide(self, request: ComparisonRequest) -> Comparison:
        """Return the decision of the service, and show how many executions it still needs."""
        decision = self.service.compare(request)
        remaining_pairs = min(decision.remaining_pairs, self.pairs.max_pairs - len(request.head.samples))
        if remaining_pairs > 0:
            # Say so, because the remaining time would otherwise seem to grow for no reason.
            noun = "sample" if request.base_stored else "pair"
            self.activity(f"{self.title}, still undecided after {format_count(len(request.head.samples), noun)}")
        executions_per_pair = 1 if request.base_stored else 2
        self.activity.set_remaining_steps(max(0, remaining_pairs) * executions_per_pair + self.later_executions)
        return decision


def _try_stored_base(base: _Side, head: _Side, case: Case, session: _Session) -> ComparisonResult | None:
    """Compare head with the stored run of base; return None unless this shows that they are the same.

    It cannot show this if head cannot be measured, if no run of base is stored, or if the workload judges noisy
    metrics, which must be measured interleaved.
    """
    if head.workload.metrics.judging.requested or head.finished_build.failure:
        return None
    trial = head.get_trial(case)
    if trial.obstacle:
        return None
    stored_base = session.service.find_stored_base(build_base_query(base.revision.commit, trial))
    if stored_base is None:
        return None
    session.start_executing(_WARM_UP_EXECUTIONS + max(MIN_SAMPLES, session.pairs.min_pairs))
    return compare_with_stored_base(
        stored_base,
        trial,
        session.decide,
        pairs=session.pairs,
        n_cases=session.n_cases,
        progress=session.activity.advance,
    )


def _report_added_case(base: _Side, head: _Side, case: Case) -> ComparisonResult:
    """Return the result of a case that base cannot run, because head adds its parameters.

    If head can run, :func:`make_undecided_result` executes only head.
    """
    base_trial, head_trial = base.get_unbuilt_trial(case), head.get_trial(case)
    reports = {base_trial: base_trial.build_skipped_report("head adds this case, and base cannot run it")}
    if failure := head.finished_build.failure:
        reports[head_trial] = head_trial.build_failure_report(
            Stage.BUILD, failure.message, failure.build.log, temporary=failure.temporary
        )
    elif head_trial.obstacle:
        reports[head_trial] = head_trial.build_skipped_report(head_trial.obstacle)
    return make_undecided_result(base_trial, head_trial, reports)


def _compare_case(sides: Sequence[_Side], cases: Sequence[Case], session: _Session) -> ComparisonResult:
    """Compare one case of both sides interleaved; report it as undecided if a side cannot be measured."""
    # Report a side that cannot be measured.
    base, head = (side.get_trial(case) for side, case in zip(sides, cases, strict=True))
    failure_reports = {
        trial: trial.build_failure_report(Stage.BUILD, failure.message, failure.build.log, temporary=failure.temporary)
        for side, trial in zip(sides, (base, head), strict=True)
        if (failure := side.finished_build.failure)
    }
    for trial in (base, head):
        if trial not in failure_reports and trial.obstacle:
            failure_reports[trial] = trial.build_skipped_report(trial.obstacle)
    if failure_reports:
        return make_undecided_result(base, head, failure_reports)

    def build_further_trials(number: int) -> tuple[Trial, Trial] | None:
        """Build both sides once more, as further build ``number``; return their trials, None if one does not build."""
        from runner.subject.build import BuildFailure

        try:
            base_trial, head_trial = (
                side.build_further_trial(case, number) for side, case in zip(sides, cases, strict=True)
            )
        except BuildFailure:
            return None
        session.start_executing(2 * (_WARM_UP_EXECUTIONS + SAMPLES_PER_FURTHER_BUILD))
        return base_trial, head_trial

    # Measure both sides interleaved. On request of the service, base is built in head's folder too, to find out whether
    # the folders rather than the programs make the difference.
    session.start_executing(2 * (_WARM_UP_EXECUTIONS + session.pairs.min_pairs))
    return compare_interleaved_trials(
        base,
        head,
        session.decide,
        pairs=session.pairs,
        n_cases=session.n_cases,
        build_further_trials=build_further_trials,
        build_base_in_head_folder=lambda: sides[0].build_trial_in_folder(cases[0], sides[1].finished_build.tree),
        progress=session.activity.advance,
    )


def build_document(result: ComparisonResult) -> dict[str, Any]:
    """Return the result of a case in the form that ``--json`` prints."""
    return {
        "base": result.base.model_dump(mode="json"),
        "head": result.head.model_dump(mode="json"),
        "comparison": result.comparison.model_dump(mode="json") if result.comparison else None,
        "base_stored": result.base_stored,
        "explanation": result.explanation.model_dump(mode="json") if result.explanation else None,
    }


def _is_regressed(result: ComparisonResult) -> bool:
    """Return whether the result of a case makes the command fail."""
    if result.comparison is None:
        return Outcome.FAILED in {result.base.outcome, result.head.outcome}
    return any(metric_verdict.over_budget for metric_verdict in result.comparison.metrics)
