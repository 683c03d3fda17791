"""``faultwatch gate``: compare the head of a pull request with its merge base, as a CI job."""

from pathlib import Path
from typing import Any

import click

from runner.cli.arguments import add_workload_and_range, parse_range
from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.cli.gate_output import output_options, write_outputs
from runner.cli.gate_plan import plan_gate
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
from runner.cli.output_files import require_writable
from runner.cli.result_output import output_result, write_result
from runner.cli.terminal import print_message
from runner.contract.code_trust import CodeOrigin, needs_sandbox
from runner.contract.gate import GateReport
from runner.settings import load_settings
from runner.subject.check_clone_before_turn import find_complete_revision


@click.command(name="gate")
@apply_options(
    add_workload_and_range(required=True),
    repo_option,
    choice_options,
    env_option,
    samples_option,
    make_sandbox_option("always"),
    again_option,
    explain_option(default=True),
    click.option(
        "--fresh",
        "remeasure_base",
        is_flag=True,
        help="Measure the base again, even if the service has a run of it in this environment.",
    ),
    output_options,
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
    remeasure_base: bool,
    as_json: bool,
    output_file: Path | None,
    **files: Path | None,
) -> None:
    """Compare the HEAD of a RANGE, BASE..HEAD, with the merge base of both ends, and print the verdict as one word.

    BASE's workload file says how HEAD is measured and judged. With several merge bases, the result of merging HEAD is
    compared with BASE.

    In a GitHub Actions job, the verdict and the path of the report become step outputs, and the tables become the step
    summary. The service at FAULTWATCH_URL publishes the verdict on the forge. Exit code 1 if the verdict is `regressed`
    or `failed`, or if HEAD prevents a decision, unless somebody has accepted HEAD.
    """
    from runner.cli.compare import build_document, compare_cases, show_results
    from runner.cli.gate_report import build_gate_report
    from runner.cli.github_actions import add_summary, set_verdict
    from runner.reporting.embedded_service import connect_to_service

    require_writable({**files, "output": output_file})
    base, head = parse_range(commit_range)
    settings = load_settings()
    workload, repository = find_target(settings, workload_name, repo)
    origin = CodeOrigin.PULL_REQUEST
    may_use_stored_base = not remeasure_base and samples is None
    is_sandboxed = needs_sandbox(origin, sandboxed)
    with plan_gate(
        workload, repository, base, head, name=workload_name, parameter_choices=parameter_choices, case_names=case_names
    ) as plan:
        ends, judge = plan.ends, plan.files.judge
        # Refuse a head that is incomplete in this clone. If base is incomplete, only head is measured.
        find_complete_revision(ends.repository, plan.files.head, ends.measured_commit)
        with connect_to_service(settings) as service, create_host_turn(settings) as turn:
            service.check_availability()
            workbench = prepare_workbench(
                settings, variables, turn=turn, sandboxed=is_sandboxed, origin=origin, retry_failed=retry_failed
            )
            retrying_service = service.connect_with_retries(print_message, turn.pause)
            compared_commits = (ends.base, ends.measured_commit)
            results = compare_cases(
                retrying_service,
                ends.repository,
                judge,
                workbench,
                compared_commits,
                plan.case_pairs,
                samples,
                may_use_stored_base=may_use_stored_base,
                explain=explain,
            )
            turn.end()
            report = build_gate_report(results, plan)
            document = {"base": ends.base, "head": ends.head} | _build_comparison_document(report)
            document["cases"] = [build_document(result) for result in results]
            # Write the file before sending, so that the measurements are kept even if the service does not answer.
            write_result(document, output_file)
            answer = retrying_service.judge_gate(report)
    judged_document = {"verdict": answer.verdict, "passed": answer.passed, "judge": answer.judge} | document

    def show_verdict() -> None:
        """Print the service's answer and the comparisons that it judged."""
        if answer.judge:
            click.echo(strip_escape_sequences(answer.judge))
        # The commit of a merge exists only until this command ends.
        target = None if ends.is_merge else TypedTarget(workload.name, workload_name, repo, variables)
        show_results(results, target)
        if judge.workload.caveat:
            click.echo(strip_escape_sequences(f"caveat: {judge.workload.caveat}"))
        click.echo(strip_escape_sequences(answer.sentence))
        click.echo(f"gate: {answer.verdict}")

    # Output the verdict first, so that it is not lost if another file cannot be written.
    output_result(judged_document, as_json=as_json, output_file=output_file, show=show_verdict)
    write_outputs(files, report, answer)
    set_verdict(answer.verdict)
    add_summary(answer.summary)
    if not answer.passed:
        raise click.exceptions.Exit(1)


def _build_comparison_document(report: GateReport) -> dict[str, Any]:
    """Return the compared revisions and the judging workload file in the form that ``--json`` prints."""
    return report.model_dump(mode="json", include={"target", "merge", "merge_bases", "judged_by", "changes"})
