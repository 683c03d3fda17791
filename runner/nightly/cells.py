"""Lists the cells of a matrix, and applies configurations to workloads."""

from collections.abc import Iterator
from typing import Any

from runner.contract.base import Parameter
from runner.contract.nightly import MAX_CELLS, NightlyCell
from runner.errors import FaultwatchError
from runner.nightly.matrix_file import Configuration, Matrix, WorkloadEntry
from runner.workload import Workload
from runner.workload.placeholders import escape_braces

_THREADS_VARIABLE = "OMP_NUM_THREADS"
_CONFIGURATION_PARAMETER = "configuration"
"""The parameter with the name of a configuration that sets variables."""


def plan_cells(matrix: Matrix, this_host: str) -> tuple[NightlyCell, ...]:
    """Return the cells of all hosts.

    Parameters
    ----------
    this_host
        The name of this host: the only host if the matrix names none.

    Raises
    ------
    FaultwatchError
        A cell is listed twice, or there are more cells than a nightly run may have.
    """
    combinations = list(_list_combinations(matrix))
    if len(combinations) > MAX_CELLS:
        raise FaultwatchError(
            f"{matrix.path} has {len(combinations):,} cells, but a nightly run may have at most {MAX_CELLS:,}",
            "divide it into several matrix files",
        )
    return tuple(
        NightlyCell(host=host if matrix.hosts else this_host, configuration=configuration, workload=entry.path)
        for host, configuration, entry in combinations
    )


def list_host_cells(matrix: Matrix, this_host: str) -> tuple[tuple[NightlyCell, WorkloadEntry], ...]:
    """Return the cells of this host, each with its entry in the matrix.

    Raises
    ------
    FaultwatchError
        The matrix names only other hosts.
    """
    if matrix.hosts and this_host not in matrix.hosts:
        raise FaultwatchError(
            f"{matrix.path}: this host, {this_host}, is not one of {', '.join(matrix.hosts)}",
            "add it, or set FAULTWATCH_HOST to one of these names",
        )
    cells_with_entries = zip(
        plan_cells(matrix, this_host), (entry for _, _, entry in _list_combinations(matrix)), strict=True
    )
    return tuple((cell, entry) for cell, entry in cells_with_entries if cell.host == this_host)


def build_github_jobs(matrix: Matrix) -> list[dict[str, Any]]:
    """Return the job matrix of GitHub Actions: each host once, with the labels of its runner.

    Raises
    ------
    FaultwatchError
        The matrix names no hosts, so the machines are unknown before the jobs run.
    """
    if not matrix.hosts:
        raise FaultwatchError(f"{matrix.path} does not name any hosts", "add [hosts.NAME] for each machine")
    used_hosts = {host for host, _, _ in _list_combinations(matrix)}
    return [
        {"host": name, "labels": list(host.labels or ("self-hosted", name))}
        for name, host in matrix.hosts.items()
        if name in used_hosts
    ]


def _list_combinations(matrix: Matrix) -> Iterator[tuple[str, str, WorkloadEntry]]:
    """Yield each combination of host, configuration and workload that the matrix asks for.

    Raises
    ------
    FaultwatchError
        A combination is listed twice.
    """
    listed_combinations = set()
    for host in matrix.host_names:
        for configuration in matrix.configuration_names:
            for entry in matrix.workloads:
                # An empty list switches the workload off.
                is_on_host = entry.hosts is None or host in entry.hosts
                is_in_configuration = entry.configurations is None or configuration in entry.configurations
                combination = host, configuration, entry.path
                if is_on_host and is_in_configuration:
                    if combination in listed_combinations:
                        raise FaultwatchError(
                            f"{matrix.path}: {entry.path} is listed twice for {configuration} on {host}",
                            "put all of its parameters into one entry",
                        )
                    listed_combinations.add(combination)
                    yield host, configuration, entry


def format_case_choices(entry: WorkloadEntry) -> tuple[str, ...]:
    """Return an entry's values of parameters, which choose its cases, in the form of ``--set``."""
    choices = []
    for name, value_or_values in entry.set.items():
        values = value_or_values if isinstance(value_or_values, tuple) else (value_or_values,)
        choices.append(f"{name}={','.join(map(str, values))}")
    return tuple(choices)


def apply_configuration(
    workload: Workload, name: str, configuration: Configuration
) -> tuple[Workload, tuple[str, ...]]:
    """Return a workload with the settings of a configuration, and the resulting choices of cases, as for ``--set``.

    A setting for which the workload has a parameter, such as a list of allocators, becomes a choice of cases. Every
    other setting becomes a parameter with one value, so that each configuration has its own series and drifts.

    Parameters
    ----------
    name
        The name of the configuration, which becomes a parameter if the configuration sets variables.

    Raises
    ------
    FaultwatchError
        A server would need several processes, or the workload has a parameter ``configuration`` of its own.
    """
    case_choices: list[str] = []
    added_parameters: dict[str, Parameter] = {}
    run_keys: dict[str, Any] = {}
    environment = dict(workload.run.environment)
    for key in ("allocator", "huge_pages", "threads", "processes", "memory_limit"):
        value = getattr(configuration, key)
        if value is None:
            continue
        if key == "processes" and workload.server:
            raise FaultwatchError(
                f"the configuration {name} sets `processes`, but {workload.name} is a server, and only one "
                "instance of a server is started",
                f"in its [[workloads]] entry, list all configurations other than {name} as `configurations`",
            )
        if key in workload.matrix:
            case_choices.append(f"{key}={value}")
            continue
        added_parameters[key] = value
        if key == "threads":
            environment[_THREADS_VARIABLE] = "{threads}"
        else:
            run_keys[key] = f"{{{key}}}"
    if configuration.environment:
        if _CONFIGURATION_PARAMETER in workload.matrix:
            raise FaultwatchError(
                f"the configuration {name} sets variables, so its cases get the parameter "
                f"{_CONFIGURATION_PARAMETER!r}, but {workload.name} already has a parameter of this name",
                "give the parameter of the workload another name",
            )
        # Escape braces, which would be placeholders: the values are literal.
        environment |= {variable: escape_braces(value) for variable, value in configuration.environment.items()}
        added_parameters[_CONFIGURATION_PARAMETER] = name
    if not added_parameters:
        return workload, tuple(case_choices)
    fields: dict[str, Any] = {field: getattr(workload, field) for field in Workload.model_fields}
    fields["run"] = workload.run.model_copy(update={**run_keys, "environment": environment})
    fields["matrix"] = {**workload.matrix, **{key: (value,) for key, value in added_parameters.items()}}
    fields["include"] = tuple({**point, **added_parameters} for point in workload.include)
    # Do not use model_copy: the copy would keep the cached hash of the original.
    return Workload.model_validate(fields), tuple(case_choices)
