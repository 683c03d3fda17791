"""``faultwatch bisect``: find the commits in a range, or the settings, that moved a metric."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from runner.cli.activity import Activity, show_activity
from runner.cli.arguments import FiniteRange, add_workload_and_range, build_model
from runner.cli.measuring_setup import create_host_turn, find_target, parse_variables, prepare_workbench
from runner.cli.next_command import TypedTarget
from runner.cli.options import (
    apply_options,
    choice_options,
    env_option,
    make_revision_option,
    make_sandbox_option,
    repo_option,
    result_options,
    samples_option,
)
from runner.cli.result_output import output_result
from runner.cli.terminal import print_message, print_warning
from runner.contract.commit_search import Found, Measure, NothingToFind, ProofState, Prove, Search
from runner.contract.report import Case, Outcome, Report, Revision
from runner.contract.setting_search import PARAMETER_PREFIX, FoundSettings, SettingSearch, list_parameters
from runner.errors import FaultwatchError
from runner.measuring.preflight import is_sandbox_needed
from runner.reporting.spool import Spool
from runner.settings import Settings, load_settings
from runner.subject.check_clone_before_turn import find_complete_revision, refuse_incomplete_checkouts
from runner.subject.repository import Repository
from runner.subject.subject_registry import register_subject
from runner.workload import Workload
from runner.workload.case_choice import choose_single_case
from runner.workload.workload_lookup import check_metric

if TYPE_CHECKING:
    from runner.campaigns.setting_difference import Difference

_PROOF_LABELS = {ProofState.STANDS: "proven", ProofState.FAILS: "not proven", ProofState.OPEN: "not decided"}
_MAX_CANDIDATES = 20
"""The largest number of a culprit's candidates that are listed."""


