"""Makes reports of a made-up subject: a straight history of numbered commits, one a day."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.contract import (
    Case,
    Environment,
    Failure,
    Host,
    Outcome,
    PlanRequest,
    Reading,
    Report,
    Revision,
    Sample,
    Stage,
)

START = datetime(2025, 1, 1, 12, tzinfo=UTC)
CASE = Case(workload="copy", definition="0123456789abcdef", parameters={"mib": 4})
OTHER_CASE = Case(workload="copy", definition="0123456789abcdef", parameters={"mib": 8})
GLIBC = Environment(settings={"allocator": "glibc", "aslr": "0"})
JEMALLOC = Environment(settings={"allocator": "jemalloc", "aslr": "0"})


def commit(number: int) -> str:
    """Return the hash of a commit of the made-up subject."""
    return f"{number:040x}"


def revision(number: int, *, parents: Sequence[int] | None = None, **changes: Any) -> Revision:
    """Return a commit of the made-up subject; its parent is the number before, unless told otherwise."""
    if parents is None:
        parents = [number - 1] if number > 1 else []
    told = {
        "commit": commit(number),
        "parents": tuple(commit(parent) for parent in parents),
        "author": "Ada",
        "committed_at": START + timedelta(days=number),
        "title": f"Change {number}",
    }
    return Revision(**(told | changes))


def report(
    number: int,
    *faults: int,
    environment: Environment = GLIBC,
    case: Case = CASE,
    at: float | None = None,
    run_id: uuid.UUID | None = None,
    failure: Failure | None = None,
    others: dict[str, float] | None = None,
    samples: tuple[Sample, ...] | None = None,
    **changes: Any,
) -> Report:
    """Return a report of a commit with one sample for each count of minor faults, or with a failure.

    `at` says in which minute it was measured: by default the commit's number.
    """
    started = START + timedelta(days=365, minutes=number if at is None else at)
    told: dict[str, Any] = {
        "run_id": run_id or uuid.uuid4(),
        "subject": "demo",
        "revision": revision(number),
        "case": case,
        "host": Host(name="box"),
        "environment": environment,
        "runner_version": "1",
        "started_at": started,
        "finished_at": started + timedelta(seconds=30),
        "outcome": Outcome.FAILED if failure else Outcome.MEASURED,
        "failure": failure,
        "samples": (() if failure else tuple(sample(count, others) for count in faults))
        if samples is None
        else samples,
    }
    return Report(**(told | changes))


def repeated(number: int, *faults: int, times: int, at: float | None = None, **changes: Any) -> list[Report]:
    """Return reports of so many runs of one commit, one each hundredth of a minute."""
    start = float(number if at is None else at)
    return [report(number, *faults, at=start + run / 100, **changes) for run in range(times)]


def proven(*levels: int, **changes: Any) -> list[Report]:
    """Return reports of commits 1, 2, … with these levels, each run so often that every change is certain."""
    return [run for number, level in enumerate(levels, 1) for run in repeated(number, level, level, times=6, **changes)]


def sample(faults: int, others: dict[str, float] | None = None) -> Sample:
    """Return a sample with a count of minor faults, and other metrics."""
    values: dict[str, float] = {"minor-faults": faults} | (others or {})
    return Sample(readings={name: Reading(value=value) for name, value in values.items()}, perf_output="raw\n")


def failed_build(number: int, **changes: Any) -> Report:
    """Return a report of a commit that does not build."""
    return report(number, failure=Failure(stage=Stage.BUILD, message="cc: error", log="long log"), **changes)


def plan_request(*numbers: int, environment: Environment = GLIBC, cases: Sequence[Case] = (CASE,)) -> PlanRequest:
    """Return what a runner offers to measure."""
    return PlanRequest(
        subject="demo",
        host=Host(name="box"),
        environment=environment,
        cases=tuple(cases),
        revisions=tuple(commit(number) for number in numbers),
    )
