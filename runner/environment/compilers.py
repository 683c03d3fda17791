"""The versions of the tools that build a revision."""

import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache

from runner.execution.process_variables import BASE_VARIABLES
from runner.system.tree import SettingValues

TOOLS: Mapping[str, str] = {"cc": "cc", "c++": "c++", "fortran": "gfortran", "linker": "ld"}
"""The default tools of a build: role → command."""
_TIMEOUT_SECONDS = 10.0
"""Seconds within which a tool must print its version."""


def read_settings(tools: Mapping[str, str] | None = None) -> SettingValues:
    """Return the first line of each tool's ``--version``; a missing tool is left out.

    ``tools`` are the commands by role; by default the usual compilers.
    """
    tools = TOOLS if tools is None else tools
    programs = {role: _find_program(command) for role, command in tools.items()}
    for program in programs.values():
        if program:
            _start_version_query(program)  # All at once, because each takes some milliseconds.
    return {f"compiler.{role}": _read_version_line(program) if program else None for role, program in programs.items()}


def read_version(command: str) -> str | None:
    """Return the first line of ``command --version``, or ``None`` if this host has no such command.

    The command is executed outside of any sandbox, so it is looked up only on the runner's own ``PATH``: the ``PATH``
    that an untrusted workload sets could lead to a program of the workload's author.
    """
    program = _find_program(command)
    return _read_version_line(program) if program else None


def _find_program(command: str) -> str | None:
    return shutil.which(command, path=BASE_VARIABLES["PATH"])


@lru_cache(maxsize=32)
def _start_version_query(program: str) -> subprocess.Popen[bytes] | None:
    """Start a tool with ``--version`` and return the process; return None if it cannot be started.

    The process is cached, so that all tools can be started before the first answer is read.
    """
    try:
        return subprocess.Popen(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(BASE_VARIABLES),
        )
    except OSError:
        return None


@lru_cache(maxsize=32)
def _read_version_line(program: str) -> str | None:
    """Return the first line that a tool prints about its version; None if it prints none in time, or cannot start."""
    process = _start_version_query(program)
    if not process:
        return None
    try:
        output, _ = process.communicate(timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    return output.decode(errors="replace").strip().partition("\n")[0] or None
