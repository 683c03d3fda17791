"""Models of a settings lab: one case at one commit on one host, under combinations of settings."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from runner.contract.job import RemedyQuestion, State
from service.schemas.history import Number, View


class LabCertainty(StrEnum):
    """How a metric of a cell compares with the default."""

    EXACT = "exact"
    """Compared by counts that repeat, or by interleaved counts."""
    INTERVAL = "interval"
    """Compared by the bounds of interleaved pairs."""
    OPEN = "open"
    """Measured interleaved, with too few pairs for bounds."""
    APART = "apart"
    """Not compared: both were measured in different sessions, whose difference is unknown."""


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
    """The median of its samples."""
    low: Number | None
    """The smallest sample."""
    high: Number | None
    """The largest sample."""
    n: int
    """Samples that have a value."""
    repeats: bool = False
    """Whether it is a count that repeats."""
    change: Number | None = None
    """The level minus that of the default; from interleaved measurements if there are any."""
    percent: float | None = None
    """The change in percent of the default."""
    certainty: LabCertainty | None = None
    """None for the default itself, and if nothing is comparable."""
    bounds: tuple[float, float] | None = None
    """The bounds of the true change, in percent of the default."""
    effect: Effect = Effect.OPEN
    """The certain effect of the settings on the metric."""
    sentence: str = ""
    """Why, in words."""


class LabSetting(View):
    """A setting of the lab: of the rows, of the columns, or like the default in all cells."""

    name: str
    title: str
    """The name for people."""
    values: tuple[str | None, ...]
    """The default first; none if it is not set."""
    texts: tuple[str, ...]
    """The values for people."""
    per_run: bool
    """Whether a job can set it; others belong to the host."""
    changes_the_work: bool
    """Whether it is a parameter of the program itself: its values do different work."""


class CellState(StrEnum):
    """The state of a cell."""

    MEASURED = "measured"
    ORDERED = "ordered"
    """A job is under way; ``job_state`` says how far."""
    FAILED = "failed"
    EMPTY = "empty"
    """It can be ordered."""
    IMPOSSIBLE = "impossible"
    """No job can set its values, or no host can measure it."""


class LabCell(View):
    """One combination of settings."""

    key: str
    """Identifies it in an order."""
    values: dict[str, str | None]
    """The value of each setting; none if the setting is not set."""
    text: str
    """The values that differ from the default's, as readable text."""
    default: bool
    """Whether it has the settings of the history."""
    state: CellState
    run_id: UUID | None = None
    """The run that provides its metrics; for a failed cell, the run that failed."""
    session: UUID | None = None
    """The session in which it was measured interleaved with the default."""
    job_id: int | None = None
    """The job that measures it, or has failed to measure it."""
    job_state: State | None = None
    """The state of that job."""
    sentence: str = ""
    """Why it is not measured."""
    metrics: tuple[LabMetric, ...] = ()
    question: RemedyQuestion | None = None
    """The order that measures it (`POST /api/v1/jobs`); none if it cannot be measured."""


class LabCost(View):
    """What it costs to measure some cells."""

    cells: int
    """How many cells."""
    runs: int
    """How many runs: each cell is measured beside the default."""
    executions: int
    """How many executions of the program."""
    seconds: float | None
    """None if the duration of an execution is unknown."""


class SettingsLab(View):
    """One case at one commit on one host: its metrics under combinations of settings."""

    subject: str
    case: str
    case_key: str
    """Identifies the case with its definition."""
    host: str
    commit: str
    title: str
    environment: str
    """Hash of the environment of the default."""
    default_run: UUID
    """The run whose settings are the default."""
    default_commit: str
    """The commit of that run, which differs from this commit if nothing is measured here yet."""
    measured_at: datetime
    """When that run began."""
    settings: tuple[LabSetting, ...]
    """The settings in which the runs differ, and those that were added."""
    rows: tuple[str, ...]
    """The settings of the rows, by name."""
    columns: tuple[str, ...]
    """The settings of the columns, by name."""
    row_texts: tuple[str, ...]
    """The values of each row for people."""
    column_texts: tuple[str, ...]
    """The values of each column for people."""
    cells: tuple[tuple[LabCell, ...], ...]
    """The cells of each row, in the order of the columns."""
    environments: tuple[str, ...]
    """The environments in which the default was measured at this commit, the newest first."""
    metrics: tuple[str, ...]
    """The metrics that the cells show."""
    best: str | None
    """Key of the best cell, if a cell is certainly the best."""
    verdict: str
    """Which cell is the best, and its price, in words."""
    missing: LabCost
    """What it costs to measure all empty cells."""
    each: LabCost
    """What it costs to measure one cell."""
    refusal: str = ""
    """Why nothing can be ordered; empty if it can."""