@click.command(name="bisect")
@apply_options(
    add_workload_and_range(),
    repo_option,
    make_revision_option("With --settings or --change: the commit at which to search."),
    choice_options,
    env_option,
    samples_option,
    make_sandbox_option(),
    click.option(
        "--metric", "name", default="minor-faults", show_default=True, metavar="NAME", help="The metric that moved."
    ),
    click.option(
        "--min-difference",
        default=0.0,
        type=FiniteRange(0),
        metavar="N",
        help="The smallest change to search for, in the unit of the metric.",
    ),
    click.option(
        "--proof/--no-proof",
        "prove",
        default=True,
        help="Measure each culprit again, interleaved with its parent. Default: --proof.",
    ),
    click.option(
        "--settings",
        "environment_pair",
        metavar="BEFORE..AFTER",
        help="Search among the settings that differ between two environments: files from `env --json`, saved reports, "
        "or run ids.",
    ),
    click.option(
        "--change",
        "changes",
        multiple=True,
        metavar="NAME=BEFORE..AFTER",
        help="Include this setting in the search: variable.NAME, parameter.NAME, build.NAME, process.huge_pages or "
        "process.memory_limit. Repeatable.",
    ),
    click.option(
        "--without",
        "excluded_settings",
        multiple=True,
        metavar="SETTING",
        help="Exclude this setting from the search. Repeatable.",
    ),
    result_options,
)
def command(
    workload_name: str | None,
    commit_range: str | None,
    repo: str | None,
    revision: str,
    parameter_choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    sandboxed: bool | None,
    name: str,
    min_difference: float,
    prove: bool,
    environment_pair: str | None,
    changes: tuple[str, ...],
    excluded_settings: tuple[str, ...],
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Find the commits in a RANGE, GOOD..BAD, that moved a metric, with as few runs as possible.

    With --settings or --change, find the settings instead, at --revision.

    Stored runs are not measured again, so an interrupted search continues where it stopped. Exit code 1 if the ends do
    not differ or a culprit could not be proven.
    """
    searches_settings = environment_pair is not None or bool(changes)
    if searches_settings and commit_range is not None:
        raise click.UsageError(
            f"A search for settings takes one commit, with --revision, not the range {commit_range}."
        )
    if not searches_settings and commit_range is None:
        raise click.UsageError("Missing argument 'RANGE': write GOOD..BAD, as in v1.0..HEAD.")
    settings = load_settings()
    workload, repository = find_target(settings, workload_name, repo)
    check_metric(workload, name)
    register_subject(settings, repository, workload)
    request = _SearchRequest(
        settings=settings,
        repository=repository,
        workload=workload,
        case=choose_single_case(workload, parameter_choices, case_names),
        variables=variables,
        sandboxed=is_sandbox_needed(sandboxed, repository, settings),
        samples=samples,
        metric=name,
        min_difference=min_difference,
        as_json=as_json,
        output_file=output_file,
        target=TypedTarget(workload.name, workload_name, repo, variables),
    )
    if commit_range is not None:
        has_succeeded = _search_commits(request, commit_range, prove=prove)
    else:
        has_succeeded = _search_settings(request, revision, environment_pair, changes, excluded_settings)
    if not has_succeeded:
        raise click.exceptions.Exit(1)


class _SearchRequest(Struct, frozen=True):
    """The arguments that searches for commits and for settings have in common."""

    settings: Settings
    repository: Repository
    workload: Workload
    case: Case
    variables: tuple[str, ...]
    sandboxed: bool
    samples: int | None
    metric: str
    min_difference: float
    as_json: bool
    output_file: Path | None
    target: TypedTarget

    def build_proof_command(self, commit_range: str) -> str:
        """Return the command that compares both ends of a range."""
        return self.target.suggest("compare", commit_range, self.case.name)


def _search_commits(request: _SearchRequest, commit_range: str, *, prove: bool) -> bool:
    """Search GOOD..BAD and print the culprits; return whether there are any, and all of them are proven.

    The search is a job of the service, so that it can be viewed, paused and cancelled there.
    """
    from runner.campaigns.culprit_search import resolve_range
    from runner.cli.job_preparer import JobPreparer
    from runner.contract.job import Backend, BisectQuestion, JobDecision, JobOrder, State
    from runner.jobs import bisect_job
    from runner.jobs.claimed_job import ClaimedJob, JobResult
    from runner.jobs.job_runner import JobRunner
    from runner.reporting.embedded_service import connect_to_service

    # Check the range, and that its commits can be checked out.
    good, separator, bad = commit_range.partition("..")
    if not good or not separator or not bad or bad.startswith("."):  # "." is the third dot of GOOD...BAD
        raise FaultwatchError(
            f"{commit_range!r} does not have the form GOOD..BAD", "put the older revision first, as in v1.0..HEAD"
        )
    good_revision, revisions = resolve_range(request.repository, good, bad)
    # The ends come first, because the check stops at the first commit that can be checked out.
    refuse_incomplete_checkouts(request.repository, request.workload, (revisions[-1], good_revision, *revisions))
    # Describe the search as a job of the service.
    question = build_model(
        BisectQuestion,
        subject=request.repository.name,
        case=request.case.name,
        host=request.settings.host,
        variables=parse_variables(request.variables),
        samples=request.samples,
        metric=request.metric,
        good=good_revision.commit,
        bad=revisions[-1].commit,
        min_difference=request.min_difference,
        prove=prove,
    )
    searches: list[Search] = []

    def search_and_keep(job: ClaimedJob) -> JobResult:
        searches.append(bisect_job.search_commits(job, _ProgressLines(request.metric, activity)))
        return bisect_job.build_result(searches[0])

    # Run the job, or resume it if it was paused.
    with (
        connect_to_service(request.settings) as service,
        create_host_turn(request.settings) as turn,
        show_activity("bisecting") as activity,
    ):
        job = service.order_job(JobOrder(question=question, backend=Backend.CALLER))
        if job.state is State.PAUSED:
            job = service.decide_job(
                job.id, "resume", JobDecision(reason="faultwatch bisect was started with the same question.")
            )
        preparer = JobPreparer(
            request.settings, turn, str(request.repository.path), str(request.workload.path), request.sandboxed
        )
        job = JobRunner(request.settings, service, turn, print_message).run(job.id, preparer.prepare, search_and_keep)
    if not searches:  # who stopped the job, and why, has already been printed
        raise FaultwatchError(
            f"the search has no result yet, because job {job.id} was stopped",
            "run the same command again to continue: completed measurements are kept",
        )
    # Print the result.
    revisions_by_commit = {revision.commit: revision for revision in revisions}
    output_result(
        searches[0].model_dump(mode="json"),
        as_json=request.as_json,
        output_file=request.output_file,
        show=lambda: click.echo(
            "\n".join(describe_result(searches[0], revisions_by_commit, request.metric, request.build_proof_command))
        ),
    )
    return _has_succeeded(searches[0])


def _search_settings(
    request: _SearchRequest,
    revision: str,
    environment_pair: str | None,
    changes: Sequence[str],
    excluded_settings: Sequence[str],
) -> bool:
    """Search the differences between two environments and print the culprits; return whether there are any."""
    from runner.campaigns.setting_difference import find_differences
    from runner.campaigns.setting_search import ConfiguredCase, SettingSearcher
    from runner.cli import setting_search_text
    from runner.cli.escape_for_terminals import strip_escape_sequences
    from runner.reporting.embedded_service import connect_to_service

    # Find the settings that differ, and refuse those that cannot be searched.
    chosen_revision = find_complete_revision(request.repository, request.workload, revision)
    case_parameters = list_parameters(request.case.parameters)
    before, after = _collect_sides(case_parameters, environment_pair, changes)
    difference = find_differences(before, after, request.workload, excluded_settings)
    _check_difference(request.workload.name, difference, case_parameters)

    def show_run(state: SettingSearch, report: Report) -> None:
        activity.advance()
        print_message(setting_search_text.describe_run(state, report, request.metric))

    # Search.
    with (
        connect_to_service(request.settings) as service,
        create_host_turn(request.settings) as turn,
        show_activity("searching the settings") as activity,
    ):
        service.check_availability()
        workbench = prepare_workbench(request.settings, request.variables, turn=turn, sandboxed=request.sandboxed)
        searcher = SettingSearcher(
            repository=request.repository,
            revision=chosen_revision,
            before=ConfiguredCase(request.workload, request.case, workbench.bench).apply_settings(
                difference.common_variables
            ),
            builder=workbench.builder,
            service=service.connect_with_retries(print_message, turn.pause),
            spool=Spool(request.settings.spool),
            samples=request.samples,
        )
        search = searcher.search(difference.settings, request.metric, show_run, request.min_difference)
    # Print the result.
    output_result(
        setting_search_text.build_document(search, difference),
        as_json=request.as_json,
        output_file=request.output_file,
        show=lambda: click.echo(
            strip_escape_sequences("\n".join(setting_search_text.describe_result(search, difference, request.metric)))
        ),
    )
    return isinstance(search.answer, FoundSettings)


class _ProgressLines:
    """Prints the progress of a search, a line for each run."""

    def __init__(self, metric: str, activity: Activity) -> None:
        self._metric, self._activity = metric, activity
        self._smallest_estimate: int | None = None

    def on_measurement_start(self, state: Search, commit: str) -> None:
        """Show which commit is being measured, and the progress of the search."""
        if isinstance(state.answer, Measure):
            self._activity.set_remaining_steps(state.answer.runs_left)
        self._activity(f"measuring {commit[:10]}")

    def on_run_stored(self, state: Search, report: Report) -> None:
        """Print the measured value."""
        self._activity.advance()
        line = _format_run(report, self._metric)
        remaining_runs = None
        if isinstance(state.answer, Measure):
            remaining_runs = state.answer.runs_left - 1  # the answer still includes this run
        # Print an estimate only if it has shrunk: a noisy search finds out only gradually how many runs it needs.
        if remaining_runs is not None and (self._smallest_estimate is None or remaining_runs < self._smallest_estimate):
            self._smallest_estimate = remaining_runs
            line += f"; about {remaining_runs} to go"
        print_message(line)

    def on_proof_start(self, state: Search) -> None:
        """Print which commit is being proven."""
        if isinstance(state.answer, Prove):
            self._activity(f"proving {state.answer.commit[:10]}")
            text = f"{state.answer.commit[:10]}  interleaved with its parent {state.answer.parent[:10]}, as a proof"
            print_message(text)

    def on_proof_stored(self, state: Search, reports: Sequence[Report]) -> None:
        """Print nothing, because the result of the search shows the proof."""


def _collect_sides(
    case_parameters: Mapping[str, str], environment_pair: str | None, changes: Sequence[str]
) -> list[dict[str, str]]:
    """Return the settings before and after the change: from two runs, from the case, and from --change."""
    from runner.campaigns.setting_difference import collect_settings
    from runner.cli import setting_options
    from runner.cli.env import load_environment

    sides: list[dict[str, str]] = [{}, {}]
    if environment_pair:
        names = setting_options.split_change(environment_pair)
        sides = [collect_settings(*load_environment(name)) for name in names]
    sides = [{**case_parameters, **side} for side in sides]
    for change in map(setting_options.parse_change, changes):
        for side, value in zip(sides, (change.before, change.after), strict=True):
            if value is None:  # not set on this side
                side.pop(change.name, None)
            else:
                side[change.name] = value
    return sides


def _check_difference(workload: str, difference: "Difference", case_parameters: Mapping[str, str]) -> None:
    """Warn of settings that the search leaves out; refuse no settings, or a parameter that the workload lacks.

    Raises
    ------
    FaultwatchError
        The difference cannot be searched.
    """
    names = [setting.name for setting in difference.settings]
    unknown_parameters = [name for name in names if name.startswith(PARAMETER_PREFIX) and name not in case_parameters]
    if unknown_parameters:
        raise FaultwatchError(
            f"{workload} has no parameter {unknown_parameters[0]}",
            f"its parameters: {', '.join(case_parameters) or 'none'}",
        )
    if difference.unsearched_remark:
        print_warning(difference.unsearched_remark)
    if not names:
        raise FaultwatchError(
            "the two sides do not differ in any setting that this search may change",
            "pass a setting with --change NAME=BEFORE..AFTER",
        )


def _has_succeeded(search: Search) -> bool:
    """Return whether a search has found commits, and every proof that was measured stands; no proof is required."""
    culprits = search.answer.culprits if isinstance(search.answer, Found) else ()
    return bool(culprits) and all(
        culprit.proof is None or culprit.proof.state is ProofState.STANDS for culprit in culprits
    )


def _format_run(report: Report, metric: str) -> str:
    """Return a line with the hash of a measured commit and its level."""
    outcome = "could not be measured"
    if report.outcome is Outcome.MEASURED:
        from runner.cli.formatting import format_quantity
        from runner.contract.level import compute_median

        outcome = format_quantity(metric, compute_median(report.list_values(metric)))
    return f"{report.revision.commit[:10]}  {outcome}"


def describe_result(
    search: Search, revisions_by_commit: Mapping[str, Revision], name: str, suggest_comparison: Callable[[str], str]
) -> list[str]:
    """Return the result of a search as lines for a terminal. A commit without a valid proof is shown as a suspect.

    Parameters
    ----------
    revisions_by_commit
        The revisions of the range by their hash.
    name
        The metric that moved.
    suggest_comparison
        Returns the command that compares both ends of a range.
    """
    from runner.cli.formatting import escape_text, format_quantity, format_value

    if isinstance(search.answer, NothingToFind):
        return [escape_text(search.answer.sentence)]
    lines = []
    for culprit in search.answer.culprits if isinstance(search.answer, Found) else ():
        prefix = "" if culprit.proof and culprit.proof.state is ProofState.STANDS else "suspect, not proven: "
        if len(culprit.candidates) == 1:
            lines.append(f"{prefix}{culprit.commit[:10]} {revisions_by_commit[culprit.commit].title!r}")
        else:
            count = len(culprit.candidates)
            lines.append(f"{prefix}one of {count} commits that the measurements in the range cannot tell apart:")
            lines += [
                f"  {commit[:10]} {revisions_by_commit[commit].title!r}"
                for commit in culprit.candidates[:_MAX_CANDIDATES]
            ]
            lines += [f"  and {count - _MAX_CANDIDATES} more"] if count > _MAX_CANDIDATES else []
        before = format_quantity(name, culprit.before, culprit.after)
        after = format_quantity(name, culprit.after, culprit.before)
        lines.append(f"  {name}: {before} at {culprit.parent[:10]} → {after} at {culprit.commit[:10]}")
        if culprit.branch_change:
            branch_change = format_value(name, culprit.branch_change, sign=True)
            lines.append(f"  the merged commits moved the metric by {branch_change} on their own branch")
        if culprit.proof is None:
            lines.append(
                f"  to prove this change: {suggest_comparison(f'{culprit.parent[:10]}..{culprit.commit[:10]}')}"
            )
        else:
            lines.append(f"  {_PROOF_LABELS[culprit.proof.state]}: {culprit.proof.sentence}")
    return [escape_text(line) for line in lines]
