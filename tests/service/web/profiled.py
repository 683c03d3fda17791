"""A service that got two profiles of a case: before a change and after it."""

from __future__ import annotations

import json

from apiflask import APIFlask
from flask.testing import FlaskClient

from runner.contract.profile import Frame, Memory, Profile, StackKind, Touch
from runner.contract.report import Revision
from tests.service.profiles import NOW, anatomy, profile, stacks

HOSTILE = "<img src=x onerror=alert(1)>"
FRAMES = (
    Frame(function="main", module="copyserve", file="main.c", line=10),
    Frame(function="answer", module="copyserve", file="main.c", line=25),
    Frame(function="memcpy", module="/usr/lib/libc.so.6"),
    Frame(function=HOSTILE, module="copyserve"),
    Frame(function="exc_page_fault", module="[kernel]"),
)


def made(commit: str, faults: int, touch: Touch, **changes: object) -> Profile:
    """Return a profile whose faults happen below ``answer``, but for one."""
    return profile(
        anatomy({touch: faults + 1}, Memory.ANONYMOUS),
        readings={"task-clock": 0.1, "sys-percent": 50},
        calls={"madvise": faults // 1000},
        frames=FRAMES,
        revision=Revision(commit=commit * 40, committed_at=NOW, title=f"Commit {commit}"),
        faults=stacks(StackKind.FAULTS, {(0, 1, 2): faults, (0, 3): 1}),
        on_cpu=stacks(StackKind.ON_CPU, {(0, 1): 10**9, (0, 1, 4): 10**9}),
        off_cpu=None,
        **changes,
    )


BEFORE, AFTER = made("a", 2_000, Touch.FIRST), made("b", 51_200, Touch.AFTER_MADVISE)


def sent(app: APIFlask) -> FlaskClient:
    client = app.test_client()
    for one in (BEFORE, AFTER):
        answer = client.put(f"/api/v1/profiles/{one.profile_id}", json=json.loads(one.model_dump_json()))
        assert answer.status_code == 201, answer.text
    return client
