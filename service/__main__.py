"""The faultwatch-service command."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from pathlib import Path

import click

from service.cli.config import config
from service.cli.diagnose import diagnose
from service.cli.notify import notify
from service.cli.progress import add_quiet_option
from service.cli.storage import backup, export, forget, restore, retain
from service.cli.token import token
from service.errors import ServiceError
from service.parent_process import stop_with_parent

_WRONG = 2
"""The exit code if the request, the host or the database is wrong: see docs/reference/commands.md."""
_INSTALL = "Install the service with `pip install 'faultwatch[service]'`; in a clone run `make run`."


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="faultwatch", prog_name="faultwatch-service")
def cli() -> None:
    """Store measurements, find drifts, and notify people."""


cli.add_command(notify)
cli.add_command(config)


@cli.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Port; 0 for a free port.  [default: FAULTWATCH_PORT or 8080]",
)
@click.option(
    "--port-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to which the port is written once the service listens.",
)
@click.option("--parent", type=click.IntRange(1), metavar="PID", help="Stop when this process ends.")
def serve(host: str, port: int | None, port_file: Path | None, parent: int | None) -> None:
    """Serve the API and the pages."""
    if parent is not None:
        stop_with_parent(parent)
    # Imports make many objects and no garbage: looking for some takes a seventh of their time.
    gc.disable()
    from service.forges.registry import read_config  # noqa: PLC0415

    settings = read_config()
    from service import serving  # noqa: PLC0415 - so that --help and wrong settings answer fast

    gc.freeze()
    gc.enable()
    serving.serve(settings if port is None else settings.copy_with(port=port), host, port_file)


@cli.command()
def upgrade() -> None:
    """Upgrade the database to the schema of this version, as serve does."""
    from service.config.settings import Config  # noqa: PLC0415
    from service.store.engine.database import BUSY_SECONDS_AT_START, Database  # noqa: PLC0415
    from service.store.engine.upgrade import upgrade_database as run  # noqa: PLC0415

    database = Database(Config.from_environment().database_url, BUSY_SECONDS_AT_START)
    run(database)
    click.echo(f"The database is up to date: {database.name}")


for command in (diagnose, token, backup, restore, export, retain, forget):
    cli.add_command(command)
add_quiet_option(cli)


def main() -> None:
    """Run the command; an error that a person can act on is one line, without a traceback, and exit code 2."""
    try:
        # With standalone_mode=False, click returns the exit code instead of exiting.
        status = cli.main(standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:  # There is nothing wrong to be named.
        click.echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "faultwatch-service"
        click.echo(f"{path}: {' '.join(error.format_message().split())}", err=True)
        click.echo(f"  → `{path} -h` shows its arguments and options", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except ServiceError as error:
        click.echo(f"faultwatch-service: {error}", err=True)
        sys.exit(_WRONG)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"service", "runner"}:
            raise
        # Faultwatch was installed without the packages of the service, or an update of the clone needs a new one.
        click.echo(f"faultwatch-service: the package {error.name} is not installed. {_INSTALL}", err=True)
        sys.exit(_WRONG)
    except Exception as error:
        # Python's own exit code, 1, has a meaning: see docs/reference/commands.md.
        traceback.print_exception(error)
        click.echo("faultwatch-service: this is a bug in Faultwatch", err=True)
        click.echo("  → please report it, with the lines above", err=True)
        sys.exit(os.EX_SOFTWARE)


if __name__ == "__main__":
    main()
