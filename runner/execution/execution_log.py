"""Logs executed commands, actions and waits, which ``--verbose`` shows."""

import logging
import shlex
from collections.abc import Sequence
from pathlib import Path

EXECUTION_LOG = logging.getLogger("faultwatch.execution")


def log_command(words: Sequence[str | Path], directory: Path | None = None, remark: str = "") -> None:
    """Log a command line, quoted for a shell.

    Parameters
    ----------
    directory
        Where it is executed, if that matters.
    remark
        Anything else about how it is executed.
    """
    if EXECUTION_LOG.isEnabledFor(logging.INFO):
        location = f"in {directory}" if directory else ""
        details = ", ".join(filter(None, [location, remark]))
        EXECUTION_LOG.info("+ %s%s", shlex.join(map(str, words)), f"  ({details})" if details else "")


def log_step(text: str, *arguments: object) -> None:
    """Log an action or a wait; the arguments are those of :meth:`logging.Logger.info`."""
    EXECUTION_LOG.info(text, *arguments)
