"""A service that asks for tokens, by HTTP."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from service.__main__ import cli
from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.rules.access.token import parse_token
from service.store.engine.database import Database
from service.store.models import Token
from service.store.tokens import generate_token
from tests.service import reports

Give = Callable[..., str]


@pytest.fixture
def closed(config: Config) -> FlaskClient:
    return create_app(config.copy_with_values(access=Access.TOKENS)).test_client()


@pytest.fixture
def give(closed: FlaskClient, database: Database) -> Give:
    def make(*scopes: str, days: int = 1, revoked: bool = False) -> str:
        shown, now = generate_token(), datetime.now(UTC)
        with database.writing() as session:
            session.add(
                Token(
                    id=shown.id,
                    name="nightly",
                    digest=shown.digest,
                    scopes=list(scopes),
                    created_at=now - timedelta(days=10),
                    expires_at=now + timedelta(days=days),
                    revoked_at=now if revoked else None,
                )
            )
        return shown.text

    return make


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def put(client: FlaskClient, text: str) -> int:
    report = reports.report(1, 100)
    sent = client.put(f"/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"), headers=bearer(text))
    return sent.status_code


def test_without_a_token_nothing_is_told_but_health(closed: FlaskClient) -> None:
    answer = closed.get("/api/v1/drifts")
    assert (answer.status_code, answer.mimetype) == (401, "application/problem+json")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert "scope read" in answer.get_json()["detail"]
    assert closed.get("/openapi.json").status_code == 401
    assert closed.get("/api/v1/health").status_code == 200


def test_a_token_does_what_its_scopes_say(closed: FlaskClient, give: Give) -> None:
    reader, runner = give("read"), give("report")
    assert closed.get("/api/v1/drifts", headers=bearer(reader)).status_code == 200
    refused = closed.get("/api/v1/drifts", headers=bearer(runner))
    assert refused.status_code == 403
    assert "scope read; yours has only report" in refused.get_json()["detail"]
    assert (put(closed, reader), put(closed, runner), put(closed, give("admin"))) == (403, 201, 201)


def test_a_token_that_does_not_hold_lets_nobody_in(closed: FlaskClient, give: Give) -> None:
    good = give("read")
    wrong = good[:-1] + ("A" if good[-1] != "A" else "B")
    for text in (wrong, give("read", days=-1), give("read", revoked=True), "", "fw_", good + " x", "\xff"):
        assert closed.get("/api/v1/runs", headers=bearer(text)).status_code == 401, text
    assert closed.get("/api/v1/runs", headers={"Authorization": f"Basic {good}"}).status_code == 401


def test_a_person_signs_in_and_out(closed: FlaskClient, give: Give) -> None:
    page = {"Accept": "text/html"}
    sent_on = closed.get("/hosts?x=1", headers=page)
    assert (sent_on.status_code, sent_on.location) == (302, "/sign-in?to=/hosts?x%3D1")
    assert "Token" in closed.get(sent_on.location).text
    assert closed.post("/sign-in", data={"token": "fw_nothing", "to": "/"}).status_code == 403
    token = give("read")
    inside = closed.post("/sign-in", data={"token": token, "to": "/hosts"})
    assert (inside.status_code, inside.location) == (302, "/hosts")
    cookie = inside.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    shown = parse_token(token)
    assert shown
    assert shown.secret not in cookie
    assert closed.get("/", headers=page).status_code == 200
    closed.post("/sign-out")
    assert closed.get("/", headers=page).status_code == 302


def test_a_form_that_is_sent_after_the_session_has_ended_leads_back_to_its_page(closed: FlaskClient) -> None:
    sent = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
    for referrer, destination in (
        ("http://localhost/events?state=all", "/events?state%3Dall"),
        ("https://elsewhere.example/events", "/"),
        ("http://[", "/"),
        ("", "/"),
    ):
        sent_on = closed.post("/events/triage", headers={**sent, "Referer": referrer})
        assert (sent_on.status_code, sent_on.location) == (302, f"/sign-in?to={destination}")


@pytest.mark.parametrize(
    "to", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "javascript:x", "//[", "/\t/["]
)
def test_signing_in_leads_nowhere_else(to: str, closed: FlaskClient, give: Give) -> None:
    assert closed.post("/sign-in", data={"token": give("read"), "to": to}).location == "/"


def test_a_forged_cookie_lets_nobody_in(closed: FlaskClient, give: Give) -> None:
    shown = parse_token(give("admin"))
    assert shown
    forged = base64.urlsafe_b64encode(f'{{"token":"{shown.id}"}}'.encode()).decode().rstrip("=")
    closed.set_cookie("faultwatch", f"{forged}.aSCBcA.{'A' * 27}")
    assert closed.get("/api/v1/runs").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_page_of_another_site_may_not_write_to_a_service_on_loopback(
    headers: dict[str, str], client: FlaskClient
) -> None:
    body = {"revisions": [reports.revision(1).model_dump(mode="json")]}
    assert client.put("/api/v1/subjects/demo/revisions", json=body, headers=headers).status_code == 403
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert client.put("/api/v1/subjects/demo/revisions", json=body, headers=own).status_code == 200


def test_a_proxy_that_changes_the_host_name_is_told_to_pass_it_on(client: FlaskClient) -> None:
    body = {"revisions": [reports.revision(1).model_dump(mode="json")]}
    for origin, words in (
        ("https://faults.example.org", "A proxy in front of the service must pass on the Host header."),
        ("null", "This request came from a page on another site, which is not allowed."),
    ):
        headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
        refused = client.put("/api/v1/subjects/demo/revisions", json=body, headers=headers)
        assert refused.status_code == 403
        assert refused.json
        assert words in refused.json["detail"]


@pytest.mark.parametrize(
    ("environment", "by_token"),
    [
        ({}, False),
        ({"FAULTWATCH_NAMES": "faults.example.org"}, True),
        ({"FAULTWATCH_NAMES": "faults.example.org", "FAULTWATCH_ACCESS": "open"}, False),
        ({"FAULTWATCH_ACCESS": "tokens"}, True),
    ],
)
def test_a_service_with_a_name_of_its_own_asks_for_tokens(environment: dict[str, str], by_token: bool) -> None:
    assert Config.from_environment(environment).by_token is by_token


def test_a_service_that_others_can_reach_asks_for_tokens(config: Config) -> None:
    assert config.copy_with_values(trusted_hosts=None).by_token


def test_the_key_is_nobody_elses_and_stays(config: Config) -> None:
    first, second = create_app(config), create_app(config)
    assert first.secret_key == second.secret_key
    assert (config.home / "session.key").stat().st_mode & 0o777 == 0o600


def test_tokens_by_command(tmp_path: Path) -> None:
    environment = {"FAULTWATCH_HOME": str(tmp_path), "DATABASE_URL": "", "FAULTWATCH_ACCESS": "tokens"}
    runner = CliRunner(env=environment)
    made = runner.invoke(cli, ["token", "new", "nightly", "--scope", "read", "--scope", "report"])
    assert made.exit_code == 0, made.output
    text = made.output.strip()
    client = create_app(Config.from_environment(environment)).test_client()
    assert client.get("/api/v1/runs", headers=bearer(text)).status_code == 200
    listed = runner.invoke(cli, ["token", "list"]).output
    assert "valid" in listed
    assert "read,report" in listed
    assert text not in listed
    assert runner.invoke(cli, ["token", "revoke", text.split("_")[1]]).exit_code == 0
    assert client.get("/api/v1/runs", headers=bearer(text)).status_code == 401
    assert "revoked" in runner.invoke(cli, ["token", "list"]).output
    assert "no such token" in str(runner.invoke(cli, ["token", "revoke", "nobody"]).exception)
