"""A made-up history with everything that a page can meet, as the service's own models."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from runner.contract import (
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
    metric,
)
from service.rules.series.outline import Outline, outline
from service.schemas.directory import Activity, HostEntry
from service.schemas.events import State
from service.schemas.history import (
    Candidate,
    Cause,
    Companion,
    ConfigChange,
    Direction,
    Drift,
    DriftList,
    Evidence,
    FailureSummary,
    KnobChange,
    RunSummary,
    SeriesDetail,
    SeriesFailure,
    SeriesPoint,
    SeriesSummary,
)
from service.store.sibling_series import Sibling

START = datetime(2025, 3, 3, 9, 30, tzinfo=UTC)
HOSTILE = "</script><script>alert(1)</script><b onclick='x'>"
CASE = Case(workload="copy_service", definition="0123456789abcdef", parameters={"operations": 64, "threads": 1})
OLD_ENVIRONMENT, NEW_ENVIRONMENT = "a" * 16, "b" * 16
KNOBS = [
    KnobChange(name="variable.MALLOC_CONF", before=None, after="dirty_decay_ms:0,muzzy_decay_ms:0"),
    KnobChange(name="variable.LD_PRELOAD", before="", after="/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"),
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
            "unit": metric(name).unit,
            "kind": metric(name).kind,
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
            "knobs": KNOBS if cause in {Cause.CONFIG, Cause.BOTH} else [],
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
    known = metric(name)
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
                run_before=old[-1].run_id,
                run_after=anchor.run_id,
                environment_before=OLD_ENVIRONMENT,
                environment_after=NEW_ENVIRONMENT,
                knobs=KNOBS,
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


def restless(changes: int) -> SeriesDetail:
    """A series whose configuration changed again and again."""
    points = [point(number, 7, run=number) for number in range(5 * changes)]
    told = [
        ConfigChange(
            revision=after.revision,
            run_before=before.run_id,
            run_after=after.run_id,
            environment_before=OLD_ENVIRONMENT,
            environment_after=NEW_ENVIRONMENT,
            knobs=[KnobChange(name=f"kernel.knob_{number}", before="0", after="1") for number in range(20)],
        )
        for before, after in list(pairwise(points))[4::5]
    ]
    return SeriesDetail(
        **head(6, "minor-faults", "restless_case"),
        n_points=len(points),
        points=points,
        changes=told,
        drifts=[],
        failures=[],
    )


def report(number: int = 4) -> Report:
    """A run with every status a reading can have."""

    def sample(index: int) -> Sample:
        return Sample(
            readings={
                "minor-faults": Reading(value=18623),
                "major-faults": Reading(value=0),
                "page-faults": Reading(value=18623),
                "faults-per-operation": Reading(value=290.984375),
                "sys-time": Reading(value=0.03921 + index / 1000),
                "throughput": Reading(value=1873.25 + index),
                "instructions": Reading(
                    status=Status.NOT_SUPPORTED, reason="no hardware counter in this virtual machine"
                ),
                "cycles": Reading(status=Status.NOT_COUNTED),
                "context-switches": Reading(status=Status.MULTIPLEXED, value=12, running_percent=48.2),
            },
            perf_output=f"18623;;minor-faults:u;{HOSTILE};100.00;;\n0;;major-faults;1;100.00;;\n",
        )

    return Report(
        run_id=run_id(number),
        subject="copyd",
        revision=Revision(commit=commit(number), author="Ada Writer", committed_at=START, title=TITLES[number]),
        case=CASE,
        host=Host(name="lab-1"),
        environment=Environment(
            knobs={"kernel.release": "6.12.9", "thp.enabled": "madvise", "variable.MALLOC_CONF": ""}
        ),
        runner_version="0.1.0",
        command=("./copyd", "--operations", "64"),
        started_at=START,
        finished_at=START + timedelta(seconds=9),
        outcome=Outcome.MEASURED,
        samples=tuple(sample(index) for index in range(3)),
        build=Build(command=("make", "copyd"), seconds=1.284, log="cc -O2 -o copyd copyd.c\n"),
        remarks=(f"the stack limit cannot be set: {HOSTILE}",),
    )


def failed_report() -> Report:
    """A revision that does not build."""
    return Report(
        **report(FAILED).model_dump(exclude={"outcome", "samples", "failure"}),
        outcome=Outcome.FAILED,
        failure=Failure(
            stage=Stage.BUILD, message="make ended with status 2", log=f"copyd.c:41: error: expected ';' {HOSTILE}\n"
        ),
    )


@dataclass
class MadeSource:
    """Answers from memory."""

    all: list[SeriesDetail] = field(
        default_factory=lambda: [faults(), throughput(), majors(), uncounted(), long(10_000), restless(30)]
    )

    def drifts(self) -> DriftList:
        found = [entry for series in self.all for entry in series.drifts]
        return DriftList(items=sorted(found, key=lambda entry: entry.committed_at, reverse=True), total=len(found))

    def series_of(self, _: Report) -> dict[str, int]:
        return {series.metric: series.id for series in reversed(self.all)}

    def judged(self) -> tuple[list[SeriesSummary], int]:
        found = [_summary(series) for series in self.all if series.judged]
        return found, len(found)

    def outlines(self, series_ids: Iterable[int]) -> dict[int, Outline]:
        found = {series.id: _outline(series) for series in self.all if series.id in set(series_ids)}
        return {series_id: drawn for series_id, drawn in found.items() if drawn is not None}

    def hosts(self) -> list[HostEntry]:
        return [
            HostEntry(
                name="lab-1",
                labels=["x86"],
                runs=12345,
                last_seen=START,
                last_run=run_id(4),
                outcome=Outcome.MEASURED,
                environment=NEW_ENVIRONMENT,
                quarantine="anonymous: 1,025 then 1,025 then 1,025 faults counted, 1,024 expected",
                canary="anonymous: 1,025 faults counted, 1,024 expected",
                canary_holds=False,
                mismatches=[],
            )
        ]

    def activity(self) -> list[Activity]:
        return [
            Activity(
                host="lab-1",
                runs=1200,
                run_id=run_id(4),
                case=CASE.name,
                revision=commit(4),
                title=HOSTILE,
                finished_at=START,
            )
        ]

    def failures(self) -> list[RunSummary]:
        if not self.all:
            return []
        broken = failed_report()
        assert broken.failure
        return [
            RunSummary(
                run_id=broken.run_id,
                subject=broken.subject,
                host=broken.host.name,
                case=broken.case.name,
                workload=broken.case.workload,
                revision=broken.revision.commit,
                title=broken.revision.title,
                environment=broken.environment.hash,
                outcome=broken.outcome,
                failure=FailureSummary(stage=broken.failure.stage, message=broken.failure.message),
                quarantine=None,
                started_at=broken.started_at,
                finished_at=broken.finished_at,
            )
        ]

    def quarantined(self) -> list[RunSummary]:
        return []

    def series(self, series_id: int) -> SeriesDetail | None:
        return next((series for series in self.all if series.id == series_id), None)

    def siblings(self, _: SeriesDetail) -> list[Sibling]:
        return [Sibling(one.id, one.host, one.case, one.definition, one.metric) for one in self.all[:3]]

    def drift(self, drift_id: str) -> Drift | None:
        return next((entry for entry in self.drifts().items if entry.id == drift_id), None)

    def decided(self) -> tuple[list[tuple[Drift, State]], int]:
        return [(entry, State.FALSE_ALARM) for entry in self.all[0].drifts], 12_345

    def event_of(self, _: str) -> None:
        return None

    def run(self, wanted: uuid.UUID) -> Report | None:
        if wanted == run_id(FAILED):
            return failed_report()
        return next((report(number) for number in range(len(TITLES)) if run_id(number) == wanted), None)


def _summary(series: SeriesDetail) -> SeriesSummary:
    values = [entry.value for entry in series.points if entry.on_path and entry.value is not None]
    return SeriesSummary(
        **series.model_dump(exclude={"points", "changes", "drifts", "failures"}),
        latest=values[-1] if values else None,
    )


def _outline(series: SeriesDetail) -> Outline | None:
    path = [entry for entry in series.points if entry.on_path and entry.value is not None]
    flagged = {entry.run_after: entry.direction is Direction.REGRESSION for entry in series.drifts}
    return outline(
        [entry.value for entry in path if entry.value is not None],
        [(place, flagged[entry.run_id]) for place, entry in enumerate(path) if entry.run_id in flagged],
    )
