"""Finds workloads by path or name, and their metrics and cases by name."""

import difflib
from pathlib import Path

from runner.contract.metrics import CATALOGUE
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.definition import Workload, load_workload
from runner.workload.matrix import cases

SHIPPED_WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
"""The folder of the shipped workloads."""


def find_workload(name: str) -> Workload:
    """Load a workload by the path of its file or folder, or by the name of a shipped one."""
    shipped = SHIPPED_WORKLOADS / name
    if not Path(name).exists() and "/" not in name:
        if (shipped / "workload.toml").exists():
            return load_workload(shipped)
        raise FaultwatchError(
            f"{name}: no such file or folder, and no shipped workload of that name",
            f"shipped workloads: {', '.join(shipped_names())}",
        )
    return load_workload(Path(name))


def shipped_names() -> list[str]:
    """Return the names of the shipped workloads."""
    return sorted(file.parent.name for file in SHIPPED_WORKLOADS.glob("*/workload.toml"))


def check_metric(workload: Workload, name: str) -> None:
    """Refuse a metric that a workload never reports.

    Raises
    ------
    FaultwatchError
        There is no such metric; the message suggests the most similar name.
    """
    known = {*CATALOGUE, *workload.metrics.events}
    if name.removeprefix("region:") in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    raise FaultwatchError(
        f"{workload.name} has no metric {name!r}",
        f"did you mean {near[0]!r}?" if near else f"known metrics: {', '.join(sorted(known))}",
    )


def one_case(workload: Workload, choices: tuple[str, ...], name: str | None) -> Case:
    """Return the only case of a workload that matches the choices and the name.

    Raises
    ------
    FaultwatchError
        No case matches, or more than one.
    """
    chosen = [case for case in cases(workload, choices) if name in {None, case.name}]
    if len(chosen) != 1:
        names = ", ".join(case.name for case in cases(workload, choices))
        what = f"there is no case {name!r}" if not chosen else "several cases match, but only one can be searched"
        raise FaultwatchError(what, f"name one with --case: {names}")
    return chosen[0]
