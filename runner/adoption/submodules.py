"""Fetches the missing submodules of the user's clone, from which builds take them."""

import os
import subprocess
from pathlib import Path

from runner.environment.secrets import hide_password
from runner.errors import FaultwatchError

_TIMEOUT_SECONDS = 1800.0
_UPDATE_ARGUMENTS = ("submodule", "update", "--init", "--recursive")
UPDATE_COMMAND = f"git {' '.join(_UPDATE_ARGUMENTS)}"
"""The command that fetches missing submodules, as a user would write it."""


def find_missing_submodules(top: Path) -> tuple[str, ...]:
    """Return the paths of a work tree's submodules that were never fetched.

    Raises
    ------
    FaultwatchError
        git fails.
    """
    lines = _run_git(top, "submodule", "status", "--recursive").split("\n")
    # git prints "-HASH PATH" for a submodule that was never fetched.
    return tuple(line[1:].partition(" ")[2] for line in lines if line.startswith("-"))


def fetch_submodules(top: Path) -> None:
    """Fetch the missing submodules.

    Raises
    ------
    FaultwatchError
        git fails; the message contains its first error, because later errors are consequences.
    """
    _run_git(top, *_UPDATE_ARGUMENTS)


def _run_git(top: Path, *arguments: str) -> str:
    """Run git in the top folder and return its output; raise with its first error if it fails."""
    command = ("git", *arguments)
    try:
        result = subprocess.run(
            command,
            cwd=top,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            timeout=_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise FaultwatchError(
            f"`{' '.join(command)}` did not finish within {_TIMEOUT_SECONDS:g} s", "run it by hand, then try again"
        ) from None
    if result.returncode:
        lines = result.stderr.strip().splitlines() or [f"exit code {result.returncode}"]
        errors = [line for line in lines if line.startswith(("fatal: ", "error: "))]
        cause = hide_password((errors or lines[-1:])[0])
        raise FaultwatchError(f"`{' '.join(command)}` failed in {top}: {cause}", "run it by hand, then try again")
    return result.stdout
