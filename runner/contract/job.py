"""Jobs: work that the service assigns to hosts, from the question to the result."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, Field, StringConstraints, model_validator

from runner.contract.base import Moment, Name, Strict


def _require_path_inside(path: str) -> str:
    """Refuse a path that could lead out of the repository."""
    if ".." in path.split("/"):
        raise ValueError("points outside the repository")
    return path


_Line = Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\x00]*$")]
_Person = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")
]
_Rev = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./@{}~^+-]*$", max_length=200)]
"""A commit as git knows it: a hash, a branch, a tag, `HEAD~3`. Never an option."""
_Address = Annotated[
    str,
    StringConstraints(
        pattern=r"^$|^(https?|ssh|git)://[^\s\x00]+$|^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[A-Za-z0-9_~/][^\s\x00]*$",
        max_length=1000,
    ),
]
"""An address that git can clone. Paths differ between machines, and other transports of git
run commands."""
_Inside = Annotated[
    str,
    StringConstraints(pattern=r"^$|^[A-Za-z0-9_.][A-Za-z0-9_. /+-]*$", max_length=1000),
    AfterValidator(_require_path_inside),
]
"""A path within a repository: never absolute, never an option, never leading out of it."""
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
_GithubName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$", max_length=140)]


class State(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    DISPATCHED = "dispatched"
    """The backend was asked to start the job, and no runner has claimed the job yet."""
    RUNNING = "running"
    PAUSED = "paused"
    LOST = "lost"
    """The runner has sent no heartbeat for too long. The job will be ordered again."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def open(self) -> bool:
        """Whether the job has not ended yet."""
        return self not in {State.DONE, State.FAILED, State.CANCELLED}


class Backend(StrEnum):
    """The backend that starts a job."""

    GITHUB = "github"
    """A workflow of GitHub Actions, on a runner with the host's name as its label."""
    LOCAL = "local"
    """The service, as a separate process on its own machine."""
    CALLER = "caller"
    """Only the caller: `faultwatch job run`, or a command that registered itself."""


class Where(StrEnum):
    """The place from which a job was ordered."""

    DASHBOARD = "dashboard"
    COMMENT = "comment"
    API = "api"
    COMMAND = "command"


class _Question(Strict):
    """The fields that all kinds of questions share."""

    subject: Name
    case: Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
    """Name of the case, for example ``copy_service[mib=8]``."""
    host: Name | None = None
    """The only host that may run the job; None if any host may."""
    repository: _Address = ""
    """Address to clone the subject from; empty if the host knows the subject already."""
    workload: _Inside = ""
    """The workload's file or folder within the repository; empty if the host knows the workload or if it is shipped."""
    variables: dict[_Variable, Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]] = Field(
        default_factory=dict, max_length=200
    )
    """Variables that are added to the environment of the measured process."""
    samples: int | None = Field(default=None, ge=1, le=1000)
    """Number of executions of each run. By default, as many as are necessary for a certain result."""


class MeasureQuestion(_Question):
    """Measure a case of one revision."""

    kind: Literal["measure"] = "measure"
    revision: _Rev


class BisectQuestion(_Question):
    """Find the commits after ``good``, up to and with ``bad``, that moved a metric."""

    kind: Literal["bisect"] = "bisect"
    metric: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")] = "minor-faults"
    good: _Rev
    bad: _Rev
    min_difference: float = Field(
        default=0, ge=0, le=2**64, allow_inf_nan=False, validation_alias=AliasChoices("min_difference", "least")
    )
    """The smallest relevant difference, in the metric's unit."""
    prove: bool = True
    """Whether to measure each culprit again, interleaved with its parent."""
    drift: Annotated[str, StringConstraints(max_length=16)] | None = None
    """The drift to explain, if any."""


class ProfileQuestion(_Question):
    """Profile a case of one revision."""

    kind: Literal["profile"] = "profile"
    revision: _Rev
    against: _Rev | None = None
    """Another revision to profile for comparison."""


class RemedyQuestion(_Question):
    """Measure a case with and without other settings, interleaved.

    Both runs are stored, but are not points of any series.
    """

    kind: Literal["remedy"] = "remedy"
    revision: _Rev
    settings: dict[Name, Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")] | None] = Field(
        min_length=1, max_length=20
    )
    """The settings in the form of `faultwatch try --with`: `allocator`, `thp`, `env.NAME`, or a parameter of the
    workload. Or in the form of an environment: `variable.NAME` (none removes the variable), `parameter.NAME`,
    `process.huge_pages`, `process.memory_limit`."""
    definition: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")] | None = None
    """The definition that the workload must have for the runs to be comparable with stored ones; none accepts any."""


Question = MeasureQuestion | BisectQuestion | ProfileQuestion | RemedyQuestion


