"""Jobs: work that the service orders from a host, from the question to the result."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from runner.contract.base import Moment, Name, Strict


def _inside(path: str) -> str:
    if ".." in path.split("/"):
        raise ValueError("leads out of the repository")
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
"""What git can clone from elsewhere. A path would mean something on one machine alone, and other transports of git
run commands."""
_Inside = Annotated[
    str,
    StringConstraints(pattern=r"^$|^[A-Za-z0-9_.][A-Za-z0-9_. /+-]*$", max_length=1000),
    AfterValidator(_inside),
]
"""A path within a repository: never absolute, never an option, never out of it."""
_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
_GithubName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$", max_length=140)]


class State(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    DISPATCHED = "dispatched"
    """Whoever starts it was told; no runner has it yet."""
    RUNNING = "running"
    PAUSED = "paused"
    LOST = "lost"
    """Its runner has not been heard of for too long; it is ordered again."""
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def open(self) -> bool:
        """Whether something can still come of it."""
        return self not in {State.DONE, State.FAILED, State.CANCELLED}


class Backend(StrEnum):
    """Who starts a job."""

    GITHUB = "github"
    """A workflow of GitHub Actions, on a runner with the host's name as its label."""
    LOCAL = "local"
    """The service, as a process of its own on the machine it runs on."""
    CALLER = "caller"
    """Nobody but who ordered it: `faultwatch job run`, or a command that registered itself."""


class Where(StrEnum):
    """Where a job was asked for."""

    DASHBOARD = "dashboard"
    COMMENT = "comment"
    API = "api"
    COMMAND = "command"


class _Question(Strict):
    """What all kinds of work have in common: whose case, and where."""

    subject: Name
    case: Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
    """By its name, for example ``copy_service[mib=8]``."""
    host: Name | None = None
    """The only host that may do it."""
    repository: _Address = ""
    """Where the subject can be cloned from; empty where the host knows the subject already."""
    workload: _Inside = ""
    """The workload's file or folder within the repository; empty where the host knows it, or it comes along."""
    variables: dict[_Variable, Annotated[str, StringConstraints(max_length=4000, pattern=r"^[^\x00]*$")]] = Field(
        default_factory=dict, max_length=200
    )
    """Added to the environment of the measured process."""
    samples: int | None = Field(default=None, ge=1, le=1000)
    """Executions of each run, instead of as many as prove the counts."""


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
    least: float = Field(default=0, ge=0, le=2**64, allow_inf_nan=False)
    """Differences smaller than this do not matter, in the metric's unit."""
    prove: bool = True
    """Whether each culprit is measured again, in turns with its parent."""
    drift: Annotated[str, StringConstraints(max_length=16)] | None = None
    """The drift that it is about, where there is one."""


class ProfileQuestion(_Question):
    """Find where the faults of a case come from."""

    kind: Literal["profile"] = "profile"
    revision: _Rev
    against: _Rev | None = None
    """Another revision to profile beside it, so that the two can be told apart."""


class RemedyQuestion(_Question):
    """Measure a case as it is and with other settings, in turns."""

    kind: Literal["remedy"] = "remedy"
    revision: _Rev
    settings: dict[Name, Annotated[str, StringConstraints(max_length=1000, pattern=r"^[^\x00]*$")]] = Field(
        min_length=1, max_length=20
    )
    """As `faultwatch try --set` takes them: `allocator`, `thp`, `env.NAME`, or a parameter of the workload."""


Question = MeasureQuestion | BisectQuestion | ProfileQuestion | RemedyQuestion


