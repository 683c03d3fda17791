"""``faultwatch gate``: compare the head of a pull request with its merge base, as a CI job."""

import json
from pathlib import Path

import click

from runner.cli.gate_output import output_options, require_writable, write_outputs
from runner.cli.options import (
    env_option,
    json_option,
    options,
    repo_option,
    report_option,
    samples_option,
    set_option,
    workload_option,
)
from runner.cli.terminal import say
from runner.cli.workbench import host_turn, prepare_workbench
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
    click.option(
        "--fresh", is_flag=True, help="Measure base even if the service has a run of it in the same environment."
    ),
    report_option,
    output_options,
    json_option,
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
    report_file: Path | None,
    as_json: bool,
    **files: Path | None,
) -> None:
    """Compare HEAD with its merge base with BASE, and print the verdict as one word.

    In a GitHub Actions job, the verdict and the path of the report become outputs of the step, and the tables become
    its summary. A service that FAULTWATCH_URL names publishes the verdict on GitHub. Exit code 1 if the verdict is
    `regressed` or `failed` and nobody has accepted it.
    """
    from runner.cli.compare import compare_cases, document
    from runner.cli.comparison_tables import show_comparison
    from runner.cli.gate_report import gate_report
    from runner.cli.github_actions import add_summary, set_outputs, write_report
    from runner.reporting.embedded import connect

    require_writable(files)
    settings = load_settings()
    workload, repository = workload_and_repository(settings, workload_name, repo)
    origin, tip = repository.merge_base(base, head), repository.resolve(head)
    code = CodeOrigin.PULL_REQUEST
    stored = not fresh and samples is None
    confinement = needs_sandbox(code, confined)
    with connect(settings) as service, host_turn(settings) as turn:
        service.check()
        workbench = prepare_workbench(settings, variables, turn=turn, confined=confinement, origin=code)
        patient = service.patient(say)
        results = compare_cases(
            patient, repository, workload, workbench, (origin, tip), choices, samples, from_store=stored
        )
        turn.end()
        measured = {"base": origin, "head": tip, "cases": [document(result) for result in results]}
        if report_file:
            # Before asking the service, so that the measurements are kept in any case.
            write_report(report_file, measured)
            set_outputs({"report": str(report_file.resolve())})
        report = gate_report(results, workload, repository.path, origin, tip)
        answer = patient.gate(report)
    judged = {"verdict": answer.verdict} | measured
    if report_file:
        write_report(report_file, judged)
    write_outputs(files, report, answer)
    set_outputs({"verdict": answer.verdict})
    add_summary(answer.summary)
    if as_json:
        click.echo(json.dumps(judged, indent=2))
    else:
        for result in results:
            show_comparison(result)
        click.echo(f"gate: {answer.verdict}")
    if not answer.passed:
        raise click.exceptions.Exit(1)
