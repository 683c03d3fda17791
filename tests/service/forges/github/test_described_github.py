"""A GitHub with its own state, which nobody wrote for this: what it shows of what the service told it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.service.forges import made_gates
from tests.service.forges.github.between import PACKAGES, checked, deliver, port, program, served, violations, wait
from tests.service.forges.github.stand_in import APP, SECRET

NAME = "octo-org/copies"
ADA = {"Authorization": "token token_of_ada"}

pytestmark = [
    pytest.mark.github,
    pytest.mark.skipif("FAULTWATCH_TEST_GITHUB" not in os.environ, reason="make test-github runs it"),
]


def seed(key: str, service: int) -> dict[str, Any]:
    """Return what there is on it at first."""
    rights = {"checks": "write", "pull_requests": "write", "actions": "write", "metadata": "read", "issues": "write"}
    app = {
        "app_id": APP,
        "slug": "faultwatch",
        "name": "Faultwatch",
        "private_key": key,
        "permissions": rights,
        "events": ["pull_request", "check_run", "push"],
        "webhook_url": f"http://127.0.0.1:{service}/github/webhook",
        "webhook_secret": SECRET.decode(),
        "installations": [{"installation_id": 5, "account": "octo-org", "repository_selection": "all"}],
    }
    github = {
        "users": [{"login": "ada"}],
        "orgs": [{"login": "octo-org", "members": [{"login": "ada", "role": "admin"}]}],
        "repos": [{"owner": "octo-org", "name": "copies", "auto_init": True}],
        "apps": [app],
    }
    return {"tokens": {"token_of_ada": {"login": "ada", "scopes": ["repo", "admin:org"]}}, "github": github}


@dataclass
class Beside:
    """The service and GitHub, side by side."""

    service: str
    hub: str
    log: Path
    """Of what was checked between them."""

    def call(self, method: str, path: str, **body: Any) -> Any:
        """Ask GitHub for something, as Ada."""
        answer = requests.request(method, f"{self.hub}/repos/{NAME}{path}", json=body or None, headers=ADA, timeout=30)
        assert answer.ok, (path, answer.text)
        return answer.json()

    def comments(self, number: int, first: str) -> list[dict[str, Any]]:
        """Return the comments on a pull request that begin in some way, once there are any."""
        return wait(
            lambda: [one for one in self.call("GET", f"/issues/{number}/comments") if one["body"].startswith(first)],
            self.log,
            self.log.with_name("service.log"),
        )


@contextmanager
def beside(folder: Path, key: str) -> Iterator[Beside]:
    """Run the service, GitHub, and between them what checks each request."""
    hub, between, serving = port(), port(), port()
    (folder / "seed.json").write_text(json.dumps(seed(key, serving)))
    api, address, log = f"http://localhost:{between}", f"http://localhost:{hub}", folder / "between.log"
    options = ("--service", "github", "--port", hub, "--base-url", api, "--seed", folder / "seed.json")
    with program(folder / "hub.log", PACKAGES / ".bin" / "emulate", "start", *options):
        wait(lambda: requests.get(f"{address}/repos/{NAME}", timeout=5).ok, folder / "hub.log")
        with served(folder, key, api, serving) as service, checked(log, address, between):
            yield Beside(service, address, log)


def test_a_pull_request_shows_one_comment_and_its_check_runs(tmp_path: Path, key: str) -> None:
    with beside(tmp_path, key) as both:
        main = both.call("GET", "/git/ref/heads/main")["object"]["sha"]
        both.call("POST", "/git/refs", ref="refs/heads/topic", sha=main)
        both.call("PUT", "/contents/a.c", message="Change", content="YQ==", branch="topic")
        pull = both.call("POST", "/pulls", title="Change", head="topic", base="main")
        head, number = pull["head"]["sha"], pull["number"]
        for faults, first in ((100, "**No change"), (101, "**Worse: +1")):
            case = made_gates.case([100] * 30, [faults] * 30, file="workload.toml")
            revision = case.head.revision.model_copy(update={"commit": head})
            moved = case.model_copy(update={"head": case.head.model_copy(update={"revision": revision})})
            report = made_gates.gate(moved, head=head, number=number, repository=NAME).model_dump(mode="json")
            answer = requests.post(f"{both.service}/api/v1/gates", json=report, timeout=30)
            assert answer.status_code == 200, answer.text
            assert len(both.comments(number, first)) == 1
        # Its own webhook does not say that a comment is one on a pull request.
        asked = both.call("POST", f"/issues/{number}/comments", body="/faultwatch accept a larger cache")
        issue = {"number": number, "pull_request": {}}
        told = {"action": "created", "comment": asked, "issue": issue, "repository": both.call("GET", "")}
        deliver(both.service, "issue_comment", told)
        assert len(both.comments(number, "Accepted for")) == 1

        def concluded() -> bool:
            checks = both.call("GET", f"/commits/{head}/check-runs?filter=all")["check_runs"]
            return {check["conclusion"] for check in checks} == {"success", "failure", "neutral"}

        assert wait(concluded, both.log)
        (comment,) = both.comments(number, "**Worse: +1")
        assert "Accepted by <code>ada</code>: <code>a larger cache</code>" in comment["body"].splitlines()[0]
        assert not violations(both.log)
