"""``faultwatch try``: measure the effect of a remedy, interleaved with the present state."""

from pathlib import Path

import click

from runner.cli.activity import activity
from runner.cli.arguments import workload_argument
from runner.cli.options import (
    choice_options,
    env_option,
    options,
    repo_option,
    result_options,
    revision_option,
    samples_option,
    sandbox_option,
)
from runner.cli.result import give_result
from runner.cli.terminal import say
from runner.cli.workbench import find_target, host_turn, prepare_workbench
from runner.measuring.preflight import wants_sandbox
from runner.settings import load_settings
from runner.subject.presence import find_present_revision
from runner.workload.lookup import choose_one_case


@click.command(name="try")
@options(
    workload_argument,
    click.option(
        "--with",
        "remedies",
        multiple=True,
        metavar="NAME=VALUE",
        help="The remedy: allocator=…, thp=never|madvise|always, env.NAME=…, or another value of a parameter. "
        "Repeatable.",
    ),
    repo_option,
    revision_option(),
    choice_options,
    env_option,
    samples_option,
    sandbox_option(),
    result_options,
)
def command(
    workload_name: str | None,
    remedies: tuple[str, ...],
    repo: str | None,
    revision: str,
    choices: tuple[str, ...],
    case_names: tuple[str, ...],
    variables: tuple[str, ...],
    samples: int | None,
    confined: bool | None,
    as_json: bool,
    output_file: Path | None,
) -> None:
    """Measure one case of a WORKLOAD with and without a remedy, interleaved, and show what the remedy changes.

    24 pairs are measured unless --samples sets another number: enough for counts that repeat. Nothing is stored. Exit
    code 1 if one side cannot be measured.
    """
    from runner.campaigns.remedy_comparison import FIRST_PAIRS, remedy_trials
    from runner.measuring.comparison import Pairs, compare
    from runner.reporting.embedded import connect
    from runner.workload.remedy import parse_settings, with_remedy

    if not remedies:
        raise click.UsageError("Missing option '--with': name the remedy, as in --with allocator=jemalloc.")
    remedy = parse_settings(remedies)
    config = load_settings()
    workload, repository = find_target(config, workload_name, repo)
    with_remedy(workload, remedy)  # Refuse an impossible remedy before the checks of the host.
    case = choose_one_case(workload, choices, case_names)
    tip = find_present_revision(repository, workload, revision)
    pairs = Pairs.from_workload(workload, samples or FIRST_PAIRS)
    confinement = wants_sandbox(confined, repository, config)
    with connect(config) as service, host_turn(config) as turn:
        service.check()
        workbench = prepare_workbench(config, variables, turn=turn, confined=confinement)
        patient = service.patient(say)
        with activity(f"building {revision}") as shown:
            unchanged, changed = remedy_trials(
                repository,
                workbench.builder,
                workload,
                case,
                bench=workbench.bench,
                revision=tip.commit,
                settings=remedy,
            )
            shown(f"measuring {case.name} both ways")
            shown.remain(2 + 2 * pairs.first)
            result = compare(unchanged, changed, patient.compare, pairs=pairs, progress=shown.advance)

    def show() -> None:
        from runner.cli.remedy_tables import show_remedy

        show_remedy(result, remedies)

    document = {
        "present": result.base.model_dump(mode="json"),
        "remedy": result.head.model_dump(mode="json"),
        "comparison": result.comparison.model_dump(mode="json") if result.comparison else None,
    }
    give_result(document, as_json=as_json, output_file=output_file, show=show)
    if result.comparison is None:
        raise click.exceptions.Exit(1)
