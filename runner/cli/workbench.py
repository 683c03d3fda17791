"""Prepares the workbench of a command, and shows its warnings."""

from collections.abc import Iterable
from dataclasses import replace

from runner.cli.terminal import terminal
from runner.contract.code_trust import CodeOrigin
from runner.measuring.preflight import Workbench, prepare
from runner.settings import Settings
from runner.workload.assignments import parse_assignments


def prepare_workbench(
    settings: Settings,
    assignments: Iterable[str] = (),
    *,
    examined: bool = True,
    confined: bool = False,
    origin: CodeOrigin = CodeOrigin.OWN,
    again: bool = False,
) -> Workbench:
    """Prepare measurements on this host with ``--env`` assignments, and show the warnings about the host.

    Raises
    ------
    FaultwatchError
        As :func:`runner.measuring.preflight.prepare`, or an assignment does not have the form NAME=VALUE.
    """
    variables = parse_variables(assignments)
    workbench = prepare(settings, variables, examined=examined, confined=confined, origin=origin, say=_warn)
    if again:
        workbench = replace(workbench, builder=replace(workbench.builder, again=True))
    for line in workbench.warnings:
        _warn(line)
    return workbench


def _warn(line: str) -> None:
    terminal().print(line, style="yellow", markup=False, highlight=False)


def parse_variables(assignments: Iterable[str]) -> dict[str, str]:
    """Parse ``--env NAME=VALUE`` arguments.

    Raises
    ------
    FaultwatchError
        An argument does not have that form.
    """
    return parse_assignments("--env", assignments, r"[A-Za-z_][A-Za-z0-9_]*")
