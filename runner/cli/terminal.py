"""Prints messages on standard error, so that standard output contains only results, and widens logs."""

import logging
import os
import sys
from functools import lru_cache
from typing import Any

_LOG_COLUMNS = "160"


def widen_logs() -> None:
    """Set the width of the output if neither output is a terminal: at the default of 80 columns, tables are wrapped."""
    if not (sys.stdout.isatty() or sys.stderr.isatty()):
        os.environ.setdefault("COLUMNS", _LOG_COLUMNS)


@lru_cache
def get_console() -> Any:
    """Return the rich console on standard error."""
    from runner.cli.console import make_console

    return make_console(stderr=True)


def silence_console() -> None:
    """From now on, print nothing on standard error, except an error that ends the command."""
    get_console().quiet = True


def print_message(text: str) -> None:
    """Print a message on standard error. It may quote untrusted text, such as the reason why a job was paused."""
    from runner.cli.escape_for_terminals import strip_escape_sequences

    get_console().print(strip_escape_sequences(text), markup=False, highlight=False, soft_wrap=True)


def print_warning(text: str) -> None:
    """Print a warning on standard error."""
    from runner.cli.escape_for_terminals import strip_escape_sequences

    get_console().print(strip_escape_sequences(text), style="yellow", markup=False, highlight=False, soft_wrap=True)


def enable_execution_log() -> None:
    """From now on, print each executed command and each wait on standard error."""
    from runner.execution.execution_log import EXECUTION_LOG

    EXECUTION_LOG.setLevel(logging.INFO)
    EXECUTION_LOG.propagate = False
    if not EXECUTION_LOG.handlers:
        EXECUTION_LOG.addHandler(_Verbose())


class _Verbose(logging.Handler):
    """Prints log records as dimmed lines, without the secrets of the environment and of URLs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a log record without secrets and escape sequences."""
        from runner.cli.escape_for_terminals import strip_escape_sequences
        from runner.environment.secrets import hide_secrets

        text = strip_escape_sequences(hide_secrets(record.getMessage(), os.environ))
        get_console().print(text, style="dim", markup=False, highlight=False, soft_wrap=True)
