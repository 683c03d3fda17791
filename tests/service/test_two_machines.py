"""Two machines of a service, each with its own home, on one PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from service.app import create_app
from service.config.settings import Config
from service.rules.access.scope import Scope
from service.store import tokens
from service.store.engine.database import Database
from service.web import app_resources
from tests.service import reports
from tests.service.apiclient import Api

PAGE = {"Accept": "text/html"}
pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def machines(tmp_path: Path, database_url: str) -> Iterator[list[FlaskClient]]:
    """Clients of two machines that require tokens and share a session key."""
    (tmp_path / "key").write_text("k" * 64)
    with ExitStack() as stack:
        clients = []
        for name in ("one", "other"):
            app = create_app(
                Config.from_environment(
                    {
                        "FAULTWATCH_HOME": str(tmp_path / name),
                        "DATABASE_URL": database_url,
                        "FAULTWATCH_SESSION_KEY_FILE": str(tmp_path / "key"),
                        "FAULTWATCH_ACCESS": "tokens",
                    }
                )
            )
            with app.app_context():
                stack.callback(app_resources.get_database().close)
            clients.append(app.test_client())
        yield clients


@pytest.fixture
def token(database: Database) -> str:
    """A token of somebody who reads and reports."""
    with database.writing() as session:
        return tokens.issue_token(session, "operator", [Scope.READ, Scope.REPORT], 1, datetime.now(UTC)).text


def test_who_signs_in_on_one_machine_is_signed_in_on_the_other(machines: list[FlaskClient], token: str) -> None:
    one, other = machines
    assert other.get("/hosts", headers=PAGE).status_code == 302
    one.post("/sign-in", data={"token": token})
    cookie = one.get_cookie("faultwatch")
    assert cookie is not None
    other.set_cookie("faultwatch", cookie.value)
    assert other.get("/hosts").status_code == 200
    other.post("/sign-out")
    assert other.get("/hosts", headers=PAGE).status_code == 302


def test_runs_of_a_series_that_reach_different_machines_are_judged_together(
    machines: list[FlaskClient], token: str
) -> None:
    for number, faults in enumerate([100] * 4 + [140] * 4, 1):
        sent = reports.report(number, faults, faults)
        client = machines[number % 2]
        answer = client.put(
            f"/api/v1/runs/{sent.run_id}",
            json=sent.model_dump(mode="json"),
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 201, answer.text
    for client in machines:
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        assert [drift["revision"] for drift in Api(client).drifts()] == [reports.commit(5)]
