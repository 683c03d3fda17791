"""Reads ``workload.toml`` strictly, so that a mistyped key is an error and not a silent default."""

import re
import shlex
from collections import Counter
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from runner.contract.base import Name, Parameter, format_parameter
from runner.contract.budget import NO_BUDGET, Budget
from runner.contract.judging import Judging, MetricName
from runner.contract.metrics import CATALOGUE
from runner.contract.report import hash_document
from runner.errors import FaultwatchError
from runner.perf.counted_events import STANDARD_EVENTS
from runner.perf.event_grammar import is_allowed
from runner.process_state.huge_pages import CHOICES as HUGE_PAGE_CHOICES
from runner.workload.placeholders import (
    OWN_FOLDER_PLACEHOLDER,
    list_placeholders,
    refuse_ambiguous_folder,
    refuse_unknown_placeholders,
)
from runner.workload.strict_toml import Table, describe_first_mistake, read_toml
from runner.workload.trusted_location import locate_workload
from runner.workload.workload_folder_files import SourceFile, compute_tree_digest, list_source_files, select_build_files

_MAX_QUOTED_CHARACTERS = 100


def _split_command(value: object) -> object:
    """Return a command as a list of arguments; a string is split as a shell would split it, but no shell runs it."""
    return tuple(shlex.split(value)) if isinstance(value, str) else value


def _require_program(command: tuple[str, ...]) -> tuple[str, ...]:
    """Check that a command has a program."""
    if not command:
        raise ValueError("the command is empty")
    return command


def _check_variable_names(variables: dict[str, str]) -> dict[str, str]:
    """Check that variables have names that the system accepts."""
    for name in variables:
        if not name or "=" in name:
            raise ValueError(
                f"{name[:_MAX_QUOTED_CHARACTERS]!r} is not a valid variable name: it is empty or contains ="
            )
    return variables


