"""The report of a measurement: one case of one revision on one host in one environment."""

import hashlib
import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AliasChoices, Field, StrictInt, StringConstraints, model_validator

from runner.contract.base import CommitHash, Line, Moment, Name, Parameter, Strict, Text, format_parameter
from runner.contract.canary import Canary
from runner.contract.declared_settings import Mismatch
from runner.contract.judging import Judging
from runner.contract.mapped_files import ProgramFiles
from runner.contract.other_builds import OtherBuild, OtherPlace
from runner.contract.quarantine import Purpose, explain_quarantine
from runner.contract.reused_counts import ReusedCounts, SameBytesCheck

SCHEMA_VERSION: Literal[1] = 1
MAX_REVISIONS = 100_000
"""Largest number of commits in one request."""
IMPORT_FORMAT = "import.format"
"""A setting that only imported runs have: the format of the imported file. No host can measure in its environment."""


class Status(StrEnum):
    """How a value was obtained. A metric that was not requested has no reading."""

    COUNTED = "counted"
    MULTIPLEXED = "multiplexed"
    """Counted during a part of the run and extrapolated by perf: an estimate."""
    NOT_COUNTED = "not_counted"
    """The counter exists but did not run."""
    NOT_SUPPORTED = "not_supported"
    """This machine has no such counter."""


# An integer must not become a float. With left_to_right, pydantic takes the first type that fits; trying all types
# would double the time of parsing.
_Whole = Annotated[StrictInt, Field(ge=-(2**64), le=2**64)]
_Fraction = Annotated[float, Field(allow_inf_nan=False, ge=-(2**64), le=2**64)]


class Reading(Strict):
    """One metric of one sample: a value with its status, or the reason why there is none."""

    status: Status = Status.COUNTED
    value: _Whole | _Fraction | None = Field(default=None, union_mode="left_to_right")
    """The value. Any 64-bit count fits. The bound keeps sums of values finite."""
    running_percent: float | None = Field(default=None, ge=0, le=100)
    """Share of the run during which the counter ran; None for the whole run."""
    reason: Line | None = None
    outlier: bool = False
    """Whether the value is an outlier among the samples. An outlier is stored, but does not affect the level."""

    @model_validator(mode="after")
    def _check_value_fits_status(self) -> Self:
        """Check that a reading has a value if and only if its status says so."""
        has_value = self.status is Status.COUNTED or self.status is Status.MULTIPLEXED
        if has_value != (self.value is not None):
            raise ValueError(f"a reading that is {self.status} {'needs' if has_value else 'cannot have'} a value")
        return self


class Window(Strict):
    """The load of a server during one window of an execution."""

    is_warm_up: bool = False
    """Whether the window came before the measured ones. It is shown, but not included in any sum."""
    readings: dict[str, Reading]
    operations: float | None = Field(default=None, gt=0, le=2**64)
    """The number of completed operations, as the load generator reports it; None if it reports none."""
    resident: int = Field(ge=0)
    """The resident memory of the server's processes at the end of the window, in bytes."""


class Sample(Strict):
    """One execution of the case: its readings, and perf's own output."""

    readings: dict[str, Reading]
    processes: tuple[dict[str, Reading], ...] = Field(default=(), max_length=1024)
    """Each process's own readings, if several ran at once; the sample's readings combine them."""
    windows: tuple[Window, ...] = Field(default=(), max_length=1000)
    """The windows of a server, in order; the sample's readings combine the measured ones."""
    perf_output: Text = ""
    place: int | None = Field(default=None, ge=0)
    """Position in the order of a session's samples; None in sessions of one revision."""


class Revision(Strict):
    """A commit of the subject repository."""

    commit: CommitHash
    parents: tuple[CommitHash, ...] = ()
    author: Annotated[str, StringConstraints(max_length=500)] = ""
    committed_at: Moment
    title: Annotated[str, StringConstraints(max_length=2000)] = ""
    """First line of the commit message."""


class Ref(Strict):
    """A name of a commit: a tag or a branch."""

    kind: Literal["tag", "branch"]
    name: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]+$")]
    """The name without ``refs/tags/`` or ``refs/heads/``. The name of a remote branch begins with the name of the
    remote, as in ``origin/main``."""
    commit: CommitHash


class RevisionList(Strict):
    """A part of the subject's history, by which the service orders runs by commit."""

    revisions: tuple[Revision, ...] = Field(max_length=MAX_REVISIONS)
    refs: tuple[Ref, ...] = Field(default=(), max_length=20_000)
    """Tags and branches, by which people name commits. Refs that were sent earlier are kept."""
    patches: dict[CommitHash, CommitHash] = Field(default_factory=dict, max_length=100_000)
    """Patch ids of commits, as ``git patch-id --stable`` prints them. After a rebase or an amend, the events of a
    commit move to the one with the same patch id."""


