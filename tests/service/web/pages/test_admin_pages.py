"""Settings and tokens: what admins see and do, and what nobody gets to see."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from runner.contract.gate import ForgeKind
from service.app import create_app
from service.config.access import Access
from service.config.notifications import NotificationSettings
from service.config.settings import Config
from service.config.settings_list import list_settings
from service.forges.github.settings import GithubSettings
from service.forges.registry import SETTINGS
from service.rules.access.scope import Scope
from service.store import tokens
from service.web import app_resources
from tests.service.web.text import page, read

SECRET = "a secret that nobody may see"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A service that asks for tokens."""
    home = tmp_path_factory.mktemp("closed")
    app = create_app(Config(home=home, database_url=f"sqlite:///{home / 'faultwatch.db'}", access=Access.TOKENS))
    yield app.test_client()
    with app.app_context():
        app_resources.get_database().close()


@contextmanager
def signed_in(client: FlaskClient, *scopes: Scope, name: str = "Ada") -> Iterator[None]:
    now = datetime.now(UTC) - timedelta(seconds=1)
    with client.application.app_context(), app_resources.get_database().writing() as session:
        shown = tokens.issue_token(session, name, scopes, 1, now)
    assert client.post("/sign-in", data={"token": shown.text}).status_code == 302
    yield
    client.post("/sign-out")


def test_a_token_is_made_shown_once_used_and_revoked(closed: FlaskClient) -> None:
    with signed_in(closed, Scope.ADMIN):
        count = len(closed.get("/tokens.json").json)  # of the tests before as well
        assert re.search(rf"\b{count} tokens?\b", read(closed, "/tokens"))
        made = closed.post("/tokens", data={"name": "nightly", "scope": ["read", "report"], "days": "30"})
        (secret,) = set(re.findall(r"fw_[0-9a-f]{12}_[\w-]{43}", made.text))
        assert made.headers["Cache-Control"] == "no-store"
        for address in ("/tokens", "/tokens.json", "/tokens.csv"):
            assert secret.split("_", 2)[2] not in closed.get(address).text
        known = {one["name"]: one for one in closed.get("/tokens.json").json}
        assert known["nightly"]["scopes"] == ["read", "report"]
        header = {"Authorization": f"Bearer {secret}"}
        assert closed.get("/api/v1/runs", headers=header).status_code == 200
        closed.post(f"/tokens/{known['nightly']['id']}/revoke")
        assert closed.get("/api/v1/runs", headers=header).status_code == 401
        assert "nightly" in read(closed, "/tokens")
        assert closed.post("/tokens/nothing/revoke").status_code == 404


def test_the_log_names_only_the_first_who_revoked_a_token(closed: FlaskClient) -> None:
    with signed_in(closed, Scope.ADMIN):
        closed.post("/tokens", data={"name": "weekly", "scope": ["read"], "days": "30"})
        (token_id,) = [one["id"] for one in closed.get("/tokens.json").json if one["name"] == "weekly"]
        assert closed.post(f"/tokens/{token_id}/revoke").status_code == 303
    with signed_in(closed, Scope.ADMIN, name="Grace"):
        assert closed.post(f"/tokens/{token_id}/revoke").status_code == 303
        entries = closed.get("/audit.json?action=token revoked").json["items"]
        assert [entry["author"] for entry in entries if entry["target"] == f"token {token_id}"] == ["Ada"]


@pytest.mark.parametrize(
    ("form", "told_of"),
    [
        ({"name": "ci", "days": "30"}, "scope: choose at least one"),
        ({"name": " ", "scope": "read", "days": "30"}, "name: use up to 100 printable characters"),
        ({"name": "ci", "scope": "read", "days": "0"}, "days: a token is valid for 1"),
        ({"name": "ci", "scope": "read", "days": "7 days"}, "days: a token is valid for 1"),
    ],
)
def test_what_cannot_be_a_token_is_said_and_not_made(empty: FlaskClient, form: dict[str, str], told_of: str) -> None:
    answer = empty.post("/tokens", data=form)
    assert answer.status_code == 422
    assert told_of in answer.text
    assert empty.get("/tokens.json").json == []


def test_who_may_only_read_sees_neither_tokens_nor_settings(closed: FlaskClient) -> None:
    with signed_in(closed, Scope.READ):
        text = page(closed, "/")
        assert "Ada" in text
        assert "Sign out" in text
        assert 'href="/tokens"' not in text
        for address in ("/tokens", "/settings"):
            assert "needs a token with the scope admin" in read(closed, address, 403)
        assert closed.post("/tokens", data={"name": "x", "scope": "admin", "days": "1"}).status_code == 403
    assert closed.get("/tokens", headers={"Accept": "text/html"}).status_code == 302


def test_an_open_service_says_that_it_asks_for_no_tokens(empty: FlaskClient) -> None:
    assert "currently requires no tokens" in read(empty, "/tokens")
    assert "Sign out" not in page(empty, "/")


def test_an_audit_log_with_other_entries_is_not_said_to_be_empty(empty: FlaskClient) -> None:
    assert "No entry has this action." in read(empty, "/audit?action=token revoked")
    text = read(empty, "/audit?offset=100")
    assert "There are no more entries." in text
    assert "Nothing has been recorded" not in text


def test_settings_say_where_each_value_comes_from(empty: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", "/srv/faults")
    text = read(empty, "/settings")
    assert "FAULTWATCH_HOME" in text
    assert "8080 default" in text
    assert "The service is not a GitHub App" in text
    first = empty.get("/settings.json").json["groups"][0]
    assert first["title"] == "Service"


def test_settings_hold_no_secret() -> None:
    config = Config(
        home=Path("/srv"),
        database_url=f"postgresql+psycopg://faults:{SECRET}@db/faults?sslpassword={SECRET}",
        forges={ForgeKind.GITHUB: GithubSettings(app_id=7, key=SECRET, secret=SECRET.encode())},
    )
    channels = NotificationSettings.model_validate(
        {
            "channel": [
                {"name": "chat", "kind": "webhook", "url": f"https://hooks.example.org/{SECRET.replace(' ', '-')}"},
                {
                    **{"name": "mail", "kind": "email", "sender": "faults@example.org", "to": ["team@example.org"]},
                    **{"host": "mail.example.org", "user": "faults", "password_variable": "MAIL_PASSWORD"},
                },
            ]
        }
    )
    groups = list_settings(config, SETTINGS, {"MAIL_PASSWORD": SECRET, "FAULTWATCH_GITHUB_APP": "7"}, channels)
    shown = " ".join(one.model_dump_json() for one in groups)
    assert (
        "secret" not in shown.replace("Webhook secret", "").replace("SECRET_FILE", "").lower().split("never shown")[0]
    )
    assert SECRET not in shown
    assert SECRET.replace(" ", "-") not in shown
    values = {one.name: one for group in groups for one in group.settings}
    assert (values["App"].variable, values["App"].source) == ("FAULTWATCH_GITHUB_APP", "environment")
    assert values["chat"].value == "at hooks.example.org"
    assert "MAIL_PASSWORD is set" in values["mail"].value
    assert values["Database"].value == "postgresql://faults:***@db/faults?sslpassword=***"