def _require_choice(*choices: str) -> AfterValidator:
    """Return a validator that accepts one of the choices, or a text with a placeholder, which depends on the case."""

    def check_choice(text: str) -> str:
        if "{" not in text and text not in choices:
            raise ValueError(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return AfterValidator(check_choice)


def _check_events(events: tuple[str, ...]) -> tuple[str, ...]:
    """Check that a workload is allowed to count its events."""
    for event in events:
        if not is_allowed(event):
            raise ValueError(
                f"{event[:_MAX_QUOTED_CHARACTERS]!r} is not an event that a workload may count: it must be a "
                "hardware or software event, by name or raw code, or one of the kernel's tracepoints"
            )
        name, separator, _ = event.partition(":")
        if separator and name in STANDARD_EVENTS:
            raise ValueError(
                f"{event!r} cannot be counted, because {name} is always counted, and perf's output does not tell the "
                "two apart"
            )
    return events


def _require_windows_or_steady(value: object) -> object:
    """Return a valid value; reject others with one sentence (the type's own error lists each type of the union)."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100
    if not is_number and value != "steady":
        raise ValueError('must be a number of windows from 0 to 100, or "steady"')
    return value


WORKLOAD_FILE = "workload.toml"
"""The name of the workload file in a folder."""
PAGE_CACHE_STATES = ("host", "cold")
SERVER_PLACEHOLDERS = frozenset({"port", "socket", "data"})
"""The placeholders for what the runner provides for a server and its load: a free port, the path of a socket, a folder
that is new at each start."""


Command = Annotated[
    tuple[str, ...],
    BeforeValidator(_split_command, json_schema_input_type=str | tuple[str, ...]),
    AfterValidator(_require_program),
]
Variables = Annotated[dict[str, str], AfterValidator(_check_variable_names)]


class General(Table):
    """``[workload]``: the name of the workload, and how long and how often its command runs."""

    name: Name
    """Letters, digits, underscores, dots and dashes."""
    description: str = ""
    """A description in one sentence."""
    caveat: str = Field(default="", max_length=300)
    """What the counts do not show, such as "only the start is watched". Each measurement and each gate prints it."""
    timeout: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds after which an execution is killed and counts as failed."""
    samples: int = Field(default=2, ge=1, le=1000)
    """The smallest number of measured executions, after a discarded execution that warms the caches."""
    max_samples: int | None = Field(default=None, ge=1, le=1000)
    """The largest number of measured executions if samples do not agree or are not precise enough."""
    unmeasured: Literal["fail", "pass"] = "fail"
    """Whether a gate that could not measure anything fails."""


class BuildRecipe(Table):
    """``[build]``: how to build a revision. Without it, the command runs in the unbuilt checkout."""

    command: Command | None = None
    """Arguments, or a string that is split as a shell would split it; no shell runs it. By default nothing is built."""
    needs: tuple[str, ...] = ()
    """Programs that the build needs: if this host lacks one, the cases are skipped."""
    directory: Literal["subject", "workload"] = "subject"
    """The folder in which the command runs: the checkout of the revision, or a copy of the workload's own folder."""
    timeout: float = Field(default=900.0, gt=0, le=86_400)
    """Seconds after which the build is killed and counts as failed."""
    environment: Variables = Field(default_factory=dict)
    """Variables of the build, in addition to PATH, LC_ALL and HOME; they can also replace these three."""
    incomplete: bool = False
    """Build a checkout that lacks submodules, or Git LFS files, because the clone does not have them."""
    git: bool = False
    """Whether the build finds a git repository, as scripts that derive a version from tags need."""

    @property
    def identity(self) -> str:
        """Hash of everything in this table that affects the result of a build."""
        return hash_document(self.model_dump(mode="json", exclude={"needs", "timeout"}, exclude_defaults=True))


def _require_pattern(output: str, pattern: str | None) -> None:
    """Check that a pattern can find the work: without its groups, each execution would count as one operation in 1 s.

    Its syntax is not checked here, because a pattern from a pull request is only compiled in a separate process.
    """
    if output == "regex" and not re.search(r"\(\?P<(?:operations|seconds)>", pattern or ""):
        raise ValueError(
            'pattern: output = "regex" needs a pattern with a group (?P<operations>…) or (?P<seconds>…), or both'
        )


class RunRecipe(Table):
    """``[run]``: what to execute, and in which state. A parameter of the matrix replaces ``{name}``."""

    command: Command | tuple[()] = ()
    """The command to execute in the folder of the build: arguments, or one string that is split as a shell would split
    it. Required, unless there is a ``[server]``."""
    environment: Variables = Field(default_factory=dict)
    """Variables of the measured process, in addition to PATH, LC_ALL and HOME; they can also replace these three."""
    allocator: str = "glibc"
    """Name of an allocator that is preloaded, or a placeholder for one."""
    page_cache: Annotated[str, _require_choice(*PAGE_CACHE_STATES)] = "host"
    """``cold``: the files are evicted from memory before each execution. ``host``: the files stay as they are, and
    the program may set their state."""
    files: tuple[str, ...] = ()
    """Files whose page-cache state is set, relative to the build's directory."""
    keep: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    """Files that may stay as an execution left them, relative to the build's directory: patterns with ``*``, ``?`` and
    ``[...]``. Everything else is put back to its built state before the next execution."""
    output: Literal["none", "json", "regex", "google-benchmark", "hyperfine", "pytest-benchmark", "pyperf"] = "none"
    """The format in which the program reports its work."""
    output_file: str | None = None
    """The file in which the program reports its work, relative to the build's directory; by default standard output."""
    pattern: str | None = None
    """For ``regex``: a regular expression with the groups ``operations`` and ``seconds``."""
    processes: int | str = 1
    """Number of processes that run the command at once, each counted separately; a number or a placeholder."""
    memory_limit: str = "none"
    """Bytes that the processes may use together, with ``K``, ``M`` or ``G``; or a placeholder."""
    region: bool = False
    """Whether the program marks a region of interest, which is counted in addition to the whole process."""
    huge_pages: Annotated[str, _require_choice(*HUGE_PAGE_CHOICES)] = "host"
    """Which memory gets transparent huge pages; with ``never``, counts do not depend on free memory."""

    @model_validator(mode="after")
    def _check_pattern(self) -> Self:
        _require_pattern(self.output, self.pattern)
        return self

    @model_validator(mode="after")
    def _check_output_of_processes(self) -> Self:
        if self.output_file is not None and self.processes not in {1, "1"}:
            raise ValueError(
                "output_file: several processes would write the same file, whose work would be counted once for each; "
                "let them report their work on standard output"
            )
        return self

    def list_texts(self) -> tuple[str, ...]:
        """Return all texts in which placeholders are replaced."""
        limits = str(self.processes), self.memory_limit, self.huge_pages
        return (*self.command, *self.environment.values(), self.allocator, self.page_cache, *self.files, *limits)


class ServerRecipe(Table):
    """``[server]``: a program that runs until it is stopped, and is measured while a load generator uses it."""

    command: Command
    """The command of the server, which must stay in the foreground. ``{port}``, ``{socket}`` and ``{data}`` are given
    by the runner."""
    ready_log: str | None = Field(default=None, min_length=1)
    """A text that the server prints when it is ready. Without it and without ``ready_command``, the server is ready as
    soon as it listens on ``{port}`` or ``{socket}``."""
    ready_command: Command | None = None
    """A command that succeeds as soon as the server is ready."""
    ready_timeout: float = Field(default=30.0, gt=0, le=86_400)
    """Seconds within which the server must be ready."""
    stop_signal: Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGKILL"] = "SIGTERM"
    """The signal that stops the server."""
    stop_command: Command | None = None
    """A command that stops the server, instead of the signal."""
    stop_timeout: float = Field(default=10.0, gt=0, le=86_400)
    """Seconds within which the server must have stopped; then it is killed, and the run fails."""


LoadOutput = Literal[
    "none",
    "json",
    "regex",
    "google-benchmark",
    "hyperfine",
    "pytest-benchmark",
    "pyperf",
    "redis-benchmark",
    "memtier",
    "pgbench",
    "wrk",
    "hey",
    "ab",
    "sysbench",
]


class LoadRecipe(Table):
    """``[load]``: the commands that use the server: one fills it once, the other loads it in windows."""

    command: Command
    """The command of one window. It runs in the folder of the build, sees the server's network, and is not counted."""
    fill: Command | None = None
    """A command that runs once, before the first window, and is not counted either."""
    windows: int = Field(default=3, ge=1, le=100)
    """How many windows are measured."""
    warm_up: Annotated[
        Annotated[int, Field(ge=0, le=100)] | Literal["steady"], BeforeValidator(_require_windows_or_steady)
    ] = 1
    """How many warm-up windows precede the measured ones; ``"steady"`` for as many as it takes until the faults per
    operation have levelled off, at most twenty."""
    output: LoadOutput = "none"
    """The format in which the command prints its work: operations, seconds, latencies."""
    pattern: str | None = None
    """For ``regex``: a regular expression with the groups ``operations`` and ``seconds``."""
    operations: Annotated[int, Field(ge=1, le=2**53)] | None = None
    """The operations of one window, if the command does not print them."""

    @model_validator(mode="after")
    def _check_pattern(self) -> Self:
        _require_pattern(self.output, self.pattern)
        return self


class Metrics(Table):
    """``[metrics]``: additional perf events, and the required precision and the budgets of metrics."""

    events: Annotated[tuple[str, ...], Field(max_length=100), AfterValidator(_check_events)] = ()
    """perf events to count in addition to the standard ones, by their perf names."""
    judge: Annotated[tuple[MetricName, ...], Field(max_length=100)] = ()
    """Metrics to judge in addition to the exact counts."""
    precision: dict[str, Annotated[float, Field(gt=0, le=100)]] = Field(default_factory=dict)
    """The smallest relevant change of each metric, in percent."""
    budget: dict[str, Budget] = Field(default_factory=dict)
    """How much worse each metric may get before ``faultwatch compare`` fails; by default, no metric may get worse."""

    @property
    def judging(self) -> Judging:
        """The part of this table by which the service judges."""
        return Judging(judge=self.judge, precision=self.precision, budgets=self.budget)

    @model_validator(mode="after")
    def _check_judged_metrics(self) -> Self:
        """Check that ``judge`` lists only metrics that are counted."""
        metric_names = {*CATALOGUE, *(f"region:{name}" for name in CATALOGUE), *self.events}
        metric_names |= {f"region:{event}" for event in self.events}
        for name in self.judge:
            if name not in metric_names:
                similar_names = get_close_matches(name, metric_names, n=1)
                new_event_hint = "if it is an event, list it in `events` too"
                hint = f"did you mean {similar_names[0]!r}?" if similar_names else new_event_hint
                raise ValueError(f"judge: {name!r} is not a metric; {hint}")
        return self

    @model_validator(mode="after")
    def _check_budgets(self) -> Self:
        """Check that each metric with a budget is judged."""
        for name, budget in self.budget.items():
            if budget != NO_BUDGET and not self.judging.decides_comparison(name):
                raise ValueError(
                    f"budget: {name} is noisy, so no comparison judges it unless `judge` or `precision` lists it too"
                )
        return self


def list_server_placeholders(server: ServerRecipe) -> frozenset[str]:
    """Return the placeholders in a server's command that the runner replaces."""
    return SERVER_PLACEHOLDERS & {name for text in server.command for name in list_placeholders(text)}


RUN_KEYS_OF_PROGRAMS = ("command", "output", "output_file", "pattern", "processes", "region")
"""Keys of ``[run]`` that a workload with a ``[server]`` cannot have."""


class Workload(Table):
    """A workload as its file defines it."""

    # The requirements of _check_server that a schema can express.
    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["server"]},
            "then": {
                "required": ["load"],
                "properties": {"run": {"properties": dict.fromkeys(RUN_KEYS_OF_PROGRAMS, False)}},
            },
            "else": {"required": ["run"], "properties": {"run": {"required": ["command"]}, "load": False}},
        }
    )

    workload: General
    run: RunRecipe = Field(default_factory=RunRecipe)
    server: ServerRecipe | None = None
    load: LoadRecipe | None = None
    build: BuildRecipe = Field(default_factory=BuildRecipe)
    matrix: dict[Name, tuple[Parameter, ...]] = Field(default_factory=dict)
    """The values of each parameter. Each combination is a case."""
    include: tuple[dict[Name, Parameter], ...] = ()
    """Points to add."""
    exclude: tuple[dict[Name, Parameter], ...] = ()
    """Points of the matrix to leave out: all points that match these values."""
    metrics: Metrics = Field(default_factory=Metrics)
    path: Path = Field(default=Path(), exclude=True)
    """The path of the file."""

    @property
    def name(self) -> str:
        """Name of the workload."""
        return self.workload.name

    @property
    def command(self) -> tuple[str, ...]:
        """The command that is measured: that of the server if there is one."""
        return self.server.command if self.server else self.run.command

    @model_validator(mode="after")
    def _check_server(self) -> Self:
        """Check that there is a command, or a server with a load and without keys and names that conflict with it."""
        if (self.server is None) is not (self.load is None):
            raise ValueError(
                "[server] and [load] need each other: " + ("add [load]" if self.server else "add [server]")
            )
        if self.server is None:
            if not self.run.command:
                raise ValueError("[run] command: this key is required")
            return self
        forbidden_keys = self.run.model_fields_set.intersection(RUN_KEYS_OF_PROGRAMS)
        if forbidden_keys:
            raise ValueError(
                f"[run] {min(forbidden_keys)}: not allowed together with [server], which has its own command and [load]"
            )
        taken_names = SERVER_PLACEHOLDERS & self.matrix.keys()
        if taken_names:
            raise ValueError(
                f"[matrix] {min(taken_names)}: the runner uses this name for the server; choose another name"
            )
        return self

    def list_server_texts(self) -> tuple[str, ...]:
        """Return the texts in which the placeholders of a server are replaced as well."""
        if self.server is None or self.load is None:
            return ()
        server_commands = (self.server.command, self.server.ready_command, self.server.stop_command)
        load_commands = (self.load.command, self.load.fill)
        return tuple(text for command in server_commands + load_commands for text in command or ())

    def list_own_files(self) -> list[SourceFile]:
        """Return the files of the workload's folder that its build gets: all except the workload file.

        The definition includes them, so it covers every file of the folder that a build or an execution can read.
        """
        return [file for file in select_build_files(list_source_files(self.path.parent)) if file.name != self.path.name]

    @cached_property
    def own_digest(self) -> str:
        """Hash of the files of the workload's folder, at the first use of this property."""
        return compute_tree_digest(self.list_own_files())

    @cached_property
    def uses_own_folder(self) -> bool:
        """Whether a command, a variable or a file of the workload refers to its own folder."""
        return self.build_uses_own_folder or any(
            "workload" in list_placeholders(text) for text in (*self.run.list_texts(), *self.list_server_texts())
        )

    @cached_property
    def build_uses_own_folder(self) -> bool:
        """Whether the build reads the workload's own folder."""
        recipe = self.build
        names_folder = any(
            OWN_FOLDER_PLACEHOLDER in text for text in (*(recipe.command or ()), *recipe.environment.values())
        )
        return names_folder or recipe.directory == "workload"

    @cached_property
    def definition(self) -> str:
        """Hash of everything in the workload that can affect a metric.

        It excludes the description, the caveat and the number of executions. It excludes the matrix, because each point
        is a separate case. It also excludes keys at their defaults, so that a new key does not start new series. If the
        workload contains its own program, or refers to its own folder, the hash includes every file of the folder.
        """
        ignored_keys = {"description", "caveat", "samples", "max_samples", "unmeasured"}
        excluded_keys: dict[str, Any] = {
            "matrix": True,
            "include": True,
            "exclude": True,
            "workload": ignored_keys,
            "metrics": {"judge", "precision", "budget"},
            "build": {"needs"},
            "server": {"ready_timeout", "stop_timeout"},
        }
        kept_keys = self.model_dump(mode="json", exclude=excluded_keys, exclude_defaults=True)
        document = {table: keys for table, keys in kept_keys.items() if keys}
        if self.uses_own_folder:
            document["sources"] = self.own_digest
        return hash_document(document)


def load_workload(path: Path) -> Workload:
    """Read a workload from its file, or from the ``workload.toml`` in a folder.

    Raises
    ------
    FaultwatchError
        The file is missing, is not TOML, or is not valid; the message names the file, the key and the mistake.
    """
    file = path / WORKLOAD_FILE if path.is_dir() else path
    document = read_toml(
        file, "workload file", "pass a workload.toml, its folder, or a name that `faultwatch workloads` lists"
    )
    try:
        workload = Workload.model_validate(document | {"path": locate_workload(file)})
    except ValidationError as error:
        raise FaultwatchError(f"{file}: {describe_first_mistake(error, Workload)}") from None
    _check_matrix(workload, file)
    # The workload's own folder may be a whole repository only if the build runs there.
    has_separate_folder = workload.uses_own_folder and workload.build.directory == "subject"
    is_repository = has_separate_folder and (workload.path.parent / ".git").exists()
    refuse_ambiguous_folder(workload.matrix, file, is_repository=is_repository)
    refuse_unknown_placeholders(workload.run.list_texts(), workload.matrix, file)
    # The placeholders of a server get their values when it starts; any text can represent them here.
    server_values: dict[str, tuple[Parameter, ...]] = dict.fromkeys(SERVER_PLACEHOLDERS, ("",))
    refuse_unknown_placeholders(workload.list_server_texts(), workload.matrix | server_values, file)
    _require_readiness(workload.server, file)
    return workload


def _require_readiness(server: ServerRecipe | None, file: Path) -> None:
    """Raise if a server does not say when it is ready."""
    if server is None or server.ready_log or server.ready_command:
        return
    if not list_server_placeholders(server) & {"port", "socket"}:
        raise FaultwatchError(
            f"{file}: [server] does not say when the server is ready",
            "use {port} or {socket} in its command, or add ready_log or ready_command",
        )


def _check_matrix(workload: Workload, file: Path) -> None:
    """Raise if a parameter has no values or repeats one, or if a point does not fit the matrix."""
    empty_parameters = [name for name, values in workload.matrix.items() if not values]
    if empty_parameters:
        raise FaultwatchError(f"{file}: [matrix] {empty_parameters[0]} has no values", "add one, or remove the key")
    for name, values in workload.matrix.items():
        occurrences = Counter(map(format_parameter, values))
        repeated_text = next((text for text, number in occurrences.items() if number > 1), None)
        if repeated_text is not None:  # Two cases would have the same name.
            raise FaultwatchError(f"{file}: [matrix] {name}: {repeated_text} occurs twice", "remove one of them")
    for point in workload.include:
        if point.keys() != workload.matrix.keys():
            raise FaultwatchError(
                f"{file}: [[include]] {', '.join(point)}: a point needs a value for each parameter of the matrix",
                f"its parameters: {', '.join(workload.matrix) or 'none'}",
            )
    for excluded_point in workload.exclude:
        if not excluded_point:
            raise FaultwatchError(
                f"{file}: [[exclude]] does not name a parameter, so it would exclude every case",
                "name a parameter, or remove this entry",
            )
        for name, value in excluded_point.items():
            if name not in workload.matrix:
                raise FaultwatchError(
                    f"{file}: [[exclude]] {name}: the matrix has no such parameter",
                    f"its parameters: {', '.join(workload.matrix) or 'none'}",
                )
            values = workload.matrix[name]
            if value not in values:
                raise FaultwatchError(
                    f"{file}: [[exclude]] {name}: the matrix has no value {format_parameter(value)}",
                    f"its values: {', '.join(map(format_parameter, values))}",
                )
