"""Arranges the runs of one commit by settings, so that only comparable runs share a grid.

A run belongs to a cell if it has the cell's values, and those of the default in every other setting. Two runs of the
same session were measured interleaved, so all of their metrics are comparable.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from uuid import UUID

from runner.contract import Outcome
from service.lab.rules.setting_names import ALLOCATOR, Value
from service.rules.jobs.job_settings import PARAMETER, PRELOAD, VARIABLE, is_per_run

MAX_CELLS = 120
"""The largest number of cells of a grid: more would be unreadable, and take too long to measure."""


@dataclass(frozen=True, slots=True)
class LabRun:
    """A run of the commit on the host, with its settings: those of its environment, and ``parameter.NAME``."""

    number: int
    run_id: UUID
    case_key: str
    settings: Mapping[str, str]
    environment: str
    started_at: datetime
    outcome: Outcome
    session: UUID | None = None
    failure: str = ""
    is_outside_history: bool = False
    """Whether the run was measured for a search or a lab, so that it is not a point of a series."""
    reused: bool = False
    own_bytes: str | None = None

    @property
    def measured(self) -> bool:
        """Whether the run has samples."""
        return self.outcome is Outcome.MEASURED


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting in which the runs differ, or for which a person has added values."""

    name: str
    values: tuple[Value, ...]
    """The values, the default first."""
    implied_settings: tuple[str, ...] = ()
    """For a parameter: the settings that it determines."""

    @property
    def default(self) -> Value:
        """The value of the default cell."""
        return self.values[0]

    @property
    def per_run(self) -> bool:
        """Whether a job can set this setting for a single run."""
        return is_per_run(self.name)

    @property
    def changes_the_work(self) -> bool:
        """Whether, according to the runs, this is a parameter of the program itself, whose values do different work."""
        return self.name.startswith(PARAMETER) and not self.implied_settings


@dataclass(frozen=True, slots=True)
class GridCell:
    """One combination of values of the settings, with its runs.

    Attributes
    ----------
    run
        The newest run with samples that was measured interleaved with the default; if there is none, the newest run
        with samples.
    interleaved_default
        The run of the default cell that was measured interleaved with ``run``.
    failed
        The newest failed run, if it is newer than ``run``.
    other_differences
        If every run with these values also differs from the default in other settings: these settings of the run that
        has the fewest.
    """

    values: Mapping[str, Value]
    default: bool
    run: LabRun | None = None
    interleaved_default: LabRun | None = None
    failed: LabRun | None = None
    other_differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingsGrid:
    """The cells: one for each combination of a row's and a column's values."""

    rows: tuple[Setting, ...]
    columns: tuple[Setting, ...]
    row_values: tuple[tuple[Value, ...], ...]
    column_values: tuple[tuple[Value, ...], ...]
    cells: tuple[tuple[GridCell, ...], ...]
    """The cells of each row, in the order of the columns."""

    @property
    def all_cells(self) -> list[GridCell]:
        """All cells, row by row."""
        return [cell for row in self.cells for cell in row]


def choose_default_run(runs: Iterable[LabRun], case_key: str, environment: str = "") -> LabRun | None:
    """Return the run whose settings are the default: the run of a history that has the fewest variables set.

    None if no run of the case belongs to a history.

    The host may have changed since this run was measured. Therefore the newest run of the case with the same values of
    the settings that a job can set is returned instead, even if it was measured for a lab.

    Parameters
    ----------
    environment
        The hash of an environment: if a history has runs in it, the newest of these is returned. Empty for none.
    """
    runs_of_case = sorted(
        (run for run in runs if run.case_key == case_key), key=lambda run: run.started_at, reverse=True
    )
    history_runs = [run for run in runs_of_case if not run.is_outside_history]
    runs_in_environment = [run for run in history_runs if run.environment == environment]
    if not history_runs:
        return None
    if runs_in_environment:
        return runs_in_environment[0]
    plainest_run = min(history_runs, key=lambda run: sum(name.startswith(VARIABLE) for name in run.settings))
    settings_per_run = _select_settings_per_run(plainest_run)
    return next(run for run in runs_of_case if _select_settings_per_run(run) == settings_per_run)


