"""Reads a settings lab: arranges the runs of a commit by settings, and says what can still be measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import ValidationError
from sqlalchemy.orm import Session

from runner.contract.job import Job, RemedyQuestion, State
from runner.contract.level import compute_median
from runner.contract.number_text import capitalize_first_letter
from runner.contract.report import hash_document
from runner.contract.word_list import join_first_words, join_words
from service.lab import queries
from service.lab.queries import LabReport, LabTarget
from service.lab.rules import setting_names
from service.lab.rules.best_cell import choose_best_cell
from service.lab.rules.compare_cell import ELAPSED, METRICS, THROUGHPUT, Readings, compare_metric
from service.lab.rules.setting_names import Value
from service.lab.rules.settings_grid import (
    GridCell,
    LabRun,
    Setting,
    SettingsGrid,
    build_grid,
    choose_axes,
    choose_default_run,
    find_settings,
)
from service.lab.schemas import CellState, LabCell, LabCost, LabMetric, LabSetting, SettingsLab
from service.pipeline.resolve_commit_name import resolve_commit_name
from service.rules.imported_runs import is_imported
from service.rules.jobs import job_settings
from service.rules.jobs.job_settings import VARIABLE
from service.rules.jobs.job_variables import select_settable_variables
from service.store.revisions import named_commits

DEFAULT_PAIRS = 24
"""The number of pairs of executions for each cell, unless a person chooses another; it is the runner's default too."""
_WARM_UP_PAIRS = 2
"""The number of executions of each side that are not samples."""
_MAX_LISTED_NAMES = 3
_OVERHEAD_SECONDS = 3.0
"""The seconds that a job takes besides its executions: for the checks of the host and the canary."""


@dataclass(frozen=True, slots=True)
class LabQuery:
    """The choices of a person.

    Attributes
    ----------
    rows, columns
        The names of settings; empty for settings by which the runs differ.
    added
        The values to measure, by the name of the setting.
    environment
        The hash of the environment of the default; empty for the newest one.
    pairs
        The number of pairs of executions for each cell; None for the runner's default.
    """

    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    added: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    environment: str = ""
    pairs: int | None = None


