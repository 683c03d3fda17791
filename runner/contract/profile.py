"""A profile: where the faults, the CPU time and the waiting of one case come from. It is no sample."""

from enum import StrEnum
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from runner.contract.base import Moment, Name, Strict
from runner.contract.report import Case, Environment, Host, Reading, Revision

PROFILE_VERSION: Literal[1] = 1

Count = Annotated[int, Field(ge=0, le=2**64)]
Label = Annotated[str, StringConstraints(max_length=4000)]
"""Text of a program: a function, a file. Untrusted, as all that a program says."""
Remark = Annotated[str, StringConstraints(max_length=1000)]


class Frame(Strict):
    """One function of a stack, at one line."""

    function: Label
    module: Label = ""
    """The file that holds it; ``[kernel]`` for the kernel."""
    file: Label = ""
    """Its source, where that is known."""
    line: int = Field(default=0, ge=0, le=2**31)


class Stack(Strict):
    """A stack, by the places of its frames in the profile's table, from the program's start to where it happened."""

    frames: tuple[Annotated[int, Field(ge=0)], ...] = Field(max_length=1000)
    weight: Count


class StackKind(StrEnum):
    """What a stack profile shows."""

    FAULTS = "faults"
    ON_CPU = "on-cpu"
    OFF_CPU = "off-cpu"


class StackProfile(Strict):
    """Stacks with what each of them cost: faults, or nanoseconds."""

    kind: StackKind
    samples: Count
    """Stacks that were recorded."""
    period: int = Field(ge=1)
    """One stack was recorded for as many faults, switches or nanoseconds."""
    total: Count
    """What the weights come to. Of faults, what the counter counted: each recorded stack stands for as many."""
    lost: Count = 0
    """Records that perf had no room for."""
    call_graph: Literal["fp", "dwarf", "lbr"]
    recorded_bytes: Count = 0
    stacks: tuple[Stack, ...] = Field(max_length=200_000)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if sum(stack.weight for stack in self.stacks) != self.total:
            raise ValueError("the weights of the stacks do not come to their total")
        return self


class Memory(StrEnum):
    """What kind of memory a page belongs to."""

    HEAP = "heap"
    ANONYMOUS = "anonymous mmap"
    STACK = "stack"
    FILE_TEXT = "file text"
    FILE_DATA = "file data"
    SHARED = "shared"
    OTHER = "other"
    """What the kernel itself puts there, and what lies in no mapping that perf saw."""


class Touch(StrEnum):
    """What a page had behind it when it faulted."""

    FIRST = "first touch"
    AFTER_MADVISE = "after madvise"
    AFTER_MUNMAP = "after munmap"
    AFTER_BRK = "after brk"
    AGAIN = "again"
    """It had faulted before and the program had not given it back: a copy on write, or the kernel took it."""
    UNKNOWN = "unknown"
    """Not each fault was recorded, so whether this was the first cannot be told."""


class Access(StrEnum):
    """What the program wanted of the page."""

    READ = "read"
    WRITE = "write"
    INSTRUCTION = "instruction"
    UNKNOWN = "unknown"


class Site(Strict):
    """Where in the program faults happened, and of what kind they are."""

    frame: Frame
    memory: Memory
    touch: Touch
    faults: Count


class Area(Strict):
    """A stretch of memory that was mapped at once, and its faults."""

    memory: Memory
    name: Label = ""
    """The file, if any."""
    size: Count
    faults: Count
    pages: Count
    """Distinct pages of it that faulted."""
    threads: int = Field(ge=0)
    """Threads that faulted in it."""
    seconds: float = Field(ge=0, allow_inf_nan=False)
    """From its first fault to its last one."""


class Anatomy(Strict):
    """Each fault by what it hit, why and where. Every table comes to ``counted``."""

    counted: Count
    """By the counter, in the same execution."""
    recorded: Count
    """Times the period."""
    period: int = Field(default=1, ge=1)
    lost: Count = 0
    """Records that perf had no room for."""
    unplaced: int = 0
    """Counted minus recorded: faults of which nothing else is known. The tables hold them as other or unknown."""
    major: Count = 0
    pages: Count
    """Distinct pages that faulted."""
    by_memory: dict[Memory, Count]
    by_touch: dict[Touch, Count]
    by_access: dict[Access, Count]
    major_by_memory: dict[Memory, Count] = Field(default_factory=dict)
    sites: tuple[Site, ...] = Field(default=(), max_length=1000)
    """The places with the most faults; what is left is ``elsewhere``."""
    elsewhere: Count = 0
    areas: tuple[Area, ...] = Field(default=(), max_length=100)
    """The stretches of memory with the most faults."""
    seconds: float = Field(default=0, ge=0, allow_inf_nan=False)
    """From the first fault to the last one."""

    @property
    def refault_ratio(self) -> float | None:
        """Faults per distinct page; None where nothing faulted, or not each fault was recorded."""
        return self.recorded / self.pages if self.pages and self.period == 1 else None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for name in ("by_memory", "by_touch", "by_access"):
            if sum(getattr(self, name).values()) != self.counted:
                raise ValueError(f"{name} does not come to the counted faults")
        if sum(site.faults for site in self.sites) + self.elsewhere != self.counted:
            raise ValueError("the sites do not come to the counted faults")
        return self


class Call(Strict):
    """What a system call was used for, and how often."""

    calls: Count
    bytes: Count | None = None
    """Of the memory that it was about, where its arguments were recorded."""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Census(Strict):
    """The system calls with which a program takes memory and gives it back."""

    source: Literal["tracepoints", "strace"]
    calls: dict[Name, Call]


class Profile(Strict):
    """Where one case of one revision spends its faults and its time."""

    schema_version: Literal[1] = PROFILE_VERSION
    profile_id: UUID
    subject: Name
    revision: Revision
    case: Case
    host: Host
    environment: Environment
    runner_version: Annotated[str, StringConstraints(max_length=100)]
    started_at: Moment
    finished_at: Moment
    scope: Literal["region", "process"]
    """Whether the profiles show the region of interest that the program opens, or all of it."""
    processes: int = Field(default=1, ge=1, le=1024)
    """As many ran at once; the first of them was profiled."""
    operations: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Of which the program spoke, in one execution."""
    readings: dict[str, Reading]
    """Of an execution that was not profiled."""
    references: dict[Literal["alone", "warm"], dict[str, Reading]] = Field(default_factory=dict)
    """The same with one process only, and with warm files, where the case is the contrary."""
    overhead_percent: float | None = Field(default=None, allow_inf_nan=False)
    """By how much the recording of the faults raised the CPU time."""
    frames: tuple[Frame, ...] = Field(default=(), max_length=200_000)
    faults: StackProfile | None = None
    on_cpu: StackProfile | None = None
    off_cpu: StackProfile | None = None
    anatomy: Anatomy | None = None
    census: Census | None = None
    remarks: tuple[Remark, ...] = Field(default=(), max_length=100)
    """What this host did not allow, with the setting that would."""

    @property
    def stack_profiles(self) -> tuple[StackProfile, ...]:
        """The stack profiles that there are."""
        return tuple(one for one in (self.faults, self.on_cpu, self.off_cpu) if one)

    def value(self, name: str) -> float | None:
        """Return what was read of a metric in the execution that was not profiled."""
        reading = self.readings.get(name)
        return None if reading is None else reading.value

    @model_validator(mode="after")
    def _frames_exist(self) -> Self:
        for profile in self.stack_profiles:
            if any(place >= len(self.frames) for stack in profile.stacks for place in stack.frames):
                raise ValueError("a stack names a frame that is not in the table")
        return self
