"""The faultwatch-service command."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import traceback
from pathlib import Path

import click

from service.cli.comment import comment
from service.cli.config import config
from service.cli.diagnose import diagnose
from service.cli.notify import notify
from service.cli.opened_database import open_database
from service.cli.progress import add_quiet_option
from service.cli.publish import publish
from service.cli.storage import backup, export, forget, reindex, restore, retain
from service.cli.token import token
from service.errors import ServiceError
from service.parent_process import stop_with_parent

_ERROR_STATUS = 2
"""The exit code if the request, the host or the database is wrong: see docs/reference/commands.md."""
_FILE_ERRORS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.ENAMETOOLONG,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""Error numbers that mean that a file cannot be read or written. Any other OSError is a bug."""
_FILE_REMEDY = "Free some disk space, or choose a file that this user may read and whose folder this user may write to."
_MAX_PID = 2**22
"""The largest process id on Linux."""
_INSTALLATION_REMEDY = "Install the service with `pip install 'faultwatch[service]'`; in a clone, run `make run`."


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
    help="Port to listen on; 0 picks a free one.  [default: FAULTWATCH_PORT or 8080]",
)
@click.option(
    "--port-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to which the port is written once the service is listening.",
)
@click.option(
    "--parent",
    type=click.IntRange(1, _MAX_PID),
    metavar="PID",
    help="Stop the service when the process with this id ends.",
)
def serve(host: str, port: int | None, port_file: Path | None, parent: int | None) -> None:
    """Serve the API and the pages."""
    if parent is not None:
        stop_with_parent(parent)
    # Imports create many objects but no garbage: searching for it would take a seventh of the import time.
    gc.disable()
    from service.forges.registry import read_config  # noqa: PLC0415

    settings = read_config()
    from service import serving  # noqa: PLC0415 - so that --help and wrong settings answer fast

    gc.freeze()
    gc.enable()
    serving.serve(settings if port is None else settings.copy_with_values(port=port), host, port_file)


@cli.command()
def upgrade() -> None:
    """Upgrade the database to the schema of this version, as serve does."""
    with open_database(may_be_new=True) as database:
        click.echo(f"The database is up to date: {database.name}")


for command in (diagnose, comment, publish, token, backup, restore, export, retain, forget, reindex):
    cli.add_command(command)
add_quiet_option(cli)


def main() -> None:
    """Run the command. Print errors that a person can act on without a traceback, and exit with code 2."""
    try:
        # With standalone_mode=False, click returns the exit code instead of exiting.
        status = cli.main(prog_name="faultwatch-service", standalone_mode=False)
        sys.stdout.flush()  # reports a full disk here, where it is handled
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:  # Without arguments, only the help is printed.
        click.echo(error.format_message(), err=True)
        sys.exit(error.exit_code)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "faultwatch-service"
        click.echo(f"{path}: {' '.join(error.format_message().split())}", err=True)
        click.echo(f"  → `{path} -h` shows its arguments and options", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    except ServiceError as error:
        click.echo(f"faultwatch-service: {error}", err=True)
        sys.exit(_ERROR_STATUS)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {"service", "runner"}:
            raise
        # Faultwatch was installed without the service's dependencies, or an update of the clone has added one.
        click.echo(f"faultwatch-service: the package {error.name} is not installed. {_INSTALLATION_REMEDY}", err=True)
        sys.exit(_ERROR_STATUS)
    except BrokenPipeError:  # The reader closed the pipe; nothing is wrong.
        _discard_output()
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FILE_ERRORS:
            _discard_output()
            file_name = error.filename or "the output"
            what = f"The file cannot be read or written: {file_name} ({error.strerror})"
            click.echo(f"faultwatch-service: {what}. {_FILE_REMEDY}", err=True)
            sys.exit(_ERROR_STATUS)
        # Python's default exit code for exceptions, 1, has a different meaning: see docs/reference/commands.md.
        traceback.print_exception(error)
        click.echo("faultwatch-service: this is a bug in Faultwatch", err=True)
        click.echo("  → please report it, and include the lines above", err=True)
        sys.exit(os.EX_SOFTWARE)


def _discard_output() -> None:
    """Redirect standard output to /dev/null, because Python flushes the rest of it at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
