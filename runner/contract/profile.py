"""Profiles: where the faults, the CPU time and the waiting of a case come from. A profile is not a sample."""

from enum import StrEnum
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AliasChoices, Field, StringConstraints, model_validator

from runner.contract.base import Count, Label, Line, Moment, Name, Strict
from runner.contract.code_change import ChangeFromCommit
from runner.contract.report import Case, Environment, Host, Reading, Revision

PROFILE_VERSION: Literal[1] = 1

MAX_TYPES, MAX_TYPE_FIELDS = 2000, 100
"""The largest numbers of a program's types, and of the fields of each. Types with more fields are left out."""

UNKNOWN_FUNCTION = "[unknown]"
"""What perf prints for a function whose name is unknown."""
DELETED_SUFFIX = " (deleted)"
"""What the kernel appends to the name of a file that was removed or replaced, as by an upgrade."""
COMPILED_MODULE = "code compiled at run time"
"""The module of a program's functions that its runtime compiles: they are in no file."""
RUNTIME_MODULE = "code of the runtime"
"""The module of a runtime's own compiled code: the functions of its library, and stubs."""


class Frame(Strict):
    """A function at a line, as part of a stack."""

    function: Label
    module: Label = ""
    """The binary that contains the function; ``[kernel]`` for the kernel, and a description for code compiled at
    run time."""
    file: Label = ""
    """The source file of the function, if known."""
    line: int = Field(default=0, ge=0, le=2**31)


class Stack(Strict):
    """A stack: the indexes of its frames in the profile's table, outermost first."""

    frames: tuple[Annotated[int, Field(ge=0)], ...] = Field(max_length=1000)
    weight: Count
    waits: Count | None = None
    """For an off-CPU stack, the number of recorded waits that its weight is the sum of, scaled like the weight if only
    a part of the time was recorded; None if unknown."""


class StackKind(StrEnum):
    """What a stack profile shows."""

    FAULTS = "faults"
    ON_CPU = "on-cpu"
    OFF_CPU = "off-cpu"
    RETURNED = "returned"
    REQUESTED = "requested"


class StackProfile(Strict):
    """Stacks with their weights: faults or nanoseconds."""

    kind: StackKind
    samples: Count
    """Number of recorded stacks."""
    period: int = Field(ge=1)
    """One stack was recorded for this many faults, switches or nanoseconds."""
    total: Count
    """The sum of the weights. For faults, the value of the counter: each recorded stack stands for several faults."""
    lost: Count = 0
    """Records that perf lost for lack of space."""
    call_graph: Literal["fp", "dwarf", "lbr"]
    recorded_bytes: Count = 0
    stacks: tuple[Stack, ...] = Field(max_length=200_000)

    @model_validator(mode="after")
    def _check_totals(self) -> Self:
        """Check that the weights of the stacks add up to their total."""
        if sum(stack.weight for stack in self.stacks) != self.total:
            raise ValueError("the weights of the stacks do not add up to their total")
        return self


class Memory(StrEnum):
    """The kind of memory to which a page belongs."""

    HEAP = "heap"
    ARENA = "malloc arena"
    """The heap of a thread other than the first one: glibc's malloc uses one for each thread."""
    ANONYMOUS = "anonymous mmap"
    STATIC = "static data"
    """Variables of the program and its libraries for which their files contain no values (``.bss``)."""
    STACK = "stack"
    """The stack of the first thread, or of another one."""
    FILE_TEXT = "file text"
    FILE_DATA = "file data"
    SHARED = "shared"
    OTHER = "other"
    """Mappings of the kernel itself, and addresses in no mapping that perf saw."""


class Touch(StrEnum):
    """The history of a page when it faulted."""

    FIRST = "first touch"
    AFTER_MADVISE = "after madvise"
    AFTER_MUNMAP = "after munmap"
    AFTER_BRK = "after brk"
    AFTER_FORK = "after fork"
    """The page was shared with another process since a fork: a write copies it, a read maps it again."""
    AGAIN = "again"
    """The page had faulted before, and the program had not given it back: the kernel had taken it, or write-protected
    it."""
    AFTER_READ = "after read"
    """The program had only read the page of its own memory: a read maps the kernel's page of zeros, so the first write
    faults once more."""
    UNKNOWN = "unknown"
    """Not every fault was recorded, so it is unknown whether this was the first touch."""


class Access(StrEnum):
    """How the program accessed the page."""

    READ = "read"
    WRITE = "write"
    INSTRUCTION = "instruction"
    UNKNOWN = "unknown"


class FaultKind(Strict):
    """The faults of one kind of memory and of touch, in one mapped file if the memory is a file's."""

    memory: Memory
    touch: Touch
    file: Label = ""
    """The mapped file; empty for memory without a file, and for the files with the fewest faults together."""
    faults: Count


