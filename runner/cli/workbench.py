"""The workbench of a command: checked, with its warnings shown."""

import re
from collections.abc import Iterable

from runner.cli.terminal import terminal
from runner.errors import FaultwatchError
from runner.measuring.preflight import Workbench, prepare
from runner.settings import Settings


def prepare_workbench(
    settings: Settings, assignments: Iterable[str] = (), *, examined: bool = True, confined: bool = False
) -> Workbench:
    """Prepare measurements on this host with ``--env`` assignments, and show what speaks against the host.

    Raises
    ------
    FaultwatchError
        As :func:`runner.measuring.preflight.prepare`, and where an assignment is not of the form NAME=VALUE.
    """
    workbench = prepare(settings, parse_variables(assignments), examined=examined, confined=confined)
    for line in workbench.warnings:
        terminal().print(line, style="yellow", markup=False, highlight=False)
    return workbench


def parse_variables(assignments: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=VALUE`` arguments.

    Raises
    ------
    FaultwatchError
        Where one is not of that form.
    """
    variables = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in value:
            raise FaultwatchError(f"--env {assignment!r} is not of the form NAME=VALUE")
        variables[name] = value
    return variables
