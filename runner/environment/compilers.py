"""The versions of the tools that build a revision."""

import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache

from runner.execution.start_block import BASE_VARIABLES
from runner.system.tree import Knobs

TOOLS: Mapping[str, str] = {"cc": "cc", "c++": "c++", "fortran": "gfortran", "linker": "ld"}
"""The default tools of a build: role → command."""


def knobs(tools: Mapping[str, str] | None = None, path: str = BASE_VARIABLES["PATH"]) -> Knobs:
    """Return the first line of each tool's ``--version``; a missing tool is left out.

    ``path`` is the ``PATH`` on which a build finds them, which the caller's may differ from.
    """
    tools = TOOLS if tools is None else tools
    return {f"compiler.{role}": version(command, path) for role, command in tools.items()}


def version(command: str, path: str = BASE_VARIABLES["PATH"]) -> str | None:
    """Return the first line of ``command --version``, or ``None`` if there is no such command on a path."""
    program = shutil.which(command, path=path)
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