class Site(Strict):
    """A place in the program where faults happened, and their kind."""

    frame: Frame
    memory: Memory
    touch: Touch
    file: Label = ""
    """The mapped file that was touched, if any."""
    faults: Count


class Area(Strict):
    """A range of memory that was mapped at once, and its faults."""

    memory: Memory
    name: Label = ""
    """The file, if any."""
    size: Count
    faults: Count
    pages: Count
    """Number of distinct pages that faulted."""
    threads: int = Field(ge=0)
    """Number of threads that faulted in the range."""
    seconds: float = Field(ge=0, allow_inf_nan=False)
    """Time from the first to the last fault."""


class Anatomy(Strict):
    """The faults by memory, touch, access and place. Every table adds up to ``counted``."""

    counted: Count
    """The value of the fault counter in the same execution."""
    recorded: Count
    """The number of recorded faults times the period."""
    period: int = Field(default=1, ge=1)
    lost: Count = 0
    """Records that perf lost for lack of space."""
    unrecorded: int = Field(default=0, validation_alias=AliasChoices("unrecorded", "unplaced"))
    """Counted minus recorded faults. Nothing else is known about these faults; the tables list them as other or
    unknown."""
    major: Count = 0
    pages: Count
    """Number of distinct pages that faulted."""
    by_memory: dict[Memory, Count]
    by_touch: dict[Touch, Count]
    by_access: dict[Access, Count]
    major_by_memory: dict[Memory, Count] = Field(default_factory=dict)
    kinds: tuple[FaultKind, ...] = Field(default=(), max_length=1000)
    """The faults by memory, touch and file at once."""
    major_sites: tuple[Site, ...] = Field(default=(), max_length=1000)
    """The places with the most major faults. What was there before is unknown."""
    forks: Count = 0
    """Number of processes that the program forked."""
    threads: Count = 0
    """Number of threads that the program started."""
    shared_pages: Count = 0
    """Number of distinct pages of shared memory that faulted. Each process that touches one faults on it."""
    sites: tuple[Site, ...] = Field(default=(), max_length=1000)
    """The places with the most faults; the rest is ``faults_at_other_sites``."""
    faults_at_other_sites: Count = Field(default=0, validation_alias=AliasChoices("faults_at_other_sites", "elsewhere"))
    areas: tuple[Area, ...] = Field(default=(), max_length=100)
    """The ranges of memory with the most faults."""
    seconds: float = Field(default=0, ge=0, allow_inf_nan=False)
    """Time from the first to the last fault."""
    is_scaled: bool = False
    """Whether only a part of the faults was recorded, and all numbers were scaled. Those of pages are right only in
    proportion to the faults, because the same pages may fault at any time."""

    @property
    def refault_ratio(self) -> float | None:
        """Faults per distinct page; None if nothing faulted or not every fault was recorded."""
        return self.recorded / self.pages if self.pages and self.period == 1 else None

    @model_validator(mode="after")
    def _check_totals(self) -> Self:
        """Check that every table adds up to the counted faults."""
        for name in ("by_memory", "by_touch", "by_access"):
            if sum(getattr(self, name).values()) != self.counted:
                raise ValueError(f"{name} does not add up to the counted faults")
        if sum(site.faults for site in self.sites) + self.faults_at_other_sites != self.counted:
            raise ValueError("the faults by site do not add up to the counted faults")
        if self.kinds and sum(kind.faults for kind in self.kinds) != self.counted:
            raise ValueError("the faults by kind do not add up to the counted faults")
        return self


class PythonLine(Strict):
    """The faults of one line of a Python program, with those of the libraries that it calls."""

    file: Label
    """The source file, relative to the work tree if it lies inside."""
    function: Label
    line: int = Field(ge=1, le=2**31)
    faults: Count
    after_fork: Count = 0
    """The faults among them that happened after the process had forked: only these can be copies on write."""


class AllocatingLine(Strict):
    """A line of a Java program that allocates, with what the class libraries allocate for it."""

    file: Label
    """The source file, relative to the work tree if it lies inside."""
    function: Label
    line: int = Field(ge=1, le=2**31)
    bytes: Count
    """Bytes that were allocated, by the weights of the samples."""


class Call(Strict):
    """The calls of a system call."""

    calls: Count
    bytes: Count | None = None
    """Bytes of memory that the calls concern, if their arguments were recorded."""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Census(Strict):
    """The system calls by which a program allocates and releases memory."""

    source: Literal["tracepoints", "strace"]
    calls: dict[Name, Call]
    advice: dict[Name, Count] = Field(default_factory=dict)
    """Number of calls of madvise with each advice, such as ``MADV_RANDOM``, and of prctl with ``PR_SET_THP_DISABLE``;
    empty if arguments were not recorded."""
    populated_bytes: Count = 0
    """Bytes of memory that calls provided at once, without a fault for each page: with MAP_POPULATE, MAP_LOCKED,
    MADV_POPULATE_READ or MADV_POPULATE_WRITE, or by mlock."""


