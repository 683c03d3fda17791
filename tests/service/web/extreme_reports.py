"""Reports with everything that a page can meet: long and restless series, zero baselines, hosts in quarantine."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from flask.testing import FlaskClient

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
)
from runner.contract.canary import Canary, CanaryCount

SUBJECT = "copyd"
START = datetime(2025, 3, 3, 9, 30, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
"""When the long series is measured: its host is measuring at any time of the test."""
HOSTILE = "</script><script>alert(1)</script><b onclick='x'>"
LONG = 10_000
SETTLED = 12
"""Events that are dismissed."""
CHANGES, LARGE_CHANGE = 30, 15
"""Configuration changes of the restless series, and the one of many settings."""
ENVIRONMENT = Environment(
    settings={"kernel.release": "6.12.9", "thp.enabled": "madvise", "variable.MALLOC_CONF": ""},
)
TITLES = {
    4: "Hand memory back after each operation",
    6: HOSTILE,
    9: "Use one arena for short-lived blocks, so that the allocator need not ask the kernel for more memory each time",
    10: "Does not build",
}
MAIN, LEVELS = "copy_service", [2239] * 4 + [18623] * 6 + [None] + [2304] * 3
"""A regression that a later commit undoes, and a build that fails."""


def case(workload: str) -> Case:
    return Case(workload=workload, definition="0123456789abcdef", parameters={"operations": 64, "threads": 1})


def commit(number: int) -> str:
    return f"{number + 1:04x}" * 10


def run_id(workload: str, number: int, *, again: bool = False) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{workload} {number} {again}")


def revision(number: int) -> Revision:
    return Revision(
        commit=commit(number),
        parents=(commit(number - 1),) if number else (),
        author="Ada Writer",
        committed_at=START + timedelta(minutes=37 * number),
        title=TITLES.get(number, f"Change {number}"),
    )


def report(
    workload: str,
    number: int,
    samples: Sequence[Sample],
    *,
    host: str = "lab-1",
    at: datetime | None = None,
    again: bool = False,
    **changes: Any,
) -> Report:
    started = at or START + timedelta(days=40, minutes=number + 100_000 * again)
    values: dict[str, Any] = {
        "run_id": run_id(workload, number, again=again),
        "subject": SUBJECT,
        "revision": revision(number),
        "case": case(workload),
        "host": Host(name=host),
        "environment": ENVIRONMENT,
        "runner_version": "0.1.0",
        "command": ("./copyd", "--operations", "64"),
        "started_at": started,
        "finished_at": started + timedelta(seconds=9),
        "outcome": Outcome.MEASURED,
        "samples": tuple(samples),
    }
    return Report(**(values | changes))


def count(faults: int) -> list[Sample]:
    return [Sample(readings={"minor-faults": Reading(value=faults)})]


def full_sample(level: int, majors: int, index: int) -> Sample:
    """A sample with every status that a reading can have."""
    return Sample(
        readings={
            "minor-faults": Reading(value=level),
            "major-faults": Reading(value=majors),
            "page-faults": Reading(value=level),
            "faults-per-operation": Reading(value=level / 64),
            "sys-time": Reading(value=0.03921 + index / 1000),
            "throughput": Reading(value=1873.25 + index),
            "instructions": Reading(status=Status.NOT_SUPPORTED, reason="no hardware counter in this virtual machine"),
            "cycles": Reading(status=Status.NOT_COUNTED),
            "context-switches": Reading(status=Status.MULTIPLEXED, value=12, running_percent=48.2),
        },
        perf_output=f"{level};;minor-faults:u;{HOSTILE};100.00;;\n",
    )


def main_reports() -> Iterator[Report]:
    """The main case: a regression with a zero baseline beside it, a build that fails, an improvement."""
    for number, level in enumerate(LEVELS):
        if level is None:
            failure = Failure(stage=Stage.BUILD, message="make ended with status 2", log=f"copyd.c:41: {HOSTILE}\n")
            yield report(MAIN, number, (), outcome=Outcome.FAILED, failure=failure)
        else:
            samples = [full_sample(level, 0 if number < 4 else 12, index) for index in range(3)]
            build = Build(command=("make", "copyd"), seconds=1.284, log="cc -O2 -o copyd copyd.c\n")
            remarks = (f"the stack limit cannot be set: {HOSTILE}",)
            yield report(MAIN, number, samples, build=build, remarks=remarks)


def settled_reports() -> Iterator[Report]:
    """A dozen cases, each with a step at its own commit."""
    for place in range(SETTLED):
        first = 100 + place
        for number in range(first, first + 8):
            level = 1000 + place + (100 if number >= first + 4 else 0)
            yield report(f"settled_{place}", number, count(level), host="lab-2")


def long_reports() -> Iterator[Report]:
    """Many runs with one step of a single fault."""
    for number in range(LONG):
        samples = count(2239 if number < LONG * 2 // 3 else 2240)
        yield report("long_case", number, samples, host="lab-3", at=LATER + timedelta(minutes=number))


def restless_reports() -> Iterator[Report]:
    """A case whose configuration changes after every fifth commit: four settings each time, once twenty."""
    for number in range(5 * (CHANGES + 1)):
        change = number // 5
        settings = {
            f"kernel.setting_{setting:02}": str(change if setting < 4 else change > LARGE_CHANGE)
            for setting in range(20)
        }
        yield report("restless_case", number, count(7), host="lab-2", environment=Environment(settings=settings))


def unsettled_reports() -> Iterator[Report]:
    """Drifts whose cause is not settled: commit and configuration at once, neither of them, and a single run."""
    other = Environment(settings={**ENVIRONMENT.settings, "thp.enabled": "never"})
    for number in range(8):
        environment = ENVIRONMENT if number < 4 else other
        yield report("both", number, count(100 if number < 4 else 160), host="lab-4", environment=environment)
        yield report("unknown", number, count(100 if number < 5 else 140), host="lab-5")
        yield report("doubtful", number, count(100 if number < 7 else 180), host="lab-6")
    for minutes in range(3):
        at = START + timedelta(days=50, minutes=minutes)
        yield report("unknown", 4, count(140), host="lab-5", at=at, run_id=run_id("unknown again", minutes))


def quarantined_report() -> Report:
    """The newest run of the main host: its canary counts one fault too many."""
    canary = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1024, counted=(1025, 1025, 1025)),))
    at = START + timedelta(days=60)
    return report(MAIN, 13, [full_sample(2304, 12, 0)], at=at, again=True, canary=canary)


def send(client: FlaskClient) -> None:
    """Send all reports to a service, and dismiss the events of the settled cases."""
    parts = (main_reports(), settled_reports(), restless_reports(), unsettled_reports(), [quarantined_report()])
    for part in (*parts, long_reports()):
        _send(client, part)
    for event in client.get("/api/v1/events?open=true&limit=1000").json["items"]:
        if "settled_" in event["headline"]:
            decision = {"action": "dismiss", "reason": "measured for the test", "author": "Ada"}
            assert client.post(f"/api/v1/events/{event['id']}/decisions", json=decision).status_code == 201


def series_id(client: FlaskClient, workload: str, metric: str = "minor-faults") -> int:
    (summary,) = client.get(f"/api/v1/series?metric={metric}&case={case(workload).name}").json["items"]
    return int(summary["id"])


def drift_id(client: FlaskClient, workload: str, metric: str = "minor-faults") -> str:
    """Return the first drift of a series."""
    drifts = client.get(f"/api/v1/series/{series_id(client, workload, metric)}?points=10").json["drifts"]
    return str(drifts[0]["id"])


def _send(client: FlaskClient, reports: Iterable[Report]) -> None:
    documents = [entry.model_dump(mode="json", exclude_defaults=True) for entry in reports]
    for start in range(0, len(documents), 5000):
        answer = client.post("/api/v1/runs", json={"reports": documents[start : start + 5000]})
        assert answer.status_code == 200, answer.text
        assert not answer.json["conflicting"]
