"""``faultwatch try``: measure the effect of a remedy, in turns with the present state."""

import json

import click

from runner.cli.options import env_option, json_option, options, renamed_option, repo_option, sandbox_option
from runner.cli.terminal import activity, say
from runner.cli.workbench import host_turn, prepare_workbench
from runner.errors import FaultwatchError
from runner.measuring.preflight import wants_sandbox
from runner.settings import load_settings
from runner.subject.lookup import repository_of
from runner.workload import cases
from runner.workload.lookup import find_workload


@click.command(name="try")
@options(
    click.argument("workload_name", metavar="WORKLOAD"),
    click.option(
        "--with",
        multiple=True,
        is_eager=True,
        metavar="NAME=VALUE",
        help="The remedy: allocator=…, thp=never|madvise|always, env.NAME=…, or another value of a parameter.",
    ),
    renamed_option("--set", "--with"),
    click.option(
        "--case", "choices", multiple=True, metavar="NAME=VALUE", help="The case, by the values of its parameters."
    ),
    repo_option,
    click.option("--revision", default="HEAD", show_default=True, help="The commit to measure."),
    click.option(
        "--samples", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N", help="Pairs to measure."
    ),
    env_option,
    sandbox_option,
    json_option,
)
def command(
    workload_name: str,
    choices: tuple[str, ...],
    repo: str | None,
    revision: str,
    samples: int,
    variables: tuple[str, ...],
    confined: bool | None,
    as_json: bool,
    **remedies: tuple[str, ...],
) -> None:
    """Measure one case of a WORKLOAD with and without a remedy, in turns, and show what the remedy changes.

    Nothing is stored. Exit code 1 if one side cannot be measured.
    """
    from runner.campaigns.remedy_comparison import remedy_trials
    from runner.measuring.comparison import Pairs, compare
    from runner.reporting.embedded import connect
    from runner.workload.remedy import parse_settings, with_remedy

    workload = find_workload(workload_name)
    settings = remedies["with"]  # a keyword of Python
    if not settings:
        raise click.UsageError("Missing option '--with'.")
    remedy = parse_settings(settings)
    with_remedy(workload, remedy)  # Refuse an impossible remedy before the checks of the host.
    chosen = cases(workload, choices)
    if len(chosen) != 1:
        raise FaultwatchError(
            f"a remedy is tried on one case, but {len(chosen)} were chosen",
            f"choose one with --case NAME=VALUE; the first is {chosen[0].name}",
        )
    config = load_settings()
    repository = repository_of(workload, repo, config)
    confinement = wants_sandbox(confined, repository, config)
    with connect(config) as service, host_turn(config) as turn:
        service.check()
        workbench = prepare_workbench(config, variables, turn=turn, confined=confinement)
        with activity(f"building {revision}"):
            present, changed = remedy_trials(
                repository,
                workbench.builder,
                workload,
                chosen[0],
                bench=workbench.bench,
                revision=revision,
                settings=remedy,
            )
        with activity(f"measuring {chosen[0].name} both ways"):
            result = compare(present, changed, service.patient(say).compare, pairs=Pairs.of(workload, samples))
    if as_json:
        document = {
            "present": result.base.model_dump(mode="json"),
            "remedy": result.head.model_dump(mode="json"),
            "comparison": result.comparison.model_dump(mode="json") if result.comparison else None,
        }
        click.echo(json.dumps(document, indent=2))
    else:
        from runner.cli.remedy_tables import show_remedy

        show_remedy(result, settings)
    if result.comparison is None:
        raise click.exceptions.Exit(1)
