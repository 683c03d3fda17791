"""A measured history as a runner would report it: nothing here says what is a drift."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

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
    RevisionList,
    Sample,
    Stage,
    Status,
)
from runner.contract.report import Ref
from tests.service.apiclient import Api

SUBJECT = "copyd"
START = datetime(2025, 3, 3, 9, 30, tzinfo=UTC)
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
CASE = Case(workload="copy_service", definition="0123456789abcdef", parameters={"mib": 8, "operations": 25})
OLD = Environment(settings={"kernel.release": "6.12.9", "thp": "madvise"})
NEW = Environment(settings={**OLD.settings, "variable.MALLOC_CONF": "dirty_decay_ms:0"})

TITLES = (
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
    "Order the includes",
    "Forget a semicolon",
    "Reuse the buffer between operations",
    "Explain the exit code",
)
REGRESSION, ONE_PAGE, ANCHOR, BROKEN, IMPROVEMENT = 4, 7, 9, 11, 12


def commit(number: int) -> str:
    return f"{number + 1:02x}" * 20


def run_id(number: int, *, again: bool = False) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{number} {again}")


def revision(number: int) -> Revision:
    return Revision(
        commit=commit(number),
        parents=(commit(number - 1),) if number else (),
        author="Ada Writer",
        committed_at=START + timedelta(days=number, hours=3 * (number % 4)),
        title=TITLES[number],
    )


def faults(number: int, environment: Environment) -> int:
    """What the kernel would count."""
    level = 2239
    if REGRESSION <= number < IMPROVEMENT:
        level += 16384
    if number >= ONE_PAGE:
        level += 1
    return level + (3000 if environment is NEW else 0)


def report(number: int, environment: Environment, *, again: bool = False) -> Report:
    broken = number == BROKEN
    at = START + timedelta(days=40, minutes=number + 100 * again)
    return Report(
        run_id=run_id(number, again=again),
        subject=SUBJECT,
        revision=revision(number),
        case=CASE,
        host=Host(name="lab-1"),
        environment=environment,
        runner_version="0.1.0",
        command=() if broken else ("./copyserve", "--mib", "8", "--operations", "25"),
        started_at=at,
        finished_at=at + timedelta(seconds=2),
        outcome=Outcome.FAILED if broken else Outcome.MEASURED,
        samples=() if broken else tuple(_sample(number, environment, index) for index in range(3)),
        build=Build(command=("make", "copyserve"), seconds=1.25, log="cc -O2 copyd.c\n"),
        failure=Failure(stage=Stage.BUILD, message="make ended with status 2", log=f"copyd.c:41: {HOSTILE}")
        if broken
        else None,
    )


def with_faults(report: Report, counts: Sequence[int]) -> Report:
    """Return a report whose samples counted other faults."""
    samples = tuple(
        sample.model_copy(update={"readings": {**sample.readings, "minor-faults": Reading(value=count)}})
        for sample, count in zip(report.samples, counts, strict=True)
    )
    return report.model_copy(update={"samples": samples})


def reports() -> list[Report]:
    """All runs, in the order of measuring: the configuration changes at the anchor, which is measured twice."""
    old = [report(number, OLD) for number in range(ANCHOR + 1)]
    new = [report(number, NEW, again=True) for number in range(ANCHOR, len(TITLES))]
    return old + new


def send(client: FlaskClient, some: Sequence[Report] | None = None) -> None:
    """Send the history to a service, as a runner does: all of it, or some reports."""
    revisions = RevisionList(revisions=tuple(revision(number) for number in range(len(TITLES))))
    answer = client.put(f"/api/v1/subjects/{SUBJECT}/revisions", json=revisions.model_dump(mode="json"))
    assert answer.status_code == 200, answer.text
    Api(client).send(*(reports() if some is None else some))


def name_commits(client: FlaskClient, tags: Mapping[str, int]) -> None:
    """Send tags of commits, by their numbers."""
    refs = tuple(Ref(kind="tag", name=name, commit=commit(number)) for name, number in tags.items())
    told = RevisionList(revisions=(), refs=refs).model_dump(mode="json")
    assert client.put(f"/api/v1/subjects/{SUBJECT}/revisions", json=told).status_code == 200


def _sample(number: int, environment: Environment, index: int) -> Sample:
    count = faults(number, environment)
    slow = REGRESSION <= number < IMPROVEMENT
    return Sample(
        readings={
            "minor-faults": Reading(value=count),
            "major-faults": Reading(value=0),
            "page-faults": Reading(value=count),
            "sys-percent": Reading(value=(40.5 if slow else 4.25) + index / 4),
            "throughput": Reading(value=(1873.0 if slow else 10412.0) + 17 * ((number + index) % 3)),
            "instructions": Reading(status=Status.NOT_SUPPORTED, reason="this machine has no hardware counter"),
        },
        perf_output=f"{count};;minor-faults;100;100.00;;\n# {HOSTILE}\n",
    )
