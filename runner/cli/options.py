"""Click options that several subcommands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

workload_option = click.option(
    "--workload",
    "workload_name",
    metavar="PATH|NAME",
    help="Default: workload.toml in --repo or in the current folder.",
)
repo_option = click.option(
    "--repo", metavar="PATH|URL", help="The repository under test. Default: the one that contains the workload."
)
set_option = click.option(
    "--set",
    "choices",
    multiple=True,
    metavar="NAME=VALUE[,VALUE…]",
    help="Choose only the points of the matrix with these values. Repeatable.",
)
env_option = click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Add a variable to the environment of the measured process. Repeatable.",
)
samples_option = click.option(
    "--samples",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Number of executions to measure. Default: as many as prove the counts.",
)
sandbox_option = click.option(
    "--sandbox/--no-sandbox",
    "confined",
    default=None,
    help="Build and run in a sandbox, as untrusted code requires. Default: if --repo is an address.",
)
again_option = click.option(
    "--again", is_flag=True, help="Also build and measure again what failed or was skipped before."
)
report_option = click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the full result as JSON; in GitHub Actions the path becomes an output of the step.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def renamed_option(old: str, new: str) -> Callable[[Any], Any]:
    """Return the old spelling of a repeatable option: it works, and says the new one."""
    target = new.removeprefix("--").replace("-", "_")

    def merge(context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> None:
        if values:
            click.echo(f"{old} is now {new}", err=True)
            context.params[target] = (*context.params.get(target, ()), *values)

    return click.option(old, multiple=True, hidden=True, expose_value=False, callback=merge)


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply several click options at once, in the order of --help."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply
