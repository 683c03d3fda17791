"""Profiles on pages: one, two side by side, and the list."""

from __future__ import annotations

import json
import uuid

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from runner.contract.profile import Frame, Memory, Profile, StackKind, Touch
from runner.contract.report import Revision
from service.pages.profile_view import stack_link
from tests.service.pages.conftest import application
from tests.service.pages.text import read
from tests.service.profiles import NOW, anatomy, profile, stacks

HOSTILE = "<img src=x onerror=alert(1)>"
FRAMES = (
    Frame(function="main", module="copyserve", file="main.c", line=10),
    Frame(function="answer", module="copyserve", file="main.c", line=25),
    Frame(function="memcpy", module="/usr/lib/libc.so.6"),
    Frame(function=HOSTILE, module="copyserve"),
)


def made(commit: str, faults: int, touch: Touch, **changes: object) -> Profile:
    """Return a profile whose faults happen below ``answer``, but for one."""
    return profile(
        anatomy({touch: faults + 1}, Memory.ANONYMOUS),
        readings={"sys-percent": 50},
        calls={"madvise": faults // 1000},
        frames=FRAMES,
        revision=Revision(commit=commit * 40, committed_at=NOW, title=f"Commit {commit}"),
        faults=stacks(StackKind.FAULTS, {(0, 1, 2): faults, (0, 3): 1}),
        on_cpu=None,
        off_cpu=None,
        **changes,
    )


BEFORE, AFTER = made("a", 2_000, Touch.FIRST), made("b", 51_200, Touch.AFTER_MADVISE)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> FlaskClient:
    with application(tmp_path_factory.mktemp("profiles")) as app:
        return sent(app)


def sent(app: APIFlask) -> FlaskClient:
    client = app.test_client()
    for one in (BEFORE, AFTER):
        answer = client.put(f"/api/v1/profiles/{one.profile_id}", json=json.loads(one.model_dump_json()))
        assert answer.status_code == 201, answer.text
    return client


def test_a_profile_says_what_it_shows_with_sums(client: FlaskClient) -> None:
    page = read(client, f"/profiles/{AFTER.profile_id}")
    assert "Returned memory is touched again" in page
    assert "after madvise 51,201 Sum, as counted 51,201" in page
    assert "madvise 51" in page
    for form in ("folded", "speedscope", "pprof"):
        assert f"/faults.{form}" in client.get(f"/profiles/{AFTER.profile_id}").text


def test_two_profiles_name_the_line_that_grew(client: FlaskClient) -> None:
    address = f"/profiles/{AFTER.profile_id}?before={BEFORE.profile_id}"
    page = read(client, address)
    assert "answer main.c:25 2,000 51,200 ▲ +49,200" in page
    assert "memcpy ← answer ← main main.c:25 2,000 51,200 ▲ +49,200" in page
    assert stack_link(StackKind.FAULTS, FRAMES[:3]) in client.get(address).text
    rows = client.get(f"/profiles/{AFTER.profile_id}.csv?before={BEFORE.profile_id}").text.splitlines()
    assert rows[1] == "answer,copyserve,main.c,25,25,2000,51200,49200"


def test_what_a_program_calls_itself_is_shown_and_not_run(client: FlaskClient) -> None:
    for address in (f"/profiles/{AFTER.profile_id}", f"/profiles/{AFTER.profile_id}?before={BEFORE.profile_id}"):
        assert "<img" not in client.get(address).text


def test_profiles_are_listed(client: FlaskClient) -> None:
    page = read(client, "/profiles")
    assert "51,201 returned-memory" in page
    assert "No profile of this is stored" in read(client, "/profiles?host=elsewhere")


@pytest.mark.parametrize("before", [str(uuid.uuid4()), "nonsense"])
def test_a_profile_that_is_not_there(client: FlaskClient, before: str) -> None:
    assert client.get(f"/profiles/{AFTER.profile_id}?before={before}").status_code == 404
    assert client.get(f"/profiles/{uuid.uuid4()}").status_code == 404