class LabProblem(ValueError):
    """There is no such lab; the error contains the wrong field, the problem, and how to correct it."""

    def __init__(self, field_name: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field_name


def resolve_target(session: Session, subject: str, case: str, host: str, commit: str) -> LabTarget | None:
    """Return the case, host and commit of a lab; None if nothing was measured yet.

    Parameters
    ----------
    subject, case, host
        The names; an empty one is taken from the newest run that has the other names.
    commit
        A tag, a branch, a date or a part of a hash; empty for the newest measured one.

    Raises
    ------
    LabProblem
        There is no run with these names, or the commit is unknown.
    """
    newest_target = queries.find_newest_target(session, subject, case, host)
    if newest_target is None:
        if queries.find_newest_target(session) is None:
            return None
        raise _make_target_problem(session, {"subject": subject, "case": case, "host": host})
    if not commit:
        return newest_target
    revision, problem = resolve_commit_name(session, commit, newest_target.subject)
    if revision is None:
        raise LabProblem("commit", problem)
    target = queries.find_newest_target(
        session, newest_target.subject, case or newest_target.case, host or newest_target.host, revision.commit
    )
    return target or replace(newest_target, commit=revision.commit)


def _make_target_problem(session: Session, names: Mapping[str, str]) -> LabProblem:
    """Return the problem that no run has all of these names.

    Its field is the first one whose name no run has, or the case if each name has a run.
    """
    unmeasured_field = next((key for key, name in names.items() if name and not _is_measured(session, key, name)), None)
    description = "this combination" if unmeasured_field is None else names[unmeasured_field]
    return LabProblem(
        unmeasured_field or "case",
        f"There is no stored run of {description} that a host can repeat. Measure it, or choose another.",
    )


def _is_measured(session: Session, field_name: str, name: str) -> bool:
    """Return whether any run has this name in a field."""
    return queries.find_newest_target(session, **{field_name: name}) is not None


def read_lab(session: Session, target: LabTarget, query: LabQuery) -> SettingsLab | None:
    """Return the lab of a case at a commit on a host; None if the host never measured the case.

    Raises
    ------
    ValueError
        The chosen settings make too many cells.
    """
    # Choose the default cell.
    runs = queries.list_commit_runs(session, target)
    default = choose_default_run(runs, target.case_key, query.environment)
    default = default or queries.find_newest_history_run(session, target)  # The latter may be at another commit.
    if default is None:
        return None
    # Build the grid of settings with its runs.
    settings = find_settings(runs, default.settings, query.added)
    rows, columns = choose_axes(settings, query.rows, query.columns)
    grid = build_grid(runs, default.settings, rows, columns)
    shown_runs = {
        run.number: run for cell in grid.all_cells for run in (cell.run, cell.interleaved_default) if run is not None
    }
    reports = queries.read_reports(session, {default.number, *shown_runs}, METRICS)
    # Build the cells for the page, and choose the best.
    was_imported = is_imported(default.settings)
    refusal = "These results were imported, so no host can repeat the measurement." if was_imported else ""
    cells = _Cells(
        target=target,
        default=default,
        grid=grid,
        reports=reports,
        orders=queries.list_orders(session, target),
        pairs=query.pairs,
        refusal=refusal,
    )
    views = tuple(tuple(cells.build_cell(cell) for cell in row) for row in grid.cells)
    all_cells = [cell for row in views for cell in row]
    work_parameters = join_words(
        [setting_names.format_title(axis.name) for axis in (*rows, *columns) if axis.changes_the_work]
    )
    best_cell = choose_best_cell(all_cells, other_work=work_parameters)
    empty_cells = [cell for cell in all_cells if cell.question is not None and cell.state is CellState.EMPTY]
    commits = named_commits.find_commits(session, target.commit, target.subject)
    return SettingsLab(
        subject=target.subject,
        case=target.case,
        case_key=target.case_key,
        host=target.host,
        commit=target.commit,
        title=commits[0].title if commits else "",
        environment=default.environment,
        default_run=default.run_id,
        default_commit=queries.find_commit(session, default),
        measured_at=default.started_at,
        settings=tuple(_build_setting(setting) for setting in settings),
        rows=tuple(setting.name for setting in rows),
        columns=tuple(setting.name for setting in columns),
        row_texts=tuple(_format_settings(rows, values) for values in grid.row_values),
        column_texts=tuple(_format_settings(columns, values) for values in grid.column_values),
        cells=views,
        environments=tuple(
            dict.fromkeys(
                run.environment for run in runs if run.case_key == target.case_key and not run.is_outside_history
            )
        ),
        metrics=_choose_metrics(all_cells),
        best=best_cell.key,
        verdict=best_cell.sentence,
        missing=cells.estimate_cost(len(empty_cells)),
        each=cells.estimate_cost(1),
        refusal=refusal,
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    """Builds the cells of a lab from stored reports and from jobs."""

    target: LabTarget
    default: LabRun
    grid: SettingsGrid
    reports: Mapping[int, LabReport]
    orders: Sequence[tuple[RemedyQuestion, Job]]
    pairs: int | None
    refusal: str

    def build_cell(self, cell: GridCell) -> LabCell:
        """Return a cell with its metrics, its state, and the order that would measure it."""
        question, objection = self._build_question(cell)
        job = next((job for order, job in self.orders if question and order.settings == question.settings), None)
        state, sentence, run = self._find_state(cell, question, objection, job)
        shown_job = job if job is not None and (job.state.open or state is CellState.FAILED) else None
        return LabCell(
            key=hash_document(dict(cell.values)),
            values=dict(cell.values),
            text=self._format_text(cell),
            default=cell.default,
            state=state,
            run_id=run.run_id if run is not None else None,
            session=cell.interleaved_default.session if cell.interleaved_default is not None else None,
            job_id=shown_job.id if shown_job else None,
            job_state=shown_job.state if shown_job else None,
            sentence=sentence,
            metrics=self._list_metrics(cell),
            question=question,
        )

    def _format_text(self, cell: GridCell) -> str:
        """Return the settings in which a cell differs from the default, as text."""
        changed_texts = [
            f"{setting_names.format_title(axis.name)} {setting_names.format_value(axis.name, cell.values[axis.name])}"
            for axis in (*self.grid.rows, *self.grid.columns)
            if cell.values[axis.name] != axis.default
        ]
        return ", ".join(changed_texts) or "default"

    def estimate_cost(self, n_cells: int) -> LabCost:
        """Return the cost of measuring cells, each interleaved with the default.

        All cells share one build, and their executions are assumed to take as long as those of the default.
        """
        report = self.reports.get(self.default.number)
        n_pairs = (self.pairs or DEFAULT_PAIRS) + _WARM_UP_PAIRS
        executions = n_cells * 2 * n_pairs
        execution_seconds = None
        if report is not None and ELAPSED in report.readings:
            execution_seconds = compute_median(report.readings[ELAPSED].present_values)
        seconds = None
        if report is not None and execution_seconds is not None:
            build_seconds = report.build_seconds if n_cells else 0
            seconds = executions * execution_seconds + n_cells * _OVERHEAD_SECONDS + build_seconds
        return LabCost(cells=n_cells, runs=2 * n_cells, executions=executions, seconds=seconds)

    def _find_state(
        self, cell: GridCell, question: RemedyQuestion | None, objection: str, job: Job | None
    ) -> tuple[CellState, str, LabRun | None]:
        """Return the state of a cell, a sentence about the state, and the run that the cell shows."""
        failure = f"Failed: {cell.failed.failure}" if cell.failed is not None else ""
        if job is not None and job.state.open:
            return CellState.ORDERED, job.sentence, cell.run
        if cell.run is not None:
            return CellState.MEASURED, failure, cell.run
        if job is not None and job.state is State.FAILED:
            failure = f"Failed: {job.sentence}"
        if failure:
            return CellState.FAILED, failure, cell.failed
        if cell.default:
            return CellState.EMPTY, objection, None
        if question is None:
            return CellState.IMPOSSIBLE, objection, None
        return CellState.EMPTY, _describe_other_differences(cell.other_differences), None

    def _build_question(self, cell: GridCell) -> tuple[RemedyQuestion | None, str]:
        """Return the question of the job that measures a cell, or None and the reason why there is none."""
        if self.refusal:
            return None, self.refusal
        if cell.default:
            return None, "The default is measured together with every other cell."
        changed_settings = self._find_changed_settings(cell)
        for name, value in changed_settings.items():
            objection = job_settings.explain_objection(name, value)
            if objection:
                return None, f"{capitalize_first_letter(objection)}."
        variables = {
            name.removeprefix(VARIABLE): value
            for name, value in self.default.settings.items()
            if name.startswith(VARIABLE)
        }
        try:
            return (
                RemedyQuestion(
                    subject=self.target.subject,
                    case=self.target.case,
                    host=self.target.host,
                    revision=self.target.commit,
                    settings=changed_settings,
                    definition=self.target.definition,
                    variables=select_settable_variables(variables),
                    samples=self.pairs,
                ),
                "",
            )
        except ValidationError:
            return None, "This cell does not fit into a job: a name is too long, or too many settings differ."

    def _find_changed_settings(self, cell: GridCell) -> dict[str, Value]:
        """Return the settings in which a cell differs from the default, with the cell's values."""
        return {name: value for name, value in cell.values.items() if value != self.default.settings.get(name)}

    def _list_metrics(self, cell: GridCell) -> tuple[LabMetric, ...]:
        """Return the metrics of a cell's run, each compared with the default."""
        if cell.run is None or cell.run.number not in self.reports:
            return ()
        default_run = None if cell.default else cell.interleaved_default or self._find_default_run()
        readings = self.reports[cell.run.number].readings
        default_readings: Mapping[str, Readings] = (
            self.reports[default_run.number].readings if default_run is not None else {}
        )
        objection = _explain_objection(default_run, cell.run, self._find_changed_settings(cell))
        is_interleaved = cell.interleaved_default is not None
        n_compared = max(1, len(self.grid.all_cells) - 1)  # All cells except the default.
        return tuple(
            compare_metric(
                name,
                default_readings.get(name),
                readings[name],
                interleaved=is_interleaved,
                n_cells=n_compared,
                objection=objection,
            )
            for name in METRICS
            if name in readings
        )

    def _find_default_run(self) -> LabRun | None:
        return next((cell.run for cell in self.grid.all_cells if cell.default and cell.run is not None), None)


def _explain_objection(default: LabRun | None, run: LabRun, changed_settings: Collection[str]) -> str:
    """Return why a run is not comparable with the default although its other settings are the same; empty if it is.

    A different build is no objection if the run differs from the default in a parameter, or in a setting of the build.
    """
    if default is None or any(name.startswith((job_settings.PARAMETER, "build.")) for name in changed_settings):
        return ""
    if default.own_bytes and run.own_bytes and default.own_bytes != run.own_bytes:
        return "The build differs from the default's build."
    return ""


def _describe_other_differences(names: Sequence[str]) -> str:
    """Return why a cell does not show the runs that have its values: these differ in other settings as well."""
    if not names:
        return ""
    names_clause = join_first_words(names, _MAX_LISTED_NAMES)
    return f"Measured only with other values of {names_clause}, so the runs are not comparable with the default."


def _choose_metrics(cells: Sequence[LabCell]) -> tuple[str, ...]:
    """Return the metrics to show: no major faults if there are none, and elapsed time only if no work is reported."""
    levels: dict[str, list[float]] = {}
    for cell in cells:
        for entry in cell.metrics:
            levels.setdefault(entry.metric, []).append(entry.level or 0)
    omitted_metrics = set()
    if not any(levels.get("major-faults", ())):
        omitted_metrics.add("major-faults")
    if THROUGHPUT in levels:
        omitted_metrics.add(ELAPSED)
    return tuple(name for name in METRICS if name in levels and name not in omitted_metrics)


def _build_setting(setting: Setting) -> LabSetting:
    """Return a setting in the format of the API, with its title and its values in words."""
    return LabSetting(
        name=setting.name,
        title=setting_names.format_title(setting.name),
        values=setting.values,
        texts=tuple(setting_names.format_value(setting.name, value) for value in setting.values),
        per_run=setting.per_run,
        changes_the_work=setting.changes_the_work,
    )


def _format_settings(settings: Sequence[Setting], values: Sequence[Value]) -> str:
    """Return settings with their values as text."""
    return ", ".join(
        f"{setting_names.format_title(setting.name)} {setting_names.format_value(setting.name, value)}"
        for setting, value in zip(settings, values, strict=True)
    )
