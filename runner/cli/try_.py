"""``faultwatch try``: measure the effect of a remedy, interleaved with the present state."""

from pathlib import Path

import click

from runner.cli.activity import show_activity
from runner.cli.arguments import add_workload_argument
from runner.cli.measuring_setup import create_host_turn, find_target, prepare_workbench
from runner.cli.options import (
    apply_options,
    choice_options,
    env_option,
    make_revision_option,
    make_samples_option,
    make_sandbox_option,
    repo_option,
    result_options,
)
from runner.cli.result_output import output_result
from runner.cli.terminal import print_message
from runner.measuring.preflight import is_sandbox_needed
from runner.settings import load_settings
from runner.subject.check_clone_before_turn import find_complete_revision
from runner.workload.case_choice import choose_single_case


@click.command(name="try")
@apply_options(
    add_workload_argument,
    click.option(
        "--with",
        "remedies",
        multiple=True,
        metavar="NAME=VALUE",
        help="The remedy: allocator=…, thp=never|madvise|always, env.NAME=…, or another value of a parameter. "
        "Repeatable.",
    ),
    repo_option,
    make_revision_option(),
    choice_options,
    env_option,
    make_samples_option("24 pairs"),
    make_sandbox_option(),
    result_options,
)
def command(
    workload_name: str | None,
    remedies: tuple[str, ...],
    repo: str | None,
    revision: str,
    parameter_choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    sandboxed: bool | None,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Measure one case of a WORKLOAD with and without a remedy, interleaved, and show what the remedy changes.

    By default, 24 pairs are measured, which is enough for counts that repeat; --samples sets another number. Nothing is
    stored. Exit code 1 if either side cannot be measured.
    """
    from runner.campaigns.remedy_comparison import MIN_PAIRS, build_remedy_trials
    from runner.measuring.comparison import Pairs, compare_interleaved_trials
    from runner.reporting.embedded_service import connect_to_service
    from runner.workload.remedy import apply_remedy, parse_settings

    # Check the arguments.
    if not remedies:
        raise click.UsageError("Missing option '--with': specify the remedy, as in --with allocator=jemalloc.")
    remedy = parse_settings(remedies)
    config = load_settings()
    workload, repository = find_target(config, workload_name, repo)
    apply_remedy(workload, remedy)  # Refuse an impossible remedy before the host is examined.
    case = choose_single_case(workload, parameter_choices, case_names)
    chosen_revision = find_complete_revision(repository, workload, revision)
    pairs = Pairs.from_workload(workload, samples or MIN_PAIRS)
    is_sandboxed = is_sandbox_needed(sandboxed, repository, config)
    # Build the revision with and without the remedy, and measure both interleaved.
    with connect_to_service(config) as service, create_host_turn(config) as turn:
        service.check_availability()
        workbench = prepare_workbench(config, variables, turn=turn, sandboxed=is_sandboxed)
        retrying_service = service.connect_with_retries(print_message, turn.pause)
        with show_activity(f"building {revision}") as activity:
            unchanged_trial, changed_trial = build_remedy_trials(
                repository,
                workbench.builder,
                workload,
                case,
                bench=workbench.bench,
                revision=chosen_revision.commit,
                settings=remedy,
            )
            activity(f"measuring {case.name} with and without the remedy")
            # Each side is first executed once without being counted.
            activity.set_remaining_steps(2 + 2 * pairs.min_pairs)
            result = compare_interleaved_trials(
                unchanged_trial, changed_trial, retrying_service.compare, pairs=pairs, progress=activity.advance
            )

    def show_result() -> None:
        from runner.cli.remedy_tables import show_remedy

        show_remedy(result, remedies)

    # Print the result.
    document = {
        "present": result.base.model_dump(mode="json"),
        "remedy": result.head.model_dump(mode="json"),
        "comparison": result.comparison.model_dump(mode="json") if result.comparison else None,
    }
    output_result(document, as_json=as_json, output_file=output_file, show=show_result)
    if result.comparison is None:
        raise click.exceptions.Exit(1)
