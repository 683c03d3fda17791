"""Series, drifts and points of a made-up history, as the service's own models."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from runner.contract import (
    Case,
    Stage,
    Status,
    get_metric,
)
from service.schemas.history import (
    Candidate,
    Cause,
    Companion,
    ConfigChange,
    Direction,
    Drift,
    Evidence,
    SeriesDetail,
    SeriesFailure,
    SeriesPoint,
    SettingChange,
)

START = datetime(2025, 3, 3, 9, 30, tzinfo=UTC)
HOSTILE = "</script><script>alert(1)</script><b onclick='x'>"
CASE = Case(workload="copy_service", definition="0123456789abcdef", parameters={"operations": 64, "threads": 1})
OLD_ENVIRONMENT, NEW_ENVIRONMENT = "a" * 16, "b" * 16
SETTINGS = [
    SettingChange(name="variable.MALLOC_CONF", before=None, after="dirty_decay_ms:0,muzzy_decay_ms:0"),
    SettingChange(name="variable.LD_PRELOAD", before="", after="/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"),
]


def commit(number: int) -> str:
    return f"{number:02d}" + f"{(number * 2654435761) % 16**8:08x}" * 4 + "0" * 6


def run_id(number: int) -> uuid.UUID:
    return uuid.UUID(int=0x10000000000040008000000000000000 + number)


TITLES = [
    "Copy a buffer and count",
    "Split the reader from the copier",
    "Say what each loop is for",
    "Check arguments before allocating",
    "Hand memory back after each operation",
    "Rename buffers after what they hold",
    HOSTILE,
    "Keep a page of statistics",
    "Fix a typing mistake in a comment",
    "Use one arena for short-lived blocks, so that the allocator need not ask the kernel for more memory each time",
    "Does not build",
    "Reuse the buffer between operations",
    "Order the includes",
    "Explain the exit code",
]
LEVELS = [2239, 2239, 2239, 2239, 18623, 18623, 18623, 18624, 18624, 18624, None, 2304, 2304, 2304]
FAILED = 10
ANCHOR = 9
"""The last commit in the old environment, measured again in the new one."""


def point(
    number: int, value: float | None, *, run: int | None = None, environment: str = OLD_ENVIRONMENT, **more: Any
) -> SeriesPoint:
    return SeriesPoint(
        **{
            "run_id": run_id(number if run is None else run),
            "revision": commit(number),
            "title": TITLES[number % len(TITLES)],
            "author": "Ada Writer",
            "committed_at": START + timedelta(days=number, hours=3 * (number % 4)),
            "position": number,
            "measured_at": START + timedelta(days=40, minutes=number),
            "environment": environment,
            "status": Status.COUNTED if value is not None else Status.NOT_COUNTED,
            "value": value,
            "low": value,
            "high": value,
            "n": 3 if value is not None else 0,
            "on_path": True,
        }
        | more
    )


def drift(series_id: int, before: SeriesPoint, after: SeriesPoint, cause: Cause = Cause.COMMIT, **more: Any) -> Drift:
    assert before.value is not None
    assert after.value is not None
    name = more.get("metric", "minor-faults")
    return Drift(
        **{
            "id": f"{series_id:04x}{after.position:04x}{'c' if cause is Cause.CONFIG else 'd'}",
            "series_id": series_id,
            "subject": "copyd",
            "host": "lab-1",
            "case": CASE.name,
            "workload": CASE.workload,
            "metric": name,
            "unit": get_metric(name).unit,
            "kind": get_metric(name).kind,
            "cause": cause,
            "direction": Direction.REGRESSION if after.value > before.value else Direction.IMPROVEMENT,
            "revision": after.revision,
            "title": after.title,
            "author": after.author,
            "committed_at": after.committed_at,
            "previous_revision": before.revision,
            "candidates": [
                Candidate(commit=commit(number), title=TITLES[number % len(TITLES)], author="Ada Writer")
                for number in range(before.position + 1, after.position + 1)
            ],
            "before": before.value,
            "after": after.value,
            "change": after.value - before.value,
            "percent": None if before.value == 0 else 100 * (after.value - before.value) / before.value,
            "rule": "exact",
            "evidence": Evidence(
                n_before=4,
                n_after=3,
                spread=0,
                sentence=f"Every sample of 4 runs counted {before.value:,} and every sample of 3 runs {after.value:,}.",
                wants_rerun=False,
            ),
            "settings": SETTINGS if cause in {Cause.CONFIG, Cause.COMMIT_AND_CONFIG} else [],
            "run_before": before.run_id,
            "run_after": after.run_id,
            "environment_before": before.environment,
            "environment_after": after.environment,
            "companions": [
                Companion(metric="sys-percent", title="System share", unit="%", before=4.2, after=38.25),
                Companion(metric="throughput", title="Throughput", unit="operations/s", before=10412.5, after=1873.25),
                Companion(metric="major-faults", title="Major faults", unit="faults", before=0, after=12),
            ],
        }
        | more
    )


def head(series_id: int, name: str, case: str = CASE.name) -> dict[str, Any]:
    known = get_metric(name)
    return {
        "id": series_id,
        "subject": "copyd",
        "host": "lab-1",
        "case": case,
        "workload": CASE.workload,
        "definition": CASE.definition,
        "parameters": CASE.parameters,
        "metric": name,
        "title": known.title,
        "unit": known.unit,
        "kind": known.kind,
        "better": known.better,
        "judged": known.judged,
    }


def faults() -> SeriesDetail:
    """Minor faults: a regression, one page more, a configuration change, a broken build, an improvement."""
    old = [point(number, LEVELS[number]) for number in range(ANCHOR + 1)]
    anchor = point(ANCHOR, 41201, run=100, environment=NEW_ENVIRONMENT)
    new = [
        point(number, LEVELS[number], environment=NEW_ENVIRONMENT)
        for number in range(ANCHOR + 1, len(LEVELS))
        if number != FAILED
    ]
    beside = point(ANCHOR - 1, 41201, run=101, environment=NEW_ENVIRONMENT, on_path=False)
    return SeriesDetail(
        **head(1, "minor-faults"),
        n_points=len(old) + len(new) + 2,
        points=[*old, anchor, *new, beside],
        changes=[
            ConfigChange(
                revision=anchor.revision,
                committed_at=anchor.committed_at,
                run_before=old[-1].run_id,
                run_after=anchor.run_id,
                environment_before=OLD_ENVIRONMENT,
                environment_after=NEW_ENVIRONMENT,
                settings=SETTINGS,
            )
        ],
        drifts=[
            drift(1, old[3], old[4]),
            drift(1, old[6], old[7]),
            drift(1, old[9], anchor, Cause.CONFIG),
            drift(1, anchor, new[0]),
        ],
        failures=[
            SeriesFailure(
                revision=commit(FAILED),
                title=TITLES[FAILED],
                position=FAILED,
                run_id=run_id(FAILED),
                stage=Stage.BUILD,
                message="copyd.c:41: error: expected ';' before 'return'",
            )
        ],
    )


def throughput() -> SeriesDetail:
    """A noisy metric that is not judged, with a range at each run."""
    points = [
        point(
            number,
            10000 + 137 * (number * 7 % 5) - 6000 * (4 <= number < 11),
            low=9800 - 6000 * (4 <= number < 11),
            high=10800 - 6000 * (4 <= number < 11),
        )
        for number in range(len(LEVELS))
    ]
    return SeriesDetail(
        **head(2, "throughput"), n_points=len(points), points=points, changes=[], drifts=[], failures=[]
    )


def majors() -> SeriesDetail:
    """A zero baseline."""
    points = [point(number, 0 if number < 8 else 12) for number in range(len(LEVELS))]
    return SeriesDetail(
        **head(3, "major-faults"),
        n_points=len(points),
        points=points,
        changes=[],
        drifts=[drift(3, points[7], points[8], metric="major-faults")],
        failures=[],
    )


def uncounted() -> SeriesDetail:
    """A counter that this machine does not have."""
    points = [point(number, None, status=Status.NOT_SUPPORTED) for number in range(4)]
    return SeriesDetail(
        **head(4, "instructions"), n_points=len(points), points=points, changes=[], drifts=[], failures=[]
    )


def long(count: int) -> SeriesDetail:
    """Many points with one step of a single fault."""
    points = [
        point(number, 2239 if number < count * 2 // 3 else 2240, committed_at=START + timedelta(minutes=37 * number))
        for number in range(count)
    ]
    at = count * 2 // 3
    found = drift(5, points[at - 1], points[at], candidates=[])
    return SeriesDetail(
        **head(5, "minor-faults", f"long_case[points={count}]"),
        n_points=count,
        points=points,
        changes=[],
        drifts=[found],
        failures=[],
    )