def find_settings(
    runs: Sequence[LabRun], default: Mapping[str, str], added_values: Mapping[str, Sequence[Value]]
) -> list[Setting]:
    """Return the settings that a person added, followed by those in which runs differ from the default.

    Settings that another setting determines are left out.
    """
    # The values of each setting are the keys of a dict, which keeps their order and has no duplicates.
    values_of: dict[str, dict[Value, None]] = {name: dict.fromkeys(values) for name, values in added_values.items()}
    for run in runs:
        for name in run.settings.keys() | default.keys():
            if run.settings.get(name) != default.get(name):
                values_of.setdefault(name, {})[run.settings.get(name)] = None
    parameters = [name for name in values_of if name.startswith(PARAMETER)]
    settings_of_parameter = {name: _list_dependent_settings(runs, name, values_of, added_values) for name in parameters}
    implied_names = {name for names_of_parameter in settings_of_parameter.values() for name in names_of_parameter}
    if PRELOAD in values_of:  # The preloaded library determines the allocator.
        implied_names.add(ALLOCATOR)
    settings = [
        Setting(name, _sort_values(values, default.get(name)), settings_of_parameter.get(name, ()))
        for name, values in values_of.items()
        if name in added_values or name not in implied_names
    ]
    index_by_name = {name: number for number, name in enumerate(added_values)}
    return sorted(
        settings,
        key=lambda setting: (index_by_name.get(setting.name, len(index_by_name)), _rank_setting(setting), setting.name),
    )


