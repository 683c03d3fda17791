"""The versions of the tools that build a revision."""

import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache

from runner.execution.start_block import BASE_VARIABLES
from runner.system.tree import Knobs

TOOLS: Mapping[str, str] = {"cc": "cc", "c++": "c++", "fortran": "gfortran", "linker": "ld"}
"""The default tools of a build: role → command."""


def knobs(tools: Mapping[str, str] | None = None) -> Knobs:
    """Return the first line of each tool's ``--version``; a missing tool is left out."""
    tools = TOOLS if tools is None else tools
    return {f"compiler.{role}": version(command) for role, command in tools.items()}


def version(command: str) -> str | None:
    """Return the first line of ``command --version``, or ``None`` if this host has no such command.

    The command is executed outside of any sandbox, so it is looked up on the runner's own ``PATH`` alone: a workload
    may name another one, and a stranger's workload one that leads to the stranger's programs.
    """
    program = shutil.which(command, path=BASE_VARIABLES["PATH"])
    return _version(program) if program else None


@lru_cache(maxsize=32)
def _version(program: str) -> str | None:
    try:
        output = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=10,
            check=False,
            env=dict(BASE_VARIABLES),
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    return output.decode(errors="replace").strip().partition("\n")[0] or None
