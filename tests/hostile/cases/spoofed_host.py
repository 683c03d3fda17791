"""The holder of another token says that it is the host of a job, to take it, to end it, and to change its run."""

import json
import re
import time

from tests.hostile import served
from tests.hostile.arena import FAULTWATCH, TIMEOUT, Arena, Outcome
from tests.hostile.served import Served


def prepare(arena: Arena) -> None:
    arena.write("slow", "#!/bin/sh\nsleep 4\n", executable=True)
    arena.workload(build="command = './slow'", command="true")
    arena.commit()


def attack(arena: Arena) -> Outcome:
    with served.serve(arena, arena.folder / "server") as service:
        owner, thief = service.token("owner", "read", "report"), service.token("thief", "read", "report")
        job = service.order("caller", host="host", workload="workload.toml")
        runner = arena.start(
            FAULTWATCH,
            *("job", "run", "--sandbox", "--repo", ".", "--", str(job)),
            environment={"FAULTWATCH_URL": service.url, "FAULTWATCH_TOKEN": owner},
        )
        began = time.monotonic()
        service.wait(job, ("running",))
        _steal(service, job, thief)
        output, error = runner.communicate(timeout=TIMEOUT)
        assert runner.returncode == 0, error
        _forge(service, job, thief)
        done = Outcome(0, output.decode(), error.decode(), "", time.monotonic() - began)
        return served.outcome(service, done)


def _steal(service: Served, job: int, thief: str) -> None:
    """Claim the job as its host, and use leases that are not the thief's."""
    for host in ("host", "other"):
        answer = service.send("POST", f"/api/v1/jobs/{job}/claim", {"host": host}, thief)
        assert answer.status_code == 409, answer.text
        assert "lease" not in answer.json()
    leases = ["0" * 32, service.stored("SELECT lease FROM job")]
    for lease in leases:
        for path, document in (
            ("progress", {"lease": lease, "sentence": "forged"}),
            ("finish", {"lease": lease, "outcome": "failed", "sentence": "forged", "result": {"run_id": "forged"}}),
        ):
            answer = service.send("POST", f"/api/v1/jobs/{job}/{path}", document, thief)
            assert answer.status_code == 409, answer.text
    # Another job of the same host has to wait as well: it would disturb what is being measured.
    second = service.order("caller", host="host", revision="main~1", workload="workload.toml")
    assert service.send("POST", f"/api/v1/jobs/{second}/claim", {"host": "host"}, thief).status_code == 409
    service.submit(f"/jobs/{second}/cancel", {})


def _forge(service: Served, job: int, thief: str) -> None:
    """Send the run of the true holder once more, with other counts."""
    (run,) = service.submit(f"/jobs/{job}", method="GET")["runs"]
    report = service.submit(f"/runs/{run}", method="GET")
    forged = json.loads(re.sub(r'"value": (\d)', r'"value": 1\1', json.dumps(report)))
    assert forged != report
    assert service.send("PUT", f"/api/v1/runs/{run}", forged, thief).status_code == 409
    assert service.submit(f"/runs/{run}", method="GET") == report


def held(_: Arena, outcome: Outcome) -> None:
    assert "job 1 is done" in outcome.output, outcome.said
    assert "forged" not in outcome.report
    assert "this runner has claimed it again" not in outcome.error