def choose_axes(
    settings: Sequence[Setting], row_names: Sequence[str], column_names: Sequence[str]
) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Return the settings of the rows and of the columns: those that a person chose, or else the first two suitable.

    Suitable are settings that a job can set, except parameters that change the work of the program.
    """
    setting_by_name = {setting.name: setting for setting in settings}
    chosen_rows = tuple(setting_by_name[name] for name in dict.fromkeys(row_names) if name in setting_by_name)
    chosen_columns = tuple(
        setting_by_name[name]
        for name in dict.fromkeys(column_names)
        if name in setting_by_name and setting_by_name[name] not in chosen_rows
    )
    if chosen_rows or chosen_columns:
        return chosen_rows, chosen_columns
    job_settings = [setting for setting in settings if setting.per_run and not setting.changes_the_work]
    return tuple(job_settings[:1]), tuple(job_settings[1:2])


def build_grid(
    runs: Sequence[LabRun],
    default: Mapping[str, str],
    rows: Sequence[Setting],
    columns: Sequence[Setting],
) -> SettingsGrid:
    """Return the grid, with each run in the cell of its settings.

    Raises
    ------
    ValueError
        The grid would have more than :data:`MAX_CELLS` cells.
    """
    # Combine the values of the axes into cells.
    axes = (*rows, *columns)
    # Count the cells before they are made, because an address can ask for more than fit into the memory.
    n_cells = math.prod(len(setting.values) for setting in axes)
    if n_cells > MAX_CELLS:
        raise ValueError(f"{n_cells:,} combinations of values are more than {MAX_CELLS} cells: choose fewer settings")
    row_values = tuple(product(*(setting.values for setting in rows)))
    column_values = tuple(product(*(setting.values for setting in columns)))
    # Assign the runs to cells.
    names = [setting.name for setting in axes]
    values_at_point = _find_dependent_settings(runs, [name for name in names if name.startswith(PARAMETER)])
    runs_by_point = _RunsByPoint()
    for run in runs:
        runs_by_point.add(run, default, names, values_at_point)
    # Map the runs of the default cell by session: other runs of these sessions were measured interleaved with them.
    default_point = tuple(default.get(name) for name in names)
    default_run_by_session = _map_runs_by_session(runs_by_point.comparable_runs[default_point])
    cells = tuple(
        tuple(
            _build_cell(
                dict(zip(names, (*row, *column), strict=True)),
                (*row, *column) == default_point,
                runs_by_point,
                default_run_by_session,
            )
            for column in column_values
        )
        for row in row_values
    )
    return SettingsGrid(tuple(rows), tuple(columns), row_values, column_values, cells)


_Point = tuple[Value, ...]


@dataclass(slots=True)
class _RunsByPoint:
    """By the values of a cell: its runs, and the further differences of runs that have these values too."""

    comparable_runs: dict[_Point, list[LabRun]] = field(default_factory=lambda: defaultdict(list))
    differences: dict[_Point, list[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self,
        run: LabRun,
        default: Mapping[str, str],
        names: Sequence[str],
        values_at_point: Mapping[tuple[_Point, str], Collection[Value]],
    ) -> None:
        """Add a run to its cell; if it differs from the default in other settings too, store only these differences.

        Parameters
        ----------
        default
            The settings of the default.
        names
            The names of the settings of the rows and columns.
        values_at_point
            The result of :func:`_find_dependent_settings`: the values that other settings have in a history.
        """
        point = tuple(run.settings.get(name) for name in names)
        parameter_values = tuple(run.settings.get(name) for name in names if name.startswith(PARAMETER))
        has_changed_parameter = any(
            name.startswith(PARAMETER) and run.settings.get(name) != default.get(name) for name in names
        )
        differing_settings = []
        for name in run.settings.keys() | default.keys():
            value = run.settings.get(name)
            if value == default.get(name) or name in names:
                continue
            if name == ALLOCATOR and (PRELOAD in names or has_changed_parameter):
                continue  # The preloaded library, or the parameter, determines the allocator.
            if has_changed_parameter and is_per_run(name) and not name.startswith(PARAMETER):
                values = values_at_point.get((parameter_values, name), ())
                if not values or set(values) == {value}:
                    continue  # As the history shows, the workload derives this value from its parameters.
            differing_settings.append(name)
        if differing_settings:
            self.differences[point].append(tuple(sorted(differing_settings)))
        else:
            self.comparable_runs[point].append(run)


def _build_cell(
    values: Mapping[str, Value],
    is_default: bool,
    runs_by_point: _RunsByPoint,
    default_run_by_session: Mapping[UUID, LabRun],
) -> GridCell:
    """Return the cell with these values, and its newest run.

    A run that was measured interleaved with the default is preferred to newer runs, and a measured run to a run whose
    counts were reused.

    Parameters
    ----------
    is_default
        Whether this is the default cell.
    default_run_by_session
        The measured runs of the default cell, by session.
    """
    point = tuple(values.values())
    runs = sorted(runs_by_point.comparable_runs.get(point, ()), key=lambda run: run.started_at, reverse=True)
    measured_runs = [run for run in runs if run.measured]
    interleaved_run = None
    if not is_default:
        interleaved_run = next((run for run in measured_runs if run.session in default_run_by_session), None)
    preferred_runs = [run for run in measured_runs if not run.reused] or measured_runs
    newest_run = preferred_runs[0] if preferred_runs else None
    shown_run = interleaved_run or newest_run
    failed_run = next((run for run in runs if not run.measured), None)
    if failed_run and shown_run and failed_run.started_at < shown_run.started_at:
        failed_run = None
    # An empty cell names the other settings of the run that differs from the default in the fewest of them.
    other_differences = () if runs else min(runs_by_point.differences.get(point, ()), key=len, default=())
    interleaved_default = None
    if interleaved_run is not None and interleaved_run.session is not None:
        interleaved_default = default_run_by_session[interleaved_run.session]
    return GridCell(
        values=values,
        default=is_default,
        run=shown_run,
        interleaved_default=interleaved_default,
        failed=failed_run,
        other_differences=other_differences,
    )


def _map_runs_by_session(runs: Iterable[LabRun]) -> dict[UUID, LabRun]:
    return {run.session: run for run in runs if run.session is not None and run.measured}


def _select_settings_per_run(run: LabRun) -> dict[str, str]:
    """Return the settings of a run that a job can set for a single run."""
    return {name: value for name, value in run.settings.items() if is_per_run(name)}


def _find_dependent_settings(runs: Iterable[LabRun], parameters: Sequence[str]) -> dict[tuple[_Point, str], set[Value]]:
    """Return the values that settings have in a history, by the values of ``parameters`` and the name of the setting.

    They show which settings a workload derives from its parameters. Empty without parameters.
    """
    if not parameters:
        return {}
    history_runs = [run for run in runs if not run.is_outside_history]
    names = {name for run in history_runs for name in run.settings if is_per_run(name)}
    values: dict[tuple[_Point, str], set[Value]] = defaultdict(set)
    for run in history_runs:
        point = tuple(run.settings.get(name) for name in parameters)
        for name in names:
            values[point, name].add(run.settings.get(name))
    return values


def _list_dependent_settings(
    runs: Sequence[LabRun], parameter: str, names: Iterable[str], added_names: Collection[str]
) -> tuple[str, ...]:
    """Return the settings that a parameter determines: they vary, but have one value for each of the parameter's."""
    history_runs = [run for run in runs if not run.is_outside_history]
    dependent_names = []
    for name in names:
        if name in added_names or name.startswith(PARAMETER) or not (is_per_run(name) or name == ALLOCATOR):
            continue
        values: dict[Value, set[Value]] = defaultdict(set)
        for run in history_runs:
            values[run.settings.get(parameter)].add(run.settings.get(name))
        has_one_value_each = all(len(settings_of_value) == 1 for settings_of_value in values.values())
        is_always_same = len(set().union(*values.values())) <= 1
        if has_one_value_each and not is_always_same:
            dependent_names.append(name)
    return tuple(sorted(dependent_names))


def _sort_values(values: Iterable[Value], default: Value) -> tuple[Value, ...]:
    return (default, *sorted({value for value in values if value != default}, key=_rank_value))


def _rank_value(value: Value) -> tuple[int, float, str]:
    """Return a sort key: first None, then numbers by size, then texts."""
    if value is None:
        return 0, 0, ""
    return (1, int(value), "") if value.isdecimal() else (2, 0, value)


def _rank_setting(setting: Setting) -> int:
    """Return the rank of a setting, by which the lab chooses its axes.

    0: the allocator, and parameters that determine other settings. 1: other settings that a job can set. 2: parameters
    that change the work of the program. 3: settings of the host.
    """
    if not setting.per_run:
        return 3
    if setting.changes_the_work:
        return 2
    return 0 if setting.name == PRELOAD or setting.implied_settings else 1
