"""Fetches the submodules that a clone lacks, as their user would: builds take them from the clone."""

import os
import subprocess
from pathlib import Path

from runner.errors import FaultwatchError

_TIMEOUT = 1800.0
COMMAND = ("git", "submodule", "update", "--init", "--recursive")


def lacks_submodules(top: Path) -> bool:
    """Return whether a work tree has submodules that were never fetched."""
    return any(line.startswith("-") for line in _git(top, "git", "submodule", "status", "--recursive").splitlines())


def fetch_submodules(top: Path) -> None:
    """Fetch what is missing.

    Raises
    ------
    FaultwatchError
        git fails; the message contains its error.
    """
    _git(top, *COMMAND)


def _git(top: Path, *command: str) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=top,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise FaultwatchError(f"`{' '.join(command)}` did not finish within {_TIMEOUT:g} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise FaultwatchError(f"`{' '.join(command)}` failed in {top}: {said[-1]}", "run it yourself, then try again")
    return done.stdout