class Case(Strict):
    """One workload at one point of its parameter matrix."""

    workload: Name
    definition: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    """Hash of the workload's own definition. A series never spans two definitions."""
    parameters: dict[Name, Parameter] = Field(default_factory=dict, max_length=100)

    @property
    def name(self) -> str:
        """The case in readable form, for example ``tensor_copy[allocator=jemalloc,mib=4]``."""
        if not self.parameters:
            return self.workload
        point = ",".join(f"{key}={format_parameter(value)}" for key, value in sorted(self.parameters.items()))
        return f"{self.workload}[{point}]"

    def is_point_of(self, other: Self) -> bool:
        """Return whether both cases are the same point of one workload, even if its definitions differ.

        Parameters are compared as the texts that a program gets: 1 is ``true`` for Python, but not for a program.
        """
        own_point, other_point = (
            {name: format_parameter(value) for name, value in case.parameters.items()} for case in (self, other)
        )
        return self.workload == other.workload and own_point == other_point


class Host(Strict):
    """The machine that ran the case."""

    name: Name
    labels: tuple[Name, ...] = ()


class Environment(Strict):
    """Every setting that can change a fault count, by name. Values are text, exactly as the system shows them."""

    settings: dict[
        Annotated[str, StringConstraints(max_length=200)], Annotated[str, StringConstraints(max_length=4000)]
    ]

    @property
    def hash(self) -> str:
        """First 16 hex digits of the SHA-256 of the settings as canonical JSON."""
        return hash_document(self.settings)


class Stage(StrEnum):
    """The stage at which a run failed."""

    CHECKOUT = "checkout"
    BUILD = "build"
    RUN = "run"
    MEASURE = "measure"

    @property
    def noun(self) -> str:
        """The name of the stage in a sentence: the checkout, the build, the run or the measurement failed."""
        return "measurement" if self is Stage.MEASURE else self.value


_USAGE = re.compile(r"usage\b", re.IGNORECASE)
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_BANNER = re.compile(
    r"(?:program|version|contact|authors?|copyright|license|home ?page|url)\b|.*https?://", re.IGNORECASE
)
"""A line that says what a program is."""
_NODE_VERSION = re.compile(r"Node\.js v[\d.]+")
"""The last line of a program that Node.js ends because of an error. The error is above the stack."""
_NODE_ERROR = re.compile(r"(?:Uncaught )?\w*Error\b.*")
TERMINAL_CODE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])|[\x00-\x08\x0b-\x1f\x7f]"
)
"""Control sequences of interactive programs, which move the cursor, query its position or choose colours."""
MAX_QUOTED_LINE_CHARACTERS = 120
"""How many characters of a program's line the message of a failure quotes."""
_QUOTATION_MARKS = "'\""
_MAX_REASON_CHARACTERS = 200
"""How many characters are quoted of the line in which a program says why it failed."""


class Failure(Strict):
    """The reason why there is no measurement: one line for people, and the end of the log."""

    stage: Stage
    message: Line
    log: Text = ""
    temporary: bool = False
    """Whether the cause is the state of the host, such as a full disk or a signal, so that another attempt can
    succeed."""

    @property
    def explained(self) -> str:
        """The message and, if a program failed, the line of its log that says why, unless the message quotes it."""
        if self.stage is not Stage.RUN:
            return self.message
        # A log of both streams begins with standard error, which usually says why. If it is empty, read the other one.
        for stream in TERMINAL_CODE.sub("", self.log).split("--- standard output\n", 1):
            lines = _list_text_lines(stream)
            if lines:
                reason = _find_reason_line(lines)
                # A message may quote the reason or its beginning. Both may end with quotation marks.
                quotes = (reason.rstrip(_QUOTATION_MARKS), reason[:MAX_QUOTED_LINE_CHARACTERS].rstrip(_QUOTATION_MARKS))
                if self.message.rstrip(_QUOTATION_MARKS).endswith(quotes):
                    return self.message
                return f"{self.message}: {reason[:_MAX_REASON_CHARACTERS]}"
        return self.message


def _list_text_lines(stream: str) -> list[str]:
    """Return the lines with text, except the title of the stream: no empty lines, and no frames around messages."""
    lines = [line.strip() for line in stream.splitlines()]
    return [line for line in lines if re.search(r"[^\W_]", line) and not line.startswith("--- standard error")]


def _find_reason_line(lines: Sequence[str]) -> str:
    """Return the line that says why a program failed.

    This is the last line, unless the program has printed its usage, or Node.js has printed an error with its stack.

    Parameters
    ----------
    lines
        The lines of one stream, at least one.
    """
    if _NODE_VERSION.fullmatch(lines[-1]):
        return next(filter(_NODE_ERROR.match, lines), lines[-1])
    usage_index = next((index for index, line in enumerate(lines) if _USAGE.match(line)), None)
    if usage_index is None or _ERROR.search(lines[-1]):
        return lines[-1]
    # The error about the arguments is printed before the usage, but so is a banner.
    if usage_index == 0 or _BANNER.match(lines[usage_index - 1]):
        return lines[usage_index]
    return lines[usage_index - 1]