class JobOrder(Strict):
    """An order for a job. While a job with the same question is open, the order returns that job."""

    question: Annotated[Question, Field(discriminator="kind")] | None = None
    drift: Annotated[str, StringConstraints(max_length=16)] | None = None
    """The drift whose commit is to be found, instead of a question. The service fills in the rest."""
    backend: Backend | None = None
    """The backend that starts the job; None lets the service choose."""
    github: _GithubName | None = None
    """The repository whose GitHub Actions run the job."""
    author: _Person | None = None
    """The author of the order, if no token identifies the author."""
    deadline_at: Moment | None = None
    max_runs: int | None = Field(
        default=None, ge=1, le=1_000_000, validation_alias=AliasChoices("max_runs", "most_runs")
    )
    """The largest number of runs that the job may measure. Runs that were already stored do not count."""

    @model_validator(mode="after")
    def _check_question(self) -> Self:
        """Check that an order has either a question or a drift."""
        if (self.question is None) == (self.drift is None):
            raise ValueError("pass either a question or a drift")
        if self.backend is Backend.GITHUB and self.github is None:
            raise ValueError(
                "the backend `github` requires the field `github`, the repository whose workflow is to be started"
            )
        return self


class JobStep(Strict):
    """An entry in the log of a job: a change of state."""

    at: Moment
    state: State
    by: str
    """The actor: a person, a host, or ``service``."""
    sentence: str


class Job(Strict):
    """A job and its state."""

    id: int
    question: Annotated[Question, Field(discriminator="kind")]
    state: State
    backend: Backend
    github: str | None
    asked_by: str
    asked_in: Where
    thread: str
    """The pull request whose comment ordered the job, as ``owner/name#17``."""
    created_at: Moment
    changed_at: Moment
    """The time of the last state change."""
    started_at: Moment | None
    """The time of the first claim by a runner."""
    finished_at: Moment | None
    deadline_at: Moment | None
    max_runs: int | None = Field(validation_alias=AliasChoices("max_runs", "most_runs"))
    attempts: int
    """The number of times that the job was started."""
    host: str | None
    """The host that runs the job, or ran it last."""
    runs: tuple[UUID, ...]
    """The runs that were measured for the job, in order. Runs that were stored before are not included."""
    runs_left: int | None
    """Expected number of remaining runs; None if unknown."""
    seconds_left: float | None
    sentence: str
    """The progress or the result of the job, as a sentence."""
    log_url: str
    result: dict[str, Any] | None
    """The result of a bisect: the final :class:`~runner.contract.commit_search.Search`."""
    steps: tuple[JobStep, ...] = Field(validation_alias=AliasChoices("steps", "course"))
    """The history of its states."""


class JobList(Strict):
    """Jobs, newest first."""

    items: tuple[Job, ...]
    total: int
    limit: int
    offset: int


class Claim(Strict):
    """A runner claims a job."""

    host: Name
    log_url: Annotated[str, StringConstraints(pattern=r"^$|^https?://[^\s\x00]*$", max_length=1000)] = ""
    """The URL of the runner's log; empty if there is no log."""


class Lease(Strict):
    """The right of a runner to a job, for as long as it sends heartbeats."""

    job: Job
    lease: str
    """A secret to send with every report about the job."""
    heartbeat_seconds: float
    """Largest interval between two heartbeats."""


class Progress(Strict):
    """A heartbeat with the progress of the job."""

    lease: Annotated[str, StringConstraints(max_length=100)]
    measured: tuple[UUID, ...] = Field(default=(), max_length=1000)
    """Runs measured since the last heartbeat. The same run may be sent twice."""
    runs_left: int | None = Field(default=None, ge=0, lt=2**31)
    seconds_left: float | None = Field(default=None, ge=0, lt=2**31)
    sentence: _Line = ""
    """The progress as a sentence; an empty one keeps the previous sentence."""


class Instruction(StrEnum):
    """The instruction for the runner."""

    CONTINUE = "continue"
    PAUSE = "pause"
    """Stop measuring and end; the job will be ordered again."""
    STOP = "stop"
    """Stop measuring and end."""


class Orders(Strict):
    """The answer to a heartbeat."""

    instruction: Instruction = Field(validation_alias=AliasChoices("instruction", "go"))
    reason: str = Field(default="", validation_alias=AliasChoices("reason", "why"))


class Outcome(StrEnum):
    """The outcome of a runner's work on a job."""

    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    """The runner was asked to stop, or its user interrupted the job. The job can continue later."""


class Finish(Strict):
    """A runner ends its work on a job."""

    lease: Annotated[str, StringConstraints(max_length=100)]
    outcome: Outcome
    measured: tuple[UUID, ...] = Field(default=(), max_length=1000)
    sentence: _Line
    """The result, or the reason why there is no result."""
    result: dict[str, Any] | None = None


class JobDecision(Strict):
    """Somebody pauses, resumes or cancels a job."""

    author: _Person | None = None
    reason: _Line = ""
