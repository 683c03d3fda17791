"""Finds workloads by path, shipped workloads by name, and metrics of a workload by name.

:mod:`runner.subject.workload_by_name` finds a workload by its name in a repository.
"""

import difflib
from pathlib import Path

from runner.contract.metrics import CATALOGUE
from runner.errors import FaultwatchError
from runner.workload.definition import WORKLOAD_FILE, Workload, load_workload

SHIPPED_WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
"""The folder of the shipped workloads."""


def find_workload(name: str) -> Workload:
    """Return a workload by the path of its file or folder, or a shipped workload by its name.

    Raises
    ------
    FaultwatchError
        There is no such workload, or its file is not valid.
    """
    if not is_path(name):
        shipped_folder = SHIPPED_WORKLOADS / name
        if (shipped_folder / WORKLOAD_FILE).exists():
            return load_workload(shipped_folder)
        if not Path(name).exists():
            raise FaultwatchError(
                f"{name}: no such file or folder, and no shipped workload has that name",
                "pass the path of its workload.toml, or its repository with --repo; shipped workloads: "
                f"{', '.join(list_shipped_names())}",
            )
    return load_workload(Path(name))


def is_path(name: str) -> bool:
    """Return whether a word is the path of a workload file or of its folder, and not a name.

    A word without a slash is a name even if a program, or a folder without a workload file, happens to have this name.
    """
    path = Path(name)
    return "/" in name or (path / WORKLOAD_FILE).exists() or (path.is_file() and path.suffix == ".toml")


def list_shipped_names() -> list[str]:
    """Return the names of the shipped workloads."""
    return sorted(file.parent.name for file in SHIPPED_WORKLOADS.glob(f"*/{WORKLOAD_FILE}"))


def check_metric(workload: Workload, name: str) -> None:
    """Raise if a workload never reports a metric.

    Raises
    ------
    FaultwatchError
        There is no such metric; the message suggests the most similar name.
    """
    metric_names = {*CATALOGUE, *workload.metrics.events}
    if name.removeprefix("region:") in metric_names:
        return
    similar_names = difflib.get_close_matches(name, metric_names, n=1)
    raise FaultwatchError(
        f"{workload.name} has no metric {name!r}",
        f"did you mean {similar_names[0]!r}?" if similar_names else f"known metrics: {', '.join(sorted(metric_names))}",
    )
