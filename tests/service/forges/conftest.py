"""A service that is a user of GitLab and of Forgejo, and the forges that it speaks to."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from runner.contract.gate import ForgeKind, GateReport
from service.app import create_app
from service.config.settings import Config
from service.forges.extension import find_worker as worker_of
from service.forges.forgejo.settings import ForgejoSettings
from service.forges.gitlab.settings import GitlabSettings
from service.forges.worker import ForgeWorker
from tests.service.forges import made_gates
from tests.service.forges.forgejo import stand_in as forgejo_stand_in
from tests.service.forges.gitlab import stand_in as gitlab_stand_in
from tests.service.forges.served import running

SECRET = "a secret of tests"


@pytest.fixture
def gitlab() -> Iterator[gitlab_stand_in.GitLab]:
    made = gitlab_stand_in.GitLab(head=made_gates.HEAD)
    with running(made, gitlab_stand_in.app(made)) as served:
        yield served


@pytest.fixture
def forgejo() -> Iterator[forgejo_stand_in.Forgejo]:
    made = forgejo_stand_in.Forgejo(head=made_gates.HEAD)
    with running(made, forgejo_stand_in.app(made)) as served:
        yield served


@dataclass
class Site:
    """The service, as a forge and a runner see it."""

    client: FlaskClient
    worker: ForgeWorker
    forge: ForgeKind
    repository: str
    clock: list[datetime] = field(default_factory=list)

    def work(self) -> datetime | None:
        return self.worker.work()

    def wait(self, **time: float) -> None:
        self.clock[0] += timedelta(**time)

    def report(self, report: GateReport) -> dict[str, Any]:
        document = report.model_dump(mode="json") | {"forge": self.forge, "repository": self.repository}
        answer = self.client.post("/api/v1/gates", json=document)
        assert answer.status_code == 200, answer.text
        return answer.json

    def deliver(self, event: str, payload: dict[str, Any], **changed: str) -> int:
        """Deliver a webhook; return the status."""
        body, number = json.dumps(payload).encode(), str(uuid.uuid4())
        if self.forge is ForgeKind.GITLAB:
            headers = {"X-Gitlab-Event": event, "X-Gitlab-Token": SECRET, "X-Gitlab-Event-UUID": number}
        else:
            signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
            headers = {"X-Gitea-Event": event, "X-Forgejo-Event": event, "X-Forgejo-Delivery": number}
            headers |= {"X-Forgejo-Signature": signature, "X-Gitea-Signature": signature}
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        headers["Content-Type"] = "application/json"
        return self.client.post(f"/{self.forge}/webhook", data=body, headers=headers).status_code


def site(config: Config, kind: ForgeKind, url: str, token: str, repository: str) -> Site:
    forge = GitlabSettings if kind is ForgeKind.GITLAB else ForgejoSettings
    settings = forge(url=url, token=token, secret=SECRET.encode(), address="https://faults.example.org")
    app = create_app(config.copy_with_values(forges={kind: settings}))
    worker = worker_of(app)
    assert worker is not None
    # Ahead, so that what is stored on a slow machine is due already.
    clock = [datetime.now(UTC) + timedelta(minutes=1)]
    worker = replace(worker, now=lambda: clock[0])
    return Site(app.test_client(), worker, kind, repository, clock)


@pytest.fixture
def on_gitlab(config: Config, gitlab: gitlab_stand_in.GitLab) -> Site:
    return site(config, ForgeKind.GITLAB, gitlab.url, gitlab.token, gitlab.project)


@pytest.fixture
def on_forgejo(config: Config, forgejo: forgejo_stand_in.Forgejo) -> Site:
    return site(config, ForgeKind.FORGEJO, forgejo.url, forgejo.token, forgejo.repository)


@pytest.fixture(params=["gitlab", "forgejo"])
def both(request: pytest.FixtureRequest, config: Config) -> Iterator[tuple[Site, Any]]:
    """The service on a forge, and the forge: what is true of each."""
    if request.param == "gitlab":
        lab = gitlab_stand_in.GitLab(head=made_gates.HEAD)
        with running(lab, gitlab_stand_in.app(lab)):
            yield site(config, ForgeKind.GITLAB, lab.url, lab.token, lab.project), lab
    else:
        forge = forgejo_stand_in.Forgejo(head=made_gates.HEAD)
        with running(forge, forgejo_stand_in.app(forge)):
            yield site(config, ForgeKind.FORGEJO, forge.url, forge.token, forge.repository), forge
