"""``faultwatch measure``: measure a workload at one revision; nothing is stored without --send."""

from collections.abc import Sequence
from pathlib import Path

import click

from runner.cli.activity import show_activity
from runner.cli.arguments import add_workload_argument
from runner.cli.github_actions import set_verdict
from runner.cli.measuring_setup import create_host_turn, find_target, prepare_workbench
from runner.cli.options import (
    again_option,
    apply_options,
    choice_options,
    committed_only_option,
    env_option,
    make_revision_option,
    make_sandbox_option,
    repo_option,
    result_options,
    samples_option,
)
from runner.cli.output_files import make_unwritable_error, require_writable
from runner.cli.result_output import output_result
from runner.contract.pyperf_export import build_suite
from runner.contract.report import Case, Outcome, Report, Revision
from runner.errors import FaultwatchError
from runner.measuring.preflight import Workbench, is_sandbox_needed
from runner.settings import Settings, load_settings
from runner.subject.check_clone_before_turn import find_complete_revision
from runner.subject.repository import Repository
from runner.subject.repository_lookup import refuse_dirty_work_tree
from runner.subject.subject_registry import register_subject
from runner.workload import Workload
from runner.workload.case_choice import choose_cases

_MAX_COMMITS = 1_000
"""How many commits before a revision are sent too, so that the service knows its position in the history."""


@click.command(name="measure")
@apply_options(
    add_workload_argument,
    repo_option,
    make_revision_option(),
    choice_options,
    env_option,
    samples_option,
    make_sandbox_option(),
    committed_only_option,
    again_option,
    click.option(
        "--suite",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Also write the samples as a pyperf suite.",
    ),
    click.option("--send", is_flag=True, help="Send the reports to the service."),
    result_options,
)
def command(
    workload_name: str | None,
    repo: str | None,
    revision: str,
    parameter_choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    sandboxed: bool | None,
    committed_only: bool,
    retry_failed: bool,
    suite: Path | None,
    send: bool,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Build a revision, run every case of a WORKLOAD under perf stat, and show the counts.

    WORKLOAD is a workload.toml, its folder, or the name of a shipped workload. Exit code 1 if a case failed or no case
    could be measured. Nothing is stored without --send.
    """
    require_writable({"suite": suite, "output": output_file})
    settings = load_settings()
    workload, repository = find_target(settings, workload_name, repo)
    cases = choose_cases(workload, parameter_choices, case_names)
    if revision == "HEAD":
        refuse_dirty_work_tree(
            repository, workload, allows_changes=committed_only or workload.build.directory == "workload"
        )
    if suite:
        _require_single_case(len(cases))
    chosen_revision = find_complete_revision(repository, workload, revision)
    is_sandboxed = is_sandbox_needed(sandboxed, repository, settings)
    with create_host_turn(settings) as turn:
        workbench = prepare_workbench(settings, variables, turn=turn, sandboxed=is_sandboxed, retry_failed=retry_failed)
        reports = _measure_cases(workload, cases, repository, chosen_revision, workbench, samples)
    is_measured = any(report.samples for report in reports)
    has_failed = not is_measured or any(report.outcome is Outcome.FAILED for report in reports)
    document = [report.model_dump(mode="json") for report in reports]
    # Output the result first, so that it is not lost if the suite cannot be written, or the service refuses it.
    output_result(document, as_json=as_json, output_file=output_file, show=lambda: _print_reports(reports))
    set_verdict("failed" if has_failed else "measured")
    if suite:
        _write_suite(reports, suite)
    if send:
        register_subject(settings, repository, workload)
        _send_reports(settings, repository, reports)
    if has_failed:
        raise click.exceptions.Exit(1)


def _print_reports(reports: list[Report]) -> None:
    from runner.cli.report_tables import show_reports

    show_reports(reports)


def _measure_cases(
    workload: Workload,
    cases: Sequence[Case],
    repository: Repository,
    revision: Revision,
    workbench: Workbench,
    samples: int | None,
) -> list[Report]:
    """Build a revision and measure its cases; return a report for each case."""
    from runner.measuring.measurement import measure_case, report_failed_build
    from runner.measuring.sampling import Sampling
    from runner.measuring.weak_scaling import add_scaling_efficiency
    from runner.subject.build import BuildFailure

    sampling = Sampling.from_workload(workload, samples)
    executions_per_case = sampling.min_samples + 1  # The first execution is not a sample.
    # Build; a failed build is reported for each case.
    with show_activity(f"building {revision.commit[:10]}") as activity:
        try:
            tree, build = workbench.builder.build(repository, revision.commit, workload)
        except BuildFailure as failure:
            return [
                report_failed_build(
                    workload, case, failure, bench=workbench.bench, subject=repository.name, revision=revision
                )
                for case in cases
            ]
        # Measure case by case.
        reports: list[Report] = []
        for index, case in enumerate(cases):
            activity(f"measuring {case.name}")
            activity.set_remaining_steps(executions_per_case * (len(cases) - index))
            report = measure_case(
                workload,
                case,
                tree,
                bench=workbench.bench,
                subject=repository.name,
                revision=revision,
                build=build,
                sampling=sampling,
                progress=activity.advance,
            )
            reports.append(add_scaling_efficiency(report, reports, workload))
    return reports


def _send_reports(settings: Settings, repository: Repository, reports: list[Report]) -> None:
    """Send the reports of one revision with its history; reports that the service does not accept wait on disk.

    Raises
    ------
    FaultwatchError
        The service refused a report, or the reports still wait.
    """
    from runner.reporting.embedded_service import connect_to_service
    from runner.reporting.outbox import Outbox
    from runner.reporting.spool import Spool

    spool = Spool(settings.spool)
    files = [file for report in reports for file in spool.add(report)]  # each alone: a full disk costs only one
    with connect_to_service(settings) as service:
        commit = reports[0].revision.commit
        revisions = repository.list_revisions(commit)[-_MAX_COMMITS:]
        service.send_revisions(repository.name, revisions, patches=repository.compute_patch_ids([commit]))
        outbox = Outbox(spool, service.send)
        outbox.deliver(at_once=True)
    refusals = [outbox.refused[file] for file in files if file in outbox.refused]
    if refusals:
        raise FaultwatchError(refusals[0], "a refused report is set aside; see `faultwatch spool`")
    if outbox.error and any(file.exists() for file in files):
        raise FaultwatchError(
            f"{outbox.error.what}; unsent reports are waiting on disk", "run `faultwatch spool --flush` to send them"
        )


def _require_single_case(case_count: int) -> None:
    """Refuse several cases, before any is measured, because a suite file contains only one."""
    if case_count != 1:
        raise FaultwatchError(
            f"--suite accepts only one case, but {case_count} were chosen", "choose one case with --set or --case"
        )


def _write_suite(reports: list[Report], file: Path) -> None:
    """Write the first measured run as a pyperf suite file.

    Raises
    ------
    FaultwatchError
        No metric can be stored in such a file, or the file cannot be written.
    """
    measured_reports = [report for report in reports if report.samples]
    if not measured_reports:
        return  # The table of the case shows the failure.
    suite = build_suite(measured_reports[0])
    if suite is None:
        raise FaultwatchError(
            "a pyperf file cannot contain this run: no metric has a value above zero in every sample",
            "leave out --suite; --json and --output contain every value",
        )
    try:
        suite.dump(str(file), replace=True)
    except OSError as error:
        raise make_unwritable_error("--suite", file, error) from None
