"""/api/v1/profiles."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from runner.contract.profile import Profile, StackKind, Touch
from service.web.api import profiles as api_profiles
from tests.service.profiles import COPY, FAULTING, MAIN, anatomy, profile, stacks


def made(**changes: Any) -> Profile:
    """Return a profile with two stacks of faults."""
    faults = stacks(StackKind.FAULTS, {(MAIN, COPY, FAULTING): 8_000, (MAIN,): 1_000})
    return profile(anatomy({Touch.AFTER_MADVISE: 9_000}), cost=0.5, calls={"madvise": 90}, faults=faults, **changes)


def put(client: FlaskClient, sent: Profile) -> TestResponse:
    return client.put(f"/api/v1/profiles/{sent.profile_id}", json=json.loads(sent.model_dump_json()))


def test_a_profile_is_stored_once_and_comes_back_as_it_was(client: FlaskClient) -> None:
    sent = made()
    assert [put(client, sent).status_code for _ in range(2)] == [201, 200]
    changed = sent.model_copy(update={"remarks": ("another",)})
    answer = put(client, changed)
    assert answer.status_code == 409
    assert "never changes" in answer.text

    plain = client.get(f"/api/v1/profiles/{sent.profile_id}")
    assert Profile.model_validate_json(plain.data) == sent
    zipped = client.get(f"/api/v1/profiles/{sent.profile_id}", headers={"Accept-Encoding": "gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(zipped.data) == plain.data


def test_profiles_are_listed_with_what_they_show(client: FlaskClient) -> None:
    older, newer = made(), made()
    put(client, older)
    put(client, newer)
    found = client.get(f"/api/v1/profiles?revision={older.revision.commit}&limit=1").json
    assert found is not None
    assert found["total"] == 2
    assert [entry["profile_id"] for entry in found["items"]] == [str(newer.profile_id)]
    assert found["items"][0]["diagnosis"] == ["returned-memory"]
    assert client.get("/api/v1/profiles?host=elsewhere").json == {"items": [], "total": 0, "limit": 100, "offset": 0}


def test_nothing_of_a_profile_is_a_sample(client: FlaskClient) -> None:
    put(client, made())
    for noun in ("runs", "series"):
        answer = client.get(f"/api/v1/{noun}").json
        assert answer is not None
        assert answer["items"] == []


@pytest.mark.parametrize(
    ("form", "beginning"),
    [("folded", b"main 1000\nmain;copy;exc_page_fault 8000\n"), ("speedscope", b'{"$schema"'), ("pprof", b"\x1f\x8b")],
)
def test_stacks_are_downloaded_for_other_tools(client: FlaskClient, form: str, beginning: bytes) -> None:
    sent = made()
    put(client, sent)
    answer = client.get(f"/api/v1/profiles/{sent.profile_id}/faults.{form}")
    assert answer.status_code == 200
    assert answer.data.startswith(beginning)
    assert answer.headers["Content-Disposition"].startswith("attachment")
    missing = client.get(f"/api/v1/profiles/{sent.profile_id}/waiting.{form}")
    assert missing.status_code == 404
    assert "valid kinds: faults, on-cpu, off-cpu" in missing.text


def test_a_profile_that_is_too_large_is_refused_with_what_to_do(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_profiles, "MAX_BYTES", 1000)
    answer = put(client, made())
    assert answer.status_code == 413
    assert answer.mimetype == "application/problem+json"
    assert "--call-graph fp" in answer.text


def test_an_address_of_another_profile_is_refused(client: FlaskClient) -> None:
    sent = made()
    answer = client.put(f"/api/v1/profiles/{made().profile_id}", json=json.loads(sent.model_dump_json()))
    assert answer.status_code == 422
    assert client.get(f"/api/v1/profiles/{sent.profile_id}").status_code == 404
