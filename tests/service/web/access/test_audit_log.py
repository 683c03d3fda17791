"""The audit log: what people and tokens do is in it, once; secrets are not; and nothing changes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from service.rules.access.scope import Scope
from service.rules.access.token_limits import NO_LIMITS, TokenLimits
from service.schemas.audit import AuditAction
from service.store import audit, tokens
from service.store.audit import Actor
from service.store.engine.database import Database
from tests.service import reports
from tests.service.apiclient import Api

Given = Callable[[Scope], dict[str, str]]
Start = Callable[..., FlaskClient]

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def given(closed: FlaskClient, database: Database) -> Given:
    def make(scope: Scope) -> dict[str, str]:
        with database.writing() as session:
            limits = TokenLimits(repositories=("*/*",)) if scope is Scope.REGISTER else NO_LIMITS
            issued = tokens.issue_token(session, f"the {scope.value}", [scope], 1, datetime.now(UTC), limits=limits)
        return {"Authorization": f"Bearer {issued.text}"}

    return make


def entries(client: FlaskClient, headers: dict[str, str], **query: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/audit", headers=headers, query_string=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.get_json()["items"]
    return found


def test_what_people_do_is_recorded_with_who_did_it(closed: FlaskClient, given: Given, database: Database) -> None:
    admin, triage, order = given(Scope.ADMIN), given(Scope.TRIAGE), given(Scope.ORDER)
    api = Api(closed)
    closed.environ_base["HTTP_AUTHORIZATION"] = given(Scope.REPORT)["Authorization"]
    api.put_revisions(*range(1, 7))
    api.send(*(reports.report(number, 100 if number < 4 else 104) for number in range(1, 7)))
    del closed.environ_base["HTTP_AUTHORIZATION"]
    event = closed.get("/api/v1/events", headers=admin).get_json()["items"][0]["id"]
    decision = {"action": "acknowledge", "reason": "seen"}
    assert closed.post(f"/api/v1/events/{event}/decisions", json=decision, headers=triage).status_code == 201
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    silence = {"subject": "demo", "until": until, "reason": "noise"}
    assert closed.post("/api/v1/silences", json=silence, headers=triage).status_code == 201
    for _ in range(2):
        assert closed.delete("/api/v1/silences/1", headers=triage).status_code == 200
    question = {"kind": "measure", "subject": "demo", "case": "copy[mib=4]", "revision": "main"}
    job = {"question": question, "backend": "caller"}
    assert closed.post("/api/v1/jobs", json=job, headers=order).status_code == 201
    assert closed.post("/api/v1/jobs", json=job, headers=order).status_code == 200
    assert closed.post("/api/v1/jobs/1/cancel", json={"reason": "enough"}, headers=order).status_code == 200
    form = {"name": "ci", "scope": ["report"], "days": "3", "hosts": "lab-*"}
    made = closed.post("/tokens", data=form, headers=admin)
    assert made.status_code == 200
    found = [(entry["author"], entry["action"], entry["target"]) for entry in reversed(entries(closed, admin))]
    said = {(author, action) for author, action, _ in found}
    assert {
        ("the triage", "event decided"),
        ("the triage", "series silenced"),
        ("the triage", "silence ended"),
        ("the order", "job ordered"),
        ("the order", "job changed"),
        ("the admin", "token made"),
    } <= said
    assert [action for _, action, _ in found].count("job ordered") == 1, "the second order made no job"
    assert [action for _, action, _ in found].count("silence ended") == 1, "it had ended before"
    (silenced,) = entries(closed, admin, action="series silenced")
    assert silenced["detail"]["reason"] == "noise"
    assert silenced["address"] == "127.0.0.1"
    secrets = [made.text.split("fw_")[1].split("_", 1)[1][:43], admin["Authorization"].split("_", 2)[2]]
    assert not [secret for secret in secrets if secret in closed.get("/api/v1/audit", headers=admin).text]


def test_sign_ins_are_recorded_good_and_bad(closed: FlaskClient, given: Given) -> None:
    admin = given(Scope.ADMIN)
    closed.post("/sign-in", data={"token": "fw_wrong"})
    closed.post("/sign-in", data={"token": admin["Authorization"].removeprefix("Bearer ")})
    closed.post("/sign-out")
    closed.get("/api/v1/runs", headers={"Authorization": "Bearer nothing"})
    said = [(entry["action"], entry["target"]) for entry in entries(closed, admin)]
    assert said[0] == ("sign-in failed", "Authorization header")
    assert said[1][0] == "signed out"
    assert said[2][0] == "signed in"
    assert said[3] == ("sign-in failed", "sign-in page")


def test_only_admins_read_it(closed: FlaskClient, given: Given) -> None:
    for path in ("/api/v1/audit", "/audit", "/audit.json", "/audit.csv"):
        for scope in set(Scope) - {Scope.ADMIN}:
            assert closed.get(path, headers=given(scope)).status_code == 403, (path, scope)
        assert closed.get(path, headers=given(Scope.ADMIN)).status_code == 200


def test_it_is_read_page_by_page(closed: FlaskClient, given: Given, database: Database) -> None:
    with database.writing() as session:
        for number in range(5):
            audit.record_entry(session, Actor("ada"), AuditAction.DECIDED, f"event {number}", now=datetime.now(UTC))
    admin = given(Scope.ADMIN)
    first = entries(closed, admin, limit=2, action="event decided")
    second = entries(closed, admin, limit=2, offset=2, action="event decided")
    assert [entry["target"] for entry in (*first, *second)] == ["event 4", "event 3", "event 2", "event 1"]
    assert closed.get("/api/v1/audit?action=nothing", headers=admin).status_code == 422


@pytest.mark.parametrize("statement", ["UPDATE audit SET author = 'x'", "DELETE FROM audit"])
def test_the_database_refuses_to_change_it(statement: str, closed: FlaskClient, database: Database) -> None:
    with pytest.raises(DatabaseError, match="never changed"), database.writing() as session:
        session.execute(text(statement))


def test_what_looks_like_a_token_or_cannot_be_stored_is_left_out(closed: FlaskClient, database: Database) -> None:
    secret = tokens.generate_token()
    detail = {"reason": f"use {secret.text}\0\ud800", "nested": [secret.text]}
    with database.writing() as session:
        audit.record_entry(
            session, Actor(f"x\x1b[2J {secret.text}"), AuditAction.DECIDED, "\ud800\0", detail, now=datetime.now(UTC)
        )
    with database.reading() as session:
        entry = audit.list_page(session, AuditAction.DECIDED, 1).items[0]
    assert secret.secret not in entry.model_dump_json()
    assert entry.detail["reason"] == f"use fw_{secret.id}_…\ufffd\ufffd"
    assert "\x1b" not in entry.author


def test_a_token_at_the_end_of_what_is_kept_of_a_long_text_is_left_out(closed: FlaskClient, database: Database) -> None:
    secret = tokens.generate_token()
    detail = {"reason": secret.text.rjust(audit._MAX_DETAIL_CHARACTERS + 1)}
    with database.writing() as session:
        audit.record_entry(session, Actor("ada"), AuditAction.DECIDED, "event 1", detail, now=datetime.now(UTC))
    with database.reading() as session:
        entry = audit.list_page(session, AuditAction.DECIDED, 1).items[0]
    assert secret.secret[:10] not in entry.model_dump_json()


def test_symbols_beyond_the_basic_plane_are_kept(closed: FlaskClient, database: Database) -> None:
    detail = {"reason": "fast again \U0001f680", "path": "C:\\ud800\\u0000", "broken": "\ude80\ud83d"}
    with database.writing() as session:
        audit.record_entry(session, Actor("ada"), AuditAction.DECIDED, "event 1", detail, now=datetime.now(UTC))
    with database.reading() as session:
        entry = audit.list_page(session, AuditAction.DECIDED, 1).items[0]
    assert entry.detail == {**detail, "broken": "\ufffd\ufffd"}


def test_a_start_with_other_settings_is_recorded(start: Start, database: Database) -> None:
    for lease in (90, 90, 60):
        start(lease=timedelta(seconds=lease))
    with database.reading() as session:
        found = audit.list_page(session, AuditAction.SETTINGS_CHANGED, 10).items
    assert [entry.target for entry in found] == ["Lease", "first start"]
    assert found[0].detail["Lease"] == "60 s"


def test_an_event_whose_series_are_silenced_already_is_not_logged_as_marked(
    closed: FlaskClient, given: Given, database: Database
) -> None:
    admin, triage = given(Scope.ADMIN), given(Scope.TRIAGE)
    closed.environ_base["HTTP_AUTHORIZATION"] = given(Scope.REPORT)["Authorization"]
    api = Api(closed)
    api.put_revisions(*range(1, 7))
    api.send(*(reports.report(number, 100 if number < 4 else 104) for number in range(1, 7)))
    del closed.environ_base["HTTP_AUTHORIZATION"]
    event = closed.get("/api/v1/events", headers=admin).get_json()["items"][0]["id"]
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    request = {"events": [event], "action": "silence", "reason": "noise", "until": until}
    for _ in range(2):
        answer = closed.post("/api/v1/events/triage", json=request, headers=triage)
        assert answer.status_code == 200, answer.text
    actions = [entry["action"] for entry in entries(closed, admin)]
    assert actions.count(AuditAction.SILENCED) == 1
    assert AuditAction.MARKED not in actions
