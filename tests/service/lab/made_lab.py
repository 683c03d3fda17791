"""A commit measured under several settings: some in the history, some experimental and interleaved with the default."""

from __future__ import annotations

import uuid
from typing import Any

from flask.testing import FlaskClient

from runner.contract import Environment, Report
from runner.contract.report import Failure, Stage
from tests.service import reports
from tests.service.jobs_api import Jobs

COMMIT = 3
PLAIN = Environment(
    settings={
        "allocator": "glibc 2.36",
        "kernel.release": "6.12.9",
        "process.huge_pages": "madvise",
        "process.memory_limit": "none",
    }
)
JEMALLOC = {"variable.LD_PRELOAD": "libjemalloc.so.2", "allocator": "jemalloc (libjemalloc.so.2)"}
PAIRS = 24


def environment(**settings: str) -> Environment:
    return Environment(settings=PLAIN.settings | {name.replace("__", "."): value for name, value in settings.items()})


def measured(faults: int, place: Environment, at: float, *, times: float = 1.0, **changes: Any) -> Report:
    """Return a run of the commit with 24 samples, whose times wander a little."""
    samples = tuple(
        reports.sample(
            faults,
            {
                "sys-time": times * (0.02 + number / 5000),
                "throughput": (100 + number / 10) / times,
                "elapsed": 0.25 * times,
                "max-rss": (8 << 20) + 4096 * (number % 3),
            },
        )
        for number in range(PAIRS)
    )
    return reports.report(COMMIT, at=at, environment=place, samples=samples, **changes)


def interleaved(faults: int, place: Environment, at: float, *, times: float) -> list[Report]:
    """Return the default and other settings as a job reports them."""
    session = uuid.uuid4()
    base = measured(1000, PLAIN, at, experimental=True, session=session)
    return [base, measured(faults, place, at + 0.5, times=times, experimental=True, session=session)]


def all_reports() -> list[Report]:
    never = environment(process__huge_pages="never")
    failure = Failure(stage=Stage.RUN, message="killed: 64 MiB were not enough")
    limited = environment(process__memory_limit=str(64 << 20))
    failed = reports.report(COMMIT, at=9, environment=limited, failure=failure, experimental=True)
    return [
        measured(1000, PLAIN, 1),
        measured(700, Environment(settings=PLAIN.settings | JEMALLOC), 2),
        *interleaved(400, never, 3, times=0.5),
        failed,
    ]


def send(client: FlaskClient) -> None:
    """Send the runs, and the commits before."""
    known = [reports.revision(number).model_dump(mode="json") for number in range(1, COMMIT + 2)]
    assert client.put("/api/v1/subjects/demo/revisions", json={"revisions": known}).status_code == 200
    for report in all_reports():
        answer = client.put(f"/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"))
        assert answer.status_code in {200, 201}, answer.text


def finish(client: FlaskClient, job: dict[str, Any], outcome: str, sentence: str) -> None:
    """Claim a job as its host would, and end it."""
    api = Jobs(client)
    lease = api.claim(job)["lease"]
    api.post(f"/{job['id']}/finish", lease=lease, outcome=outcome, sentence=sentence)
