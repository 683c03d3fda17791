"""Runs commands for the counts by hand. Nothing of the product is used here."""

import ctypes
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_PR_SET_THP_DISABLE = 41


def words_of(command: str | Sequence[str]) -> list[str]:
    """Return the arguments of a command of a workload file."""
    return shlex.split(command) if isinstance(command, str) else list(command)


def run_command(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], *, small_pages: bool = False
) -> None:
    """Run a command to its end.

    Raises
    ------
    SystemExit
        It failed.
    """
    result = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=disable_huge_pages if small_pages else None,
    )
    if result.returncode:
        raise SystemExit(f"{shlex.join(words)}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")


def disable_huge_pages() -> None:
    """Let this process and those that it starts have no transparent huge pages."""
    ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)
