"""``faultwatch env``: show the environment of this host, or compare two environments."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from runner.cli.options import apply_options, env_option, json_option
from runner.cli.result_output import print_json

if TYPE_CHECKING:
    from runner.contract.report import Case, Environment


@click.command(name="env")
@apply_options(
    env_option,
    click.option(
        "--diff",
        nargs=2,
        metavar="BEFORE AFTER",
        help="Compare two environments, each a file from `env --json`, a saved report, or a run id.",
    ),
    json_option,
)
def command(variables: tuple[str, ...], diff: tuple[str, str] | None, as_json: bool) -> None:
    """Print every setting of this host that can move a fault count.

    With --diff, print the differences between two environments, from files or from stored runs. Exit code 0: no
    difference; 1: at least one.
    """
    if diff:
        _print_differences(*diff, as_json=as_json)
        return
    environment = _capture_environment(variables)
    if as_json:
        print_json({"hash": environment.hash, "settings": environment.settings})
        return
    _print_table(("Setting", "Value"), list(environment.settings.items()))
    click.echo(f"\nEnvironment {environment.hash}")


def _capture_environment(assignments: tuple[str, ...]) -> "Environment":
    """Return the environment of a run whose workload changes no settings."""
    from runner.cli.measuring_setup import prepare_workbench
    from runner.process_state.process_state import ProcessState
    from runner.settings import load_settings

    bench = prepare_workbench(load_settings(), assignments).bench
    return bench.capture(ProcessState(variables=bench.variables, cpus=bench.cpus))


def _print_differences(before: str, after: str, *, as_json: bool) -> None:
    """Print the settings that differ between two environments; exit with code 1 if there are any."""
    from runner.environment.capture import find_differences

    settings = find_differences(load_environment(before)[0], load_environment(after)[0])
    if as_json:
        print_json([dict(zip(("setting", "before", "after"), setting, strict=True)) for setting in settings])
    elif settings:
        _print_table(
            ("Setting", before, after),
            [(name, old_value or "–", new_value or "–") for name, old_value, new_value in settings],
        )
    else:
        click.echo("No setting differs.")
    sys.exit(1 if settings else 0)


def load_environment(name: str) -> "tuple[Environment, Case | None]":
    """Read an environment from the output of ``env --json``, or from a report or a stored run, which also has a case.

    Raises
    ------
    FaultwatchError
        The file or the run contains no environment.
    """
    from pydantic import ValidationError

    from runner.contract.report import Case, Environment
    from runner.errors import FaultwatchError

    if _is_run_id(name):
        from runner.reporting.embedded_service import connect_to_service
        from runner.settings import load_settings

        with connect_to_service(load_settings()) as service:
            run = service.get_run(name)
            return run.environment, run.case
    try:
        document = json.loads(Path(name).read_text(encoding="utf-8"))
        case = Case.model_validate(document["case"]) if "case" in document else None
        # A report contains an environment; the output of `env --json` is itself an environment.
        return Environment(settings=document.get("environment", document)["settings"]), case
    except OSError as error:
        raise FaultwatchError(
            f"{name}: {error.strerror}", "pass files that `faultwatch env --json` wrote, or run ids"
        ) from None
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError, ValidationError):
        # It is not JSON, or JSON of another shape.
        raise FaultwatchError(
            f"{name} contains no environment", "pass files that `faultwatch env --json` wrote, or saved reports"
        ) from None


def _is_run_id(name: str) -> bool:
    """Return whether a name is a run id; an existing file of that name takes precedence."""
    try:
        UUID(name)
    except ValueError:
        return False
    return not Path(name).exists()


def _print_table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print rows below titles, without borders."""
    from rich.table import Table

    from runner.cli.console import make_console
    from runner.cli.formatting import escape_text as escape

    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in titles:
        table.add_column(escape(title), overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    make_console(highlight=False).print(table)
