"""``faultwatch gate``: head of a pull request against its merge base, as a CI job runs it."""

from pathlib import Path

import click

from runner.cli.options import (
    env_option,
    options,
    repo_option,
    report_option,
    samples_option,
    set_option,
    workload_option,
)
from runner.cli.workbench import prepare_workbench
from runner.contract.code_trust import CodeOrigin, needs_sandbox
from runner.settings import load_settings
from runner.subject.lookup import workload_and_repository


@click.command(name="gate")
@options(
    click.argument("base"),
    click.argument("head", default="HEAD"),
    workload_option,
    repo_option,
    set_option,
    env_option,
    samples_option,
    click.option(
        "--sandbox/--no-sandbox", "confined", default=None, help="Build and run in a sandbox. Default: always."
    ),
    click.option("--fresh", is_flag=True, help="Measure base too where the service has it from the same environment."),
    report_option,
)
def command(
    base: str,
    head: str,
    workload_name: str | None,
    repo: str | None,
    choices: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    fresh: bool,
    report: Path | None,
) -> None:
    """Compare HEAD with the commit at which it left BASE, and say in one word what that comes to.

    In a GitHub Actions job the verdict and the report's path become outputs of the step, and the tables its summary.
    Where a service is named, it tells GitHub. Exit code 1 where the verdict is `regressed` or `failed`, and nobody has
    accepted that.
    """
    from runner.cli.compare import compared, document
    from runner.cli.comparison_tables import show_comparison
    from runner.cli.gate_report import gate_report
    from runner.cli.github_actions import add_summary, set_outputs, write_report
    from runner.reporting.embedded import connect

    settings = load_settings()
    workload, repository = workload_and_repository(settings, workload_name, repo)
    origin, tip = repository.merge_base(base, head), repository.resolve(head)
    workbench = prepare_workbench(settings, variables, confined=needs_sandbox(CodeOrigin.PULL_REQUEST, confined))
    stored = not fresh and samples is None
    with connect(settings) as service:
        results = compared(service, repository, workload, workbench, (origin, tip), choices, samples, from_store=stored)
        measured = {"base": origin, "head": tip, "cases": [document(result) for result in results]}
        if report:
            # Before the service is asked: what was measured is kept whatever becomes of that.
            write_report(report, measured)
            set_outputs({"report": str(report.resolve())})
        answer = service.gate(gate_report(results, workload, repository.path, origin, tip))
    if report:
        write_report(report, {"verdict": answer.verdict} | measured)
    set_outputs({"verdict": answer.verdict})
    add_summary(answer.summary)
    for result in results:
        show_comparison(result)
    click.echo(f"gate: {answer.verdict}")
    if not answer.passed:
        raise click.exceptions.Exit(1)
