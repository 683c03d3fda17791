"""Measure one case of one built revision: a warm-up, then its samples, as a report."""

import json
import math
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from runner import __version__
from runner.contract.report import (
    Build,
    Case,
    Environment,
    Failure,
    Host,
    Outcome,
    Reading,
    Report,
    Revision,
    Sample,
    Stage,
    Status,
)
from runner.errors import FaultwatchError
from runner.page_cache import StaysWarm, make_cold
from runner.perf.session import Execution, ExecutionFailure, count
from runner.state.process import ProcessState
from runner.workload import Workload
from runner.workload.allocators import allocator_variables, missing_library
from runner.workload.definition import fill


@dataclass(frozen=True, slots=True)
class Bench:
    """Where measurements are made: the host, and the environment that holds on it now.

    Attributes
    ----------
    variables
        Variables that the caller adds to the environment of every measured process.
    capture
        Returns the environment, given the complete state of the measured process.
    """

    host: Host
    capture: Callable[[ProcessState], Environment]
    variables: Mapping[str, str] = field(default_factory=dict)

    def state(self, workload: Workload, case: Case) -> ProcessState:
        """Return the state in which a case's process starts."""
        run = workload.run
        own = {name: fill(text, case.parameters) for name, text in run.environment.items()}
        preload = allocator_variables(fill(run.allocator, case.parameters))
        return ProcessState(variables={**preload, **own, **self.variables}, huge_pages=run.huge_pages)


def measure(
    workload: Workload,
    case: Case,
    tree: Path,
    *,
    bench: Bench,
    subject: str,
    revision: Revision,
    build: Build | None = None,
    samples: int | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Report:
    """Run a case in a built tree and return what was counted, or why nothing could be.

    The first execution warms the page cache and is discarded: what it reads from storage is not the case's doing.

    Parameters
    ----------
    samples
        How many executions to measure; the workload's own number by default.
    progress
        Called after each execution.

    Raises
    ------
    FaultwatchError
        Where measuring itself is impossible here; a failing program makes a report of its failure instead.
    """
    state = bench.state(workload, case)
    command = tuple(fill(part, case.parameters) for part in workload.run.command)
    draft = _Draft(workload, case, bench, subject, revision, build, command, datetime.now(UTC), bench.capture(state))

    if library := missing_library(fill(workload.run.allocator, case.parameters)):
        return draft.skipped(f"this host does not have the allocator's library, {library}")
    cold = _cold_files(workload, case, tree)

    def execution() -> Execution:
        make_cold(cold)
        done = count(
            command,
            directory=tree,
            state=state,
            timeout=workload.workload.timeout,
            events=workload.metrics.events,
            region=workload.run.region,
        )
        progress()
        return done

    try:
        execution()
        taken = [_sample(execution(), workload) for _ in range(samples or workload.workload.samples)]
    except StaysWarm as error:
        return draft.skipped(str(error))
    except ExecutionFailure as failure:
        return draft.failed(Stage.RUN, failure.message, failure.log)
    return draft.measured(taken)


def _cold_files(workload: Workload, case: Case, tree: Path) -> tuple[Path, ...]:
    """Return the files that must not be in memory when the case starts."""
    state = fill(workload.run.page_cache, case.parameters)
    if state not in {"host", "cold"}:
        raise FaultwatchError(f"{workload.path}: [run] page_cache: {state!r} is neither host nor cold")
    if state == "host":
        return ()
    files = workload.run.files or workload.run.command[:1]
    return tuple(tree / fill(name, case.parameters) for name in files)


def failed_build(
    workload: Workload, case: Case, *, bench: Bench, subject: str, revision: Revision, message: str, build: Build
) -> Report:
    """Return the report of a revision that does not build."""
    environment = bench.capture(bench.state(workload, case))
    draft = _Draft(workload, case, bench, subject, revision, build, (), datetime.now(UTC), environment)
    return draft.failed(Stage.BUILD, message, build.log)


@dataclass(frozen=True, slots=True)
class _Draft:
    """What a report says whatever the outcome."""

    workload: Workload
    case: Case
    bench: Bench
    subject: str
    revision: Revision
    build: Build | None
    command: tuple[str, ...]
    started_at: datetime
    environment: Environment

    def measured(self, samples: list[Sample]) -> Report:
        return self._report(Outcome.MEASURED, samples=tuple(samples))

    def skipped(self, reason: str) -> Report:
        return self._report(Outcome.SKIPPED, failure=Failure(stage=Stage.RUN, message=reason[:1000]))

    def failed(self, stage: Stage, message: str, log: str) -> Report:
        return self._report(Outcome.FAILED, failure=Failure(stage=stage, message=message[:1000], log=log))

    def _report(self, outcome: Outcome, *, samples: tuple[Sample, ...] = (), failure: Failure | None = None) -> Report:
        return Report(
            run_id=uuid.uuid4(),
            subject=self.subject,
            revision=self.revision,
            case=self.case,
            host=self.bench.host,
            environment=self.environment,
            runner_version=__version__,
            command=self.command,
            started_at=self.started_at,
            finished_at=datetime.now(UTC),
            outcome=outcome,
            samples=samples,
            build=self.build,
            failure=failure,
        )


def _sample(execution: Execution, workload: Workload) -> Sample:
    """Add what can be derived from one execution to what perf read."""
    readings = dict(execution.sample.readings)
    readings |= _sys_percent(readings)
    if workload.run.output == "json":
        operations, seconds = _work_done(execution.output)
        readings["throughput"] = Reading(value=operations / seconds)
        faults = [readings[name].value for name in ("minor-faults", "major-faults") if name in readings]
        counted = [value for value in faults if value is not None]
        if len(counted) == 2:
            readings["faults-per-operation"] = Reading(value=sum(counted) / operations)
    return Sample(readings=readings, perf_output=execution.sample.perf_output)


def _sys_percent(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    system = readings.get("sys-time")
    user = readings.get("user-time")
    if system is None or user is None:
        return {}
    if system.value is None and user.value is None:
        return {"sys-percent": Reading(status=Status.NOT_COUNTED, reason="neither user nor system time was counted")}
    # perf says "not counted" of a time that is zero; here the other one tells that the clock ran.
    total = (system.value or 0) + (user.value or 0)
    return {"sys-percent": Reading(value=100 * (system.value or 0) / total)} if total else {}


def _work_done(output: str) -> tuple[float, float]:
    """Return the operations and the seconds of the main loop that a program reports as its last line.

    Raises
    ------
    ExecutionFailure
        Where the last line is not a JSON object with both, as positive numbers.
    """
    lines = output.strip().splitlines()
    last = lines[-1] if lines else ""
    try:
        document = json.loads(last)
        operations, seconds = document["operations"], document["seconds"]
        good = all(_is_positive(value) for value in (operations, seconds))
    except (ValueError, TypeError, KeyError, RecursionError):
        good = False
    if not good:
        shown = repr(last[:120]) if last else "nothing"
        raise ExecutionFailure(
            f'the last line of standard output must be a JSON object with positive "operations" and "seconds", '
            f"but the program printed {shown}",
            output[-20_000:],
        )
    return operations, seconds


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