class JobOrder(Strict):
    """Orders a job. The same question again, while a job with it is open, is that job."""

    question: Annotated[Question, Field(discriminator="kind")] | None = None
    drift: Annotated[str, StringConstraints(max_length=16)] | None = None
    """Instead of a question: which commit brought this drift? All else is filled in."""
    backend: Backend | None = None
    """None leaves it to the service."""
    github: _GithubName | None = None
    """The repository in whose GitHub Actions it runs."""
    author: _Person | None = None
    """Who asks, where there are no tokens to tell."""
    deadline_at: Moment | None = None
    most_runs: int | None = Field(default=None, ge=1, le=1_000_000)
    """How many runs may be measured for it. What is stored already costs nothing."""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        if (self.question is None) == (self.drift is None):
            raise ValueError("ask a question, or name a drift: one of the two")
        if self.backend is Backend.GITHUB and self.github is None:
            raise ValueError("github is needed with the backend github: the repository whose workflow is started")
        return self


class JobStep(Strict):
    """An entry in the log of a job: that it came into a state."""

    at: Moment
    state: State
    by: str
    """A person, a host, or ``service``."""
    sentence: str


class Job(Strict):
    """A job as it stands."""

    id: int
    question: Annotated[Question, Field(discriminator="kind")]
    state: State
    backend: Backend
    github: str | None
    asked_by: str
    asked_in: Where
    thread: str
    """The pull request whose comment asked for it, as ``owner/name#17``."""
    created_at: Moment
    changed_at: Moment
    """When its state changed last."""
    started_at: Moment | None
    """When a runner had it first."""
    finished_at: Moment | None
    deadline_at: Moment | None
    most_runs: int | None
    attempts: int
    """How often it was started."""
    host: str | None
    """The host that has it, or had it last."""
    runs: tuple[UUID, ...]
    """What was measured for it, in order. What was stored before is not among them."""
    runs_left: int | None
    """How many more are expected; None where nobody knows."""
    seconds_left: float | None
    sentence: str
    """How far it is, or what came of it, in words."""
    log_url: str
    result: dict[str, Any] | None
    """Of a bisect: the search as it ended, a :class:`~runner.contract.search.Search`."""
    course: tuple[JobStep, ...]
    """The states that it went through."""


class JobList(Strict):
    """Jobs, the newest first."""

    items: tuple[Job, ...]
    total: int
    limit: int
    offset: int


class Claim(Strict):
    """A runner takes a job on."""

    host: Name
    log_url: Annotated[str, StringConstraints(pattern=r"^$|^https?://[^\s\x00]*$", max_length=1000)] = ""
    """Where its log can be read, if there is one."""


class Lease(Strict):
    """The job is the runner's for as long as it is heard of."""

    job: Job
    lease: str
    """To be shown with whatever is told of the job."""
    heartbeat_seconds: float
    """How often to tell the progress, at least."""


class Progress(Strict):
    """A sign of life, and how far the job is."""

    lease: Annotated[str, StringConstraints(max_length=100)]
    measured: tuple[UUID, ...] = Field(default=(), max_length=1000)
    """Runs that were measured since; telling one twice does no harm."""
    runs_left: int | None = Field(default=None, ge=0, lt=2**31)
    seconds_left: float | None = Field(default=None, ge=0, lt=2**31)
    sentence: _Line = ""
    """Empty leaves the one before."""


class Go(StrEnum):
    """What the runner is to do."""

    ON = "on"
    PAUSE = "pause"
    """Measure no more, and end; it is going to be ordered again."""
    STOP = "stop"
    """Measure no more, and end."""


class Orders(Strict):
    """The answer to a sign of life."""

    go: Go
    why: str = ""


class Outcome(StrEnum):
    """How a runner left a job."""

    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    """It was told to, or its own person ended it: the job can go on later."""


class Finish(Strict):
    """A runner ends its work on a job."""

    lease: Annotated[str, StringConstraints(max_length=100)]
    outcome: Outcome
    measured: tuple[UUID, ...] = Field(default=(), max_length=1000)
    sentence: _Line
    """What was found, or why nothing was."""
    result: dict[str, Any] | None = None


class JobDecision(Strict):
    """Somebody pauses, resumes or cancels a job."""

    author: _Person | None = None
    reason: _Line = ""