class Build(Strict):
    """How the revision was built."""

    command: tuple[str, ...] = ()
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    cpu_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """CPU time of all processes of the build; None if the time was not measured."""
    cached: bool = False
    built_commit: CommitHash | None = None
    """The commit that was built, if it is another one, because this revision changes only files that its build did not
    read."""
    log: Text = ""


class Outcome(StrEnum):
    """The outcome of a run."""

    MEASURED = "measured"
    FAILED = "failed"
    SKIPPED = "skipped"


class Report(Strict):
    """One run: a case × revision × host × environment, with samples or with the reason why there are no samples."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: UUID
    subject: Name
    """The repository under test, by name."""
    revision: Revision
    case: Case
    host: Host
    environment: Environment
    runner_version: Annotated[str, StringConstraints(max_length=100)]
    command: tuple[str, ...] = ()
    """The executed command, relative to the build's directory."""
    started_at: Moment
    finished_at: Moment
    outcome: Outcome
    samples: tuple[Sample, ...] = Field(default=(), max_length=10_000)
    build: Build | None = None
    failure: Failure | None = None
    session: UUID | None = None
    """The id of the session. Runs that were measured interleaved share a session."""
    canary: Canary | None = None
    """The canary counts before the session; None if the canary did not run. A wrong count quarantines the run."""
    mismatches: tuple[Mismatch, ...] = Field(default=(), max_length=10_000)
    """Settings whose values differ from those declared for the host."""
    remarks: tuple[Line, ...] = Field(default=(), max_length=100)
    """Operations and data that the host did not allow the runner, as readable text."""
    files: ProgramFiles | None = None
    """The files that the program mapped and read; None if unknown."""
    experimental: bool = Field(default=False, validation_alias=AliasChoices("experimental", "aside"))
    """Whether the run was measured with settings that a search tried. Such a run is stored, but is not a point of
    any series."""
    purpose: Purpose | None = None
    """The purpose of the measurement; None for the history. Runs with a purpose are stored, but are not points of
    any series."""
    reused: ReusedCounts | None = None
    """The run whose counts were reused, if this run was not measured because its program has the same bytes."""
    same_bytes_check: SameBytesCheck | None = None
    """The earlier counts of a run with the same bytes, if this run was measured to check them."""
    other_builds: tuple[OtherBuild, ...] = Field(default=(), max_length=10)
    """Further builds of the same revision, measured because the first build differs by very little from another
    revision."""
    other_place: OtherPlace | None = None
    """The counts of this revision in the other revision's place, if a comparison needed them."""
    cache_renewed: bool = Field(default=False, validation_alias=AliasChoices("cache_renewed", "renewed"))
    """Whether the page cache of unprepared files was renewed before the samples, because a comparison required it."""
    judging: Judging = Field(default_factory=Judging)
    """The metrics that the workload wants judged, and how much they may change. The newest report of a series
    applies."""

    @model_validator(mode="after")
    def _check_outcome(self) -> Self:
        """Check that samples, failure and outcome of a report agree."""
        if self.outcome is Outcome.MEASURED and (not self.samples or self.failure):
            raise ValueError("a measured run needs samples and cannot have a failure")
        if self.outcome is not Outcome.MEASURED and (self.samples or not self.failure):
            raise ValueError(f"a {self.outcome} run needs a failure and cannot have samples")
        if self.reused and (self.outcome is not Outcome.MEASURED or self.same_bytes_check):
            raise ValueError("a run with reused counts needs samples and cannot have a same_bytes_check")
        return self

    @property
    def quarantine(self) -> str:
        """Why the samples are stored but not judged, in one line; empty if they are judged."""
        canary = self.canary if self.samples else None
        is_reused = self.reused is not None
        return explain_quarantine(canary, self.purpose, is_reused=is_reused, is_experimental=self.experimental)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics with a reading in any sample, in the order of their first appearance."""
        return tuple(dict.fromkeys(name for sample in self.samples for name in sample.readings))

    def list_readings(self, name: str) -> tuple[Reading, ...]:
        """Return the readings of one metric, one for each sample that has it; a reading may lack a value."""
        return tuple(sample.readings[name] for sample in self.samples if name in sample.readings)

    def list_values(self, name: str) -> tuple[int | float, ...]:
        """Return the values of one metric in the order of the samples, without samples that lack a value."""
        return tuple(reading.value for reading in self.list_readings(name) if reading.value is not None)


class ReportList(Strict):
    """Many reports to store at once."""

    reports: tuple[Report, ...] = Field(max_length=10_000)


class Receipts(Strict):
    """The result of storing many reports at once."""

    created: int
    already_stored: int = Field(validation_alias=AliasChoices("already_stored", "known"))
    """Ids of reports that the service already had."""
    conflicting: tuple[UUID, ...]
    """Ids under which other reports are stored. A run never changes, so these reports were refused."""


def hash_document(document: Any) -> str:
    """Return the first 16 hex digits of the SHA-256 of a document as canonical JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_safe_name(text: str) -> str:
    """Turn free text into a :data:`Name`: characters other than letters, digits, dots and underscores become dashes."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:100] or "unnamed"
