"""Arranges the runs of one commit by settings: which runs are of one cell, like with like.

A run belongs to a cell if it has the cell's values and is like the default in every other setting. Two runs of one
session were measured interleaved: they compare in every metric.
"""

from __future__ import annotations

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
"""Cells of a grid: more cannot be read, and hardly be measured."""


@dataclass(frozen=True, slots=True)
class LabRun:
    """A run of the commit and the host, with its settings: settings of its environment, and ``parameter.NAME``."""

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
    """Whether it was measured for a search or a lab, so that it is not a point of a series."""
    reused: bool = False
    own_bytes: str | None = None

    @property
    def measured(self) -> bool:
        """Whether it has samples."""
        return self.outcome is Outcome.MEASURED


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of which the runs have different values, or of which a person wants some."""

    name: str
    values: tuple[Value, ...]
    """The default first."""
    implied_settings: tuple[str, ...] = ()
    """For a parameter: the settings that follow from it."""

    @property
    def default(self) -> Value:
        """The value of the default cell."""
        return self.values[0]

    @property
    def per_run(self) -> bool:
        """Whether a job can set it."""
        return is_per_run(self.name)

    @property
    def changes_the_work(self) -> bool:
        """Whether it is a parameter of the program itself, as far as the runs show: its values do different work."""
        return self.name.startswith(PARAMETER) and not self.implied_settings


@dataclass(frozen=True, slots=True)
class GridCell:
    """The runs with certain values of the settings.

    Attributes
    ----------
    run
        The newest run with samples; if there is one that was measured interleaved with the default, that one.
    interleaved_default
        The run of the default cell that was measured interleaved with it.
    failed
        The newest run, if it failed after ``run``.
    other_differences
        If every run with these values differs from the default in other settings too: those of the run that differs in
        the fewest.
    """

    values: Mapping[str, Value]
    default: bool
    run: LabRun | None = None
    interleaved_default: LabRun | None = None
    failed: LabRun | None = None
    other_differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SettingsGrid:
    """The cells: one for each value of the rows and of the columns."""

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
    """Return the run whose settings are the default: of those that a history has, one with the fewest variables set.

    The host may have changed since that run was measured. So the newest run of the case that has the same settings of
    its own is returned, even if it was measured for a lab.

    Parameters
    ----------
    environment
        The hash of an environment: the newest run of a history that has it comes first; empty for none.
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
    settings_per_run = _select_per_run(plainest_run)
    return next(run for run in runs_of_case if _select_per_run(run) == settings_per_run)


def find_settings(
    runs: Sequence[LabRun], default: Mapping[str, str], added_values: Mapping[str, Sequence[Value]]
) -> list[Setting]:
    """Return the settings in which runs differ from the default, and those that a person added: these first.

    What only follows from another setting is left out.
    """
    # The values of each setting: the keys of a dict, which keeps their order and has each once.
    values_of: dict[str, dict[Value, None]] = {name: dict.fromkeys(values) for name, values in added_values.items()}
    for run in runs:
        for name in run.settings.keys() | default.keys():
            if run.settings.get(name) != default.get(name):
                values_of.setdefault(name, {})[run.settings.get(name)] = None
    parameters = [name for name in values_of if name.startswith(PARAMETER)]
    settings_of_parameter = {name: _list_dependent_settings(runs, name, values_of, added_values) for name in parameters}
    implied_names = {name for names_of_parameter in settings_of_parameter.values() for name in names_of_parameter}
    if PRELOAD in values_of:  # the preloaded library determines the allocator
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
    settings: Sequence[Setting], rows: Sequence[str], columns: Sequence[str]
) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Return the settings of the rows and of the columns: those that a person chose, else the first two of them all.

    A parameter that changes the work is an axis only if it is chosen.
    """
    by_name = {setting.name: setting for setting in settings}
    chosen_rows = tuple(by_name[name] for name in dict.fromkeys(rows) if name in by_name)
    chosen_columns = tuple(
        by_name[name] for name in dict.fromkeys(columns) if name in by_name and by_name[name] not in chosen_rows
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
    """Put each run into the cell of its settings.

    Raises
    ------
    ValueError
        The grid would have more than :data:`MAX_CELLS` cells.
    """
    # The cells.
    axes = (*rows, *columns)
    row_values = tuple(product(*(setting.values for setting in rows)))
    column_values = tuple(product(*(setting.values for setting in columns)))
    if len(row_values) * len(column_values) > MAX_CELLS:
        raise ValueError(
            f"{len(row_values)} rows × {len(column_values)} columns are more than {MAX_CELLS} cells: choose fewer "
            "settings"
        )
    # The runs of each cell.
    names = [setting.name for setting in axes]
    values_at_point = _find_dependent_settings(runs, [name for name in names if name.startswith(PARAMETER)])
    runs_by_point = _RunsByPoint()
    for run in runs:
        runs_by_point.add(run, default, names, values_at_point)
    # The runs of the default cell, by session: other runs of these sessions were measured interleaved with them.
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
    """The runs of each cell, by its values, and those that have its values and differ in something else."""

    comparable_runs: dict[_Point, list[LabRun]] = field(default_factory=lambda: defaultdict(list))
    differences: dict[_Point, list[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self,
        run: LabRun,
        default: Mapping[str, str],
        names: Sequence[str],
        values_at_point: Mapping[tuple[_Point, str], Collection[Value]],
    ) -> None:
        """Add a run to its cell.

        Parameters
        ----------
        default
            The settings of the default.
        names
            The settings of the rows and columns.
        values_at_point
            The values that other settings have in a history, by :func:`_find_dependent_settings`.
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
                continue  # The allocator follows from the preloaded library, or from the parameter.
            if has_changed_parameter and is_per_run(name) and not name.startswith(PARAMETER):
                values = values_at_point.get((parameter_values, name), ())
                if not values or set(values) == {value}:
                    continue  # The workload sets it for these values of its parameters, as the history shows.
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
    """Return the cell of some values, with its newest run.

    A run that was measured interleaved with the default is preferred to newer ones, and a measured run to one whose
    counts were reused.

    Parameters
    ----------
    is_default
        Whether it is the default cell.
    default_run_by_session
        The measured runs of the default cell, by the session in which they were measured interleaved with others.
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
    # An empty cell says in which other settings the run that resembles the default most differs from it.
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


def _select_per_run(run: LabRun) -> dict[str, str]:
    """Return the settings of a run that a job can set for a single run."""
    return {name: value for name, value in run.settings.items() if is_per_run(name)}


def _find_dependent_settings(runs: Iterable[LabRun], parameters: Sequence[str]) -> dict[tuple[_Point, str], set[Value]]:
    """Return which values other settings have in a history, by the values of some parameters and the setting's name.

    A workload can derive a setting from its parameters. Empty without parameters.
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
    """Return the settings that follow from a parameter: one value for each of its values, and not one for all."""
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
    """Return a sort key: no value first, then numbers by their size, then texts."""
    if value is None:
        return 0, 0, ""
    return (1, int(value), "") if value.isdecimal() else (2, 0, value)


def _rank_setting(setting: Setting) -> int:
    """Return the rank of a setting in the grid: 0 and 1 what a job can set, 2 parameters of the work, 3 the host's."""
    if not setting.per_run:
        return 3
    if setting.changes_the_work:
        return 2
    return 0 if setting.name == PRELOAD or setting.implied_settings else 1