ProfileScope = Literal["region", "windows", "process"]
PROFILE_SCOPES: dict[ProfileScope, str] = {
    "region": "the region of interest",
    "windows": "the measured windows of the server",
    "process": "the whole process",
}
"""The scopes of a profile, in words."""


class TypeField(Strict):
    """A field of a type in the debugging information."""

    name: Label
    """The name; that of a field in a nested type without a name follows the field of this type, and a dot."""
    type: Label = ""
    """The name of the structure, class or union that the field, or each element of it, is; empty if it is none."""
    bytes: Count
    """The size; 0 if it is unknown."""
    line: int = Field(default=0, ge=0, le=2**31)
    """The line that declares the field, in the file of the type; 0 if unknown."""


class TypeLayout(Strict):
    """A structure, class or union of the program, as its debugging information describes it."""

    name: Label
    """The name, with its namespaces or package."""
    bytes: Count
    """The size of an instance."""
    file: Label = ""
    """The file that declares the type, relative to the top of the repository; empty if unknown."""
    line: int = Field(default=0, ge=0, le=2**31)
    fields: tuple[TypeField, ...] = Field(default=(), max_length=MAX_TYPE_FIELDS)
    """Its fields, with those of nested types that have no name."""


class Profile(Strict):
    """Where a case of one revision spends its faults and its time."""

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
    scope: ProfileScope
    """What the profile shows: the region of interest, the measured windows of a server, or the whole process."""
    processes: int = Field(default=1, ge=1, le=1024)
    """How many processes ran at once; the first of them was profiled."""
    operations: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Operations that the program reported, in one execution."""
    readings: dict[str, Reading]
    """Readings of an execution that was not profiled."""
    references: dict[Literal["alone", "warm"], dict[str, Reading]] = Field(default_factory=dict)
    """Readings with one process only, or with warm files, if the case has several processes or cold files."""
    overhead_percent: float | None = Field(default=None, allow_inf_nan=False)
    """The increase of the CPU time due to recording the faults."""
    frames: tuple[Frame, ...] = Field(default=(), max_length=200_000)
    faults: StackProfile | None = None
    on_cpu: StackProfile | None = None
    off_cpu: StackProfile | None = None
    returned: StackProfile | None = None
    """The system calls that gave back pages which the program touched again, weighted by these faults; the name of the
    call is the innermost frame. None if there were none, or if they were not recorded with their stacks."""
    requested: StackProfile | None = None
    """The system calls that requested the program's own memory, in the same form, weighted by its first touches."""
    anatomy: Anatomy | None = None
    census: Census | None = None
    python_lines: tuple[PythonLine, ...] = Field(default=(), max_length=100)
    """The lines of a Python program with the most faults, counted in a separate execution, because stacks do not show
    them."""
    java_lines: tuple[AllocatingLine, ...] = Field(default=(), max_length=100)
    """The lines of a Java program that allocate most, sampled in a separate execution, because faults in the heap
    happen in the runtime, on behalf of a line."""
    types: tuple[TypeLayout, ...] = Field(default=(), max_length=MAX_TYPES)
    """The types of the program; empty without debugging information that describes them."""
    change: ChangeFromCommit | None = None
    """What the commit alters, compared with another one that was profiled with it; None if it is unknown."""
    calls_mallopt: bool = False
    """Whether the program contains calls of ``mallopt``, which override the settings of malloc in its environment."""
    remarks: tuple[Line, ...] = Field(default=(), max_length=100)
    """Remarks on missing data, such as data that this host did not allow to record, with remedies; and on how stacks
    were unwound."""

    @property
    def stack_profiles(self) -> tuple[StackProfile, ...]:
        """The stack profiles that were recorded."""
        kinds = (self.faults, self.on_cpu, self.off_cpu, self.requested, self.returned)
        return tuple(stacks for stacks in kinds if stacks)

    def find_value(self, name: str) -> float | None:
        """Return the value of a metric in the execution that was not profiled; None if it has none."""
        reading = self.readings.get(name)
        return None if reading is None else reading.value

    @model_validator(mode="after")
    def _check_frames(self) -> Self:
        """Check that every stack refers only to frames of the table."""
        for profile in self.stack_profiles:
            if any(index >= len(self.frames) for stack in profile.stacks for index in stack.frames):
                raise ValueError("a stack names a frame that is not in the table")
        return self
