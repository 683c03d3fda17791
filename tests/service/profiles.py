"""Makes profiles as a runner would send them, without running anything."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any, Literal

from runner.contract.profile import (
    Access,
    Anatomy,
    Area,
    Call,
    Census,
    Frame,
    Memory,
    Profile,
    Site,
    Stack,
    StackKind,
    StackProfile,
    Touch,
)
from runner.contract.report import Case, Environment, Host, Reading, Revision

FRAMES = tuple(
    Frame(function=name)
    for name in (
        *("main", "copy", "exc_page_fault", "__x64_sys_munmap", "down_write", "rwsem_down_write_slowpath"),
        "io_schedule",
    )
)
MAIN, COPY, FAULTING, UNMAPPING, LOCKING, WAITING, STORAGE = range(7)
NOW = datetime(2025, 1, 1, tzinfo=UTC)


def anatomy(touch: dict[Touch, int], memory: Memory = Memory.ANONYMOUS, pages: int = 100, **changes: Any) -> Anatomy:
    """Return an anatomy whose faults are all of one kind of memory."""
    faults = sum(touch.values())
    copy = Frame(function="copy", file="/srv/copy.c", line=7)
    sites = tuple(Site(frame=copy, memory=memory, touch=kind, faults=number) for kind, number in touch.items())
    told: dict[str, Any] = {
        "counted": faults,
        "recorded": faults,
        "pages": pages,
        "by_memory": {memory: faults},
        "by_touch": touch,
        "by_access": {Access.WRITE: faults},
        "sites": sites,
    }
    return Anatomy(**(told | changes))


def area(**changes: Any) -> Area:
    """Return a large region that 8 threads touch."""
    told: dict[str, Any] = {
        "memory": Memory.ANONYMOUS,
        "size": 1 << 28,
        "faults": 65_536,
        "pages": 65_536,
        "threads": 8,
        "seconds": 0.5,
    }
    return Area(**(told | changes))


def stacks(
    kind: StackKind,
    weights: dict[tuple[int, ...], int],
    samples: int = 1000,
    call_graph: Literal["fp", "dwarf", "lbr"] = "fp",
) -> StackProfile:
    """Return a stack profile."""
    made = tuple(Stack(frames=frames, weight=weight) for frames, weight in weights.items())
    total = sum(weights.values())
    return StackProfile(kind=kind, samples=samples, period=1, total=total, call_graph=call_graph, stacks=made)


def profile(
    anatomy: Anatomy,
    *,
    cost: float = 0.0,
    waited: float = 0.0,
    stored: float = 0.0,
    calls: dict[str, int] | None = None,
    readings: dict[str, float] | None = None,
    references: dict[str, dict[str, float]] | None = None,
    settings: dict[str, str] | None = None,
    **changes: Any,
) -> Profile:
    """Return a profile of one second of CPU time, of which a share goes into faults.

    Threads wait for some seconds for the lock of the address space (``waited``) and for storage (``stored``).
    """
    faulting = round(cost * 1e9)
    told: dict[str, Any] = {
        "profile_id": uuid.uuid4(),
        "subject": "subject",
        "revision": Revision(commit="a" * 40, committed_at=NOW),
        "case": Case(workload="w", definition="0" * 16),
        "host": Host(name="host"),
        "environment": Environment(settings=settings or {}),
        "runner_version": "0",
        "started_at": NOW,
        "finished_at": NOW,
        "scope": "process",
        "operations": 10,
        "readings": _readings({"task-clock": 1.0, **(readings or {})}),
        "references": {name: _readings(values) for name, values in (references or {}).items()},
        "frames": FRAMES,
        "on_cpu": stacks(StackKind.ON_CPU, {(MAIN,): 10**9 - faulting, (MAIN, COPY, FAULTING): faulting}),
        "off_cpu": stacks(
            StackKind.OFF_CPU,
            {
                (MAIN, UNMAPPING, LOCKING, WAITING): round(waited * 1e9),
                (MAIN, FAULTING, STORAGE): round(stored * 1e9),
            },
        ),
        "anatomy": anatomy,
        "census": Census(source="tracepoints", calls={name: Call(calls=n) for name, n in (calls or {}).items()}),
    }
    return Profile(**(told | changes))


def _readings(values: dict[str, float]) -> dict[str, Reading]:
    return {name: Reading(value=value) for name, value in values.items()}
