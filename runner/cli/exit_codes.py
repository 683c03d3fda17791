"""Runs a command, and turns its errors into messages and exit codes."""

import errno
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.errors import FaultwatchError

_WRITE_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}
"""Errors of the kernel if a file cannot be written. Any other error is a bug, and is shown in full."""
_DISK_FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT}
_MAX_NAME_CHARACTERS = 200
"""How many characters of a file's name are shown."""

_signals: list[int] = []
"""The signals that have asked this command to end."""


def raise_interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    """Handle a signal like Ctrl-C, so that started programs are ended and settings are restored."""
    signal.signal(number, signal.SIG_IGN)  # a second signal would interrupt the clean-up
    _signals.append(number)
    raise KeyboardInterrupt


def _exit_after_interrupt() -> NoReturn:
    """Exit with the code with which a shell reports that a signal has ended the program."""
    click.echo("faultwatch: stopped; stored runs are kept", err=True)
    sys.exit(128 + (_signals[0] if _signals else signal.SIGINT))


def _exit_after_crash(error: Exception) -> NoReturn:
    """Exit with a distinct code after an internal error: Python's usual code 1 means that a metric got worse."""
    import traceback

    from runner.environment.secrets import hide_secrets

    text = "".join(traceback.format_exception(error))
    click.echo(strip_escape_sequences(hide_secrets(text, os.environ)), err=True, nl=False)
    click.echo("faultwatch: this is a bug in Faultwatch, so there is no result", err=True)
    click.echo("  → please report it, and include the lines above", err=True)
    sys.exit(os.EX_SOFTWARE)


def exit_after_unexpected_error(error: Exception) -> NoReturn:
    """Exit after an exception that no command has foreseen: a signal, or a bug."""
    # If a signal handler raises while a class is created, as in an import, Python raises another error instead.
    if _signals:
        _exit_after_interrupt()
    _exit_after_crash(error)


def _show_usage(error: click.UsageError) -> None:
    """Print what is wrong with the arguments; without arguments, print the choices."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    path = error.ctx.command_path if error.ctx else "faultwatch"
    click.echo(strip_escape_sequences(f"{path}: {' '.join(error.format_message().split())}"), err=True)
    click.echo(f"  → {_suggest_revision_option(error)}`{path} -h` shows its arguments and options", err=True)


def _suggest_revision_option(error: click.UsageError) -> str:
    """Return a hint to use --revision if a command for one commit got too many arguments; otherwise an empty text."""
    names = {parameter.name for parameter in error.ctx.command.params} if error.ctx else set()
    has_too_many = "unexpected extra argument" in error.message and "revision" in names
    return "pass a commit with --revision; " if has_too_many else ""


def _find_remedy(error: OSError) -> str:
    """Return how to remedy an error of the kernel; empty if the error is a bug."""
    if error.errno == errno.ENAMETOOLONG:
        return "shorten the path or the name that was given"
    # An error on an open file contains no name. Without a name, only a full disk is certainly not a bug.
    if error.errno in _DISK_FULL_ERRORS:
        return "free some space, or set FAULTWATCH_HOME to a folder on another disk"
    if error.errno in _WRITE_ERRORS and error.filename:
        return "make this path accessible, or set FAULTWATCH_HOME to a folder that you can write to"
    return ""


def run_and_exit(command: click.Command) -> NoReturn:
    """Run the command, and exit with its code, or with that of its error."""
    try:
        # With standalone_mode=False, click returns the exit code instead of exiting.
        exit_code = command(prog_name="faultwatch", standalone_mode=False)
    except click.exceptions.Abort:
        _exit_after_interrupt()
    except click.UsageError as error:
        _show_usage(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(strip_escape_sequences(f"faultwatch: {error.format_message()}"), err=True)
        sys.exit(error.exit_code)
    except FaultwatchError as error:
        click.echo(strip_escape_sequences(f"faultwatch: {error.what}"), err=True)
        if error.remedy:
            click.echo(strip_escape_sequences(f"  → {error.remedy}"), err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader has closed the pipe, which is not an error. Discard what Python flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)  # as a shell reports a program that the signal has ended
    except OSError as error:
        remedy = _find_remedy(error)
        if not remedy:
            raise
        file_name = str(error.filename or "a file")[:_MAX_NAME_CHARACTERS]
        click.echo(strip_escape_sequences(f"faultwatch: {file_name}: {error.strerror}"), err=True)
        click.echo(f"  → {remedy}", err=True)
        sys.exit(2)
    else:
        sys.exit(exit_code if isinstance(exit_code, int) else 0)
