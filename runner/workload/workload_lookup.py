"""Finds workloads by path, shipped workloads by name, and metrics and cases of a workload by name.

:mod:`runner.subject.workload_by_name` finds a workload by its name in a repository.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path

from runner.contract.metrics import CATALOGUE
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.definition import WORKLOAD_FILE, Workload, load_workload
from runner.workload.parameter_matrix import list_cases

SHIPPED_WORKLOADS = Path(__file__).resolve().parents[2] / "workloads"
"""The folder of the shipped workloads."""
_MAX_LISTED_CASES = 8
"""The largest number of cases that a message lists."""


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


def choose_cases(workload: Workload, parameter_choices: Sequence[str], names: Sequence[str] = ()) -> tuple[Case, ...]:
    """Return the cases of a workload that match the choices of ``--set`` and have one of the names of ``--case``.

    Raises
    ------
    FaultwatchError
        A choice or a name matches no case.
    """
    return find_named_cases(workload, list_cases(workload, parameter_choices), names)


def find_named_cases(workload: Workload, cases: Sequence[Case], names: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases with one of the names; without names, return all cases. See :func:`choose_cases`."""
    case_names = [case.name for case in cases]
    unknown_names = [name for name in names if name not in case_names]
    if unknown_names:
        similar_names = difflib.get_close_matches(unknown_names[0], case_names, n=1)
        raise FaultwatchError(
            f"{workload.name} has no case {unknown_names[0]!r}",
            f"did you mean {similar_names[0]!r}?" if similar_names else _describe_cases(case_names),
        )
    return tuple(case for case in cases if not names or case.name in names)


def choose_single_case(workload: Workload, parameter_choices: Sequence[str], names: Sequence[str] = ()) -> Case:
    """Return the single case of a workload that matches; see :func:`choose_cases`.

    Raises
    ------
    FaultwatchError
        No case matches, or more than one.
    """
    chosen_cases = choose_cases(workload, parameter_choices, names)
    if len(chosen_cases) != 1:
        first_case = f"the first is {chosen_cases[0].name}" if chosen_cases else "none matches"
        raise FaultwatchError(
            f"this command accepts only one case, but {len(chosen_cases)} cases match",
            f"choose one with --set or --case: {first_case}",
        )
    return chosen_cases[0]


def _describe_cases(names: Sequence[str]) -> str:
    """Return the names of a workload's cases for a message; of many names, only the first."""
    remainder = f" and {len(names) - _MAX_LISTED_CASES} more" if len(names) > _MAX_LISTED_CASES else ""
    return f"its cases: {', '.join(names[:_MAX_LISTED_CASES]) or 'none'}{remainder}"
