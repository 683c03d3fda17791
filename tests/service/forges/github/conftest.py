"""A service that is a GitHub App, and the GitHub that it speaks to."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from flask.testing import FlaskClient

from runner.contract.gate import ForgeKind, GateReport
from runner.contract.job import Backend
from service.app import create_app
from service.config.settings import Config
from service.forges.github import client as client_module
from service.forges.github.actions_starter import ActionsStarter
from service.forges.github.client import Client
from service.forges.github.forge import GithubForge
from service.forges.github.settings import GithubSettings
from service.forges.webhook_authentication import sign_body
from service.forges.worker import ForgeWorker
from service.jobs.scheduler import JobScheduler
from service.store.engine.database import Database
from tests.service.forges import made_gates
from tests.service.forges.github import stand_in
from tests.service.forges.github.stand_in import SECRET, repository


@pytest.fixture(scope="session")
def key() -> str:
    """A private key."""
    made_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return made_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


@pytest.fixture
def hub() -> Iterator[stand_in.GitHub]:
    """GitHub."""
    with stand_in.running(
        stand_in.GitHub(made_gates.REPOSITORY, 7, made_gates.HEAD, permissions={"ada": "write"})
    ) as hub:
        yield hub


@dataclass
class Service:
    """The service, as GitHub and a runner see it."""

    client: FlaskClient
    worker: ForgeWorker
    clock: list[datetime]

    def work(self) -> datetime | None:
        """Do what is due."""
        return self.worker.work()

    def wait(self, **told: float) -> None:
        """Let time pass."""
        self.clock[0] += timedelta(**told)

    def deliver(self, event: str, payload: dict[str, Any], **headers: str) -> int:
        """Deliver a webhook; return the status."""
        body = json.dumps(payload).encode()
        sent = {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": str(uuid.uuid4()),
            "X-Hub-Signature-256": sign_body(SECRET, body),
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post("/github/webhook", data=body, headers=sent).status_code

    def report(self, report: GateReport) -> dict[str, Any]:
        """Hand over what was measured."""
        answer = self.client.post("/api/v1/gates", json=report.model_dump(mode="json"))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json
        return found


@pytest.fixture
def service(
    config: Config, database: Database, hub: stand_in.GitHub, key: str, monkeypatch: pytest.MonkeyPatch
) -> Service:
    """The service; nothing is done for GitHub until a test says so."""
    monkeypatch.setattr(client_module, "_SECONDS_BETWEEN_WRITES", 0)
    settings = GithubSettings(
        app_id=stand_in.APP, key=key, secret=SECRET, api=hub.url, address="https://faults.example.org"
    )
    # Ahead, so that what is stored on a slow machine is due already.
    clock = [datetime.now(UTC) + timedelta(minutes=1)]
    client = Client(settings)
    worker = ForgeWorker(database, {ForgeKind.GITHUB: GithubForge(client, settings)}, lambda: clock[0])
    actions = ActionsStarter(client, settings.address)
    worker.jobs = JobScheduler(database, {Backend.GITHUB: actions}, actions, now=worker.now)
    return Service(create_app(config.copy_with_values(forges={settings.kind: settings})).test_client(), worker, clock)


_numbers = itertools.count(1)


Said = Callable[..., dict[str, Any]]


@pytest.fixture
def said(hub: stand_in.GitHub) -> Said:
    """Write a comment on the pull request; return its webhook."""

    def write(body: str, by: str = "ada", kind: str = "User") -> dict[str, Any]:
        comment = hub.write(body, {"login": by, "type": kind, "id": next(_numbers)})
        return {
            "action": "created",
            "comment": comment,
            "issue": {"number": 7, "pull_request": {}},
            "repository": repository(),
            "sender": {"login": by},
        }

    return write
