"""Models of a settings lab: one case at one commit on one host, under combinations of settings."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from runner.contract.job import RemedyQuestion, State
from service.schemas.history import Number, View


class LabCertainty(StrEnum):
    """How a metric of a cell compares with the default cell."""

    EXACT = "exact"
    """Compared by counts that repeat, or by interleaved counts."""
    INTERVAL = "interval"
    """Compared by the bounds of interleaved pairs."""
    OPEN = "open"
    """Measured interleaved, with too few pairs to decide, or with a change in only some of the pairs."""
    APART = "apart"
    """Not compared: both cells were measured in different sessions, whose difference is unknown."""


class Effect(StrEnum):
    """The certain effect of a cell's settings on a metric."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    OPEN = "open"
    """Nothing is certain."""


class LabMetric(View):
    """One metric of a cell, compared with the default."""

    metric: str
    level: Number | None
    """The median of the samples."""
    low: Number | None
    """The smallest sample."""
    high: Number | None
    """The largest sample."""
    n: int
    """Number of samples that have a value."""
    repeats: bool = False
    """Whether the metric is a count that repeats."""
    change: Number | None = None
    """The difference of the level from the default's; from interleaved measurements if there are any."""
    percent: float | None = None
    """The change in percent of the default."""
    certainty: LabCertainty | None = None
    """How the metric compares; None for the default itself, and if nothing is comparable."""
    bounds: tuple[float, float] | None = None
    """The bounds of the true change, in percent of the default."""
    effect: Effect = Effect.OPEN
    """The certain effect of the settings on the metric."""
    sentence: str = ""
    """The reason, as a sentence."""


class LabSetting(View):
    """A setting of the lab: of the rows, of the columns, or like the default in all cells."""

    name: str
    title: str
    """The name of the setting for people."""
    values: tuple[str | None, ...]
    """The values, the default first; null stands for a setting that is not set."""
    texts: tuple[str, ...]
    """The values, as readable text."""
    per_run: bool
    """Whether a job can set the setting. Other settings belong to the host."""
    changes_the_work: bool
    """Whether the setting is a parameter of the program itself, so that its values do different work."""


class CellState(StrEnum):
    """The state of a cell."""

    MEASURED = "measured"
    ORDERED = "ordered"
    """A job is under way; ``job_state`` shows its state."""
    FAILED = "failed"
    EMPTY = "empty"
    """The cell can be ordered."""
    IMPOSSIBLE = "impossible"
    """No job can set the values of the cell, or no host can measure it."""


class LabCell(View):
    """One combination of settings."""

    key: str
    """The key of the cell, for orders."""
    values: dict[str, str | None]
    """The value of each setting; null if it is not set."""
    text: str
    """The values that differ from the default's, as readable text."""
    default: bool
    """Whether the cell has the settings of the history."""
    state: CellState
    run_id: UUID | None = None
    """The run that provides the metrics; for a failed cell, the run that failed."""
    session: UUID | None = None
    """The session in which the cell was measured interleaved with the default."""
    job_id: int | None = None
    """The job that measures the cell, or failed to measure it."""
    job_state: State | None = None
    """The state of that job."""
    sentence: str = ""
    """The reason why the cell has not been measured, the progress of its job, or why a newer run of it failed."""
    metrics: tuple[LabMetric, ...] = ()
    question: RemedyQuestion | None = None
    """The order that measures the cell (`POST /api/v1/jobs`); null if the cell cannot be measured."""


class LabCost(View):
    """The cost of measuring some cells."""

    cells: int
    """Number of cells."""
    runs: int
    """Number of runs: each cell is measured beside the default."""
    executions: int
    """Number of executions of the program."""
    seconds: float | None
    """The duration; None if the duration of an execution is unknown."""


class SettingsLab(View):
    """One case at one commit on one host: its metrics under combinations of settings."""

    subject: str
    case: str
    case_key: str
    """The key of the case with its definition."""
    host: str
    commit: str
    title: str
    environment: str
    """Hash of the default cell's environment."""
    default_run: UUID
    """The run whose settings are the default."""
    default_commit: str
    """The commit of the default run. It differs from this commit if nothing has been measured here yet."""
    measured_at: datetime
    """The start time of the default run."""
    settings: tuple[LabSetting, ...]
    """The settings in which the runs differ, and the settings that were added."""
    rows: tuple[str, ...]
    """The settings of the rows, by name."""
    columns: tuple[str, ...]
    """The settings of the columns, by name."""
    row_texts: tuple[str, ...]
    """The values of each row, as readable text."""
    column_texts: tuple[str, ...]
    """The values of each column, as readable text."""
    cells: tuple[tuple[LabCell, ...], ...]
    """The cells of each row, in the order of the columns."""
    environments: tuple[str, ...]
    """The environments in which the default was measured at this commit, the newest first."""
    metrics: tuple[str, ...]
    """The metrics that the cells show."""
    best: str | None
    """The key of the best cell, if a cell is certainly the best."""
    verdict: str
    """The best cell and its price, as a sentence."""
    missing: LabCost
    """The cost of measuring all empty cells."""
    each: LabCost
    """The cost of measuring one cell."""
    refusal: str = ""
    """The reason why nothing can be ordered; empty if orders are possible."""
