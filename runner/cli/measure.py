"""``faultwatch measure``: measure a workload at one revision; nothing is stored without --send."""

import json
from pathlib import Path

import click

from runner.cli.options import (
    again_option,
    env_option,
    json_option,
    options,
    repo_option,
    report_option,
    samples_option,
    sandbox_option,
    set_option,
)
from runner.cli.terminal import activity
from runner.cli.workbench import host_turn, prepare_workbench
from runner.contract.report import Outcome, Report
from runner.contract.suite import to_suite
from runner.errors import FaultwatchError
from runner.measuring.preflight import Workbench, wants_sandbox
from runner.settings import Settings, load_settings
from runner.subject.lookup import refuse_dirty, repository_of
from runner.subject.registry import register_subject
from runner.subject.repository import Repository
from runner.workload import Workload, cases
from runner.workload.lookup import find_workload

_MOST_COMMITS = 1_000
"""How many commits before a revision are sent with it, so that the service knows its position in the history."""


@click.command(name="measure")
@options(
    click.argument("workload_name", metavar="WORKLOAD"),
    repo_option,
    click.option("--revision", default="HEAD", show_default=True, help="The commit to measure."),
    set_option,
    env_option,
    samples_option,
    sandbox_option,
    click.option("--committed-only", is_flag=True, help="Ignore uncommitted changes in the work tree."),
    again_option,
    click.option(
        "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the samples as a pyperf suite."
    ),
    click.option("--send", is_flag=True, help="Send the reports to the service."),
    report_option,
    json_option,
)
def command(
    workload_name: str,
    repo: str | None,
    revision: str,
    choices: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    committed_only: bool,
    again: bool,
    output: Path | None,
    send: bool,
    report_file: Path | None,
    as_json: bool,
) -> None:
    """Build a revision, run every case of a WORKLOAD under perf stat, and show the counts.

    WORKLOAD is a workload.toml, its folder, or the name of a shipped workload. Exit code 1 if a case failed or no case
    could be measured. Nothing is stored without --send.
    """
    workload = find_workload(workload_name)
    settings = load_settings()
    repository = repository_of(workload, repo, settings)
    if revision == "HEAD":
        refuse_dirty(repository, allow=committed_only or workload.build.directory == "workload")
    if output:
        _one_case_only(len(cases(workload, choices)))
    confinement = wants_sandbox(confined, repository, settings)
    with host_turn(settings) as turn:
        workbench = prepare_workbench(settings, variables, turn=turn, confined=confinement, again=again)
        reports = _measure(workload, choices, repository, revision, workbench, samples)
    if output:
        _write_suite(reports, output)
    failed = any(report.outcome is Outcome.FAILED for report in reports) or not any(
        report.samples for report in reports
    )
    if report_file:
        from runner.cli.github_actions import set_outputs, write_report

        write_report(report_file, [report.model_dump(mode="json") for report in reports])
        set_outputs({"verdict": "failed" if failed else "measured", "report": str(report_file.resolve())})
    if send:
        register_subject(settings, repository, workload)
        _send(settings, repository, reports)
    if as_json:
        click.echo(json.dumps([report.model_dump(mode="json") for report in reports], indent=2))
    else:
        from runner.cli.report_tables import show_reports

        show_reports(reports)
    if failed:
        raise click.exceptions.Exit(1)


def _measure(
    workload: Workload,
    choices: tuple[str, ...],
    repository: Repository,
    name: str,
    workbench: Workbench,
    samples: int | None,
) -> list[Report]:
    from runner.measuring.measurement import failed_build, measure
    from runner.measuring.sampling import Sampling
    from runner.measuring.scaling import with_scaling_efficiency
    from runner.subject.build import BuildFailure

    revision = repository.revision(name)
    chosen = cases(workload, choices)
    with activity(f"building {revision.commit[:10]}") as say:
        try:
            tree, build = workbench.builder.build(repository, revision.commit, workload)
        except BuildFailure as failure:
            return [
                failed_build(workload, case, failure, bench=workbench.bench, subject=repository.name, revision=revision)
                for case in chosen
            ]
        reports: list[Report] = []
        for number, case in enumerate(chosen, 1):
            say(f"measuring {case.name} ({number} of {len(chosen)})")
            report = measure(
                workload,
                case,
                tree,
                bench=workbench.bench,
                subject=repository.name,
                revision=revision,
                build=build,
                sampling=Sampling.of(workload, samples),
            )
            reports.append(with_scaling_efficiency(report, reports, workload))
    return reports


def _send(settings: Settings, repository: Repository, reports: list[Report]) -> None:
    """Send reports and the commits before theirs; if the service does not accept them, they wait on disk."""
    from runner.reporting.embedded import connect
    from runner.reporting.outbox import Outbox
    from runner.reporting.spool import Spool

    spool = Spool(settings.spool)
    for report in reports:
        spool.add(report)
    with connect(settings) as service:
        service.send_revisions(repository.name, repository.revisions(reports[0].revision.commit)[-_MOST_COMMITS:])
        outbox = Outbox(spool, service.send)
        outbox.deliver(at_once=True)
    if outbox.refused:
        raise FaultwatchError(next(iter(outbox.refused.values())), "the report is set aside; see `faultwatch spool`")
    if outbox.error and any(spool.file_of(report).exists() for report in reports):
        raise FaultwatchError(f"{outbox.error.what}; the reports wait on disk", "run `faultwatch spool --flush`")


def _one_case_only(number: int) -> None:
    """Refuse several cases before any is measured: a suite file holds one case."""
    if number != 1:
        raise FaultwatchError(f"--output takes one case, but {number} were chosen", "choose one with --set NAME=VALUE")


def _write_suite(reports: list[Report], output: Path) -> None:
    measured = [report for report in reports if report.samples]
    if not measured:
        return  # The failure is shown with the case.
    suite = to_suite(measured[0])
    if suite is None:
        raise FaultwatchError("no metric of this run fits into a pyperf file: each has a zero or lacks a value")
    suite.dump(str(output), replace=True)
