"""The whole way beside a GitHub with state, every request held against GitHub's own description: `make test-github`."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import made_gates as made
import pytest
import requests
from github import Auth, Github
from github.Repository import Repository
from stand_in import SECRET

PACKAGES = Path(__file__).parents[2] / "github" / "node_modules"
APP, INSTALLATION, NAME = 4711, 5, "octo-org/copies"
PATIENCE = 60
_PATHS = (
    "/app/installations/{installation_id}/access_tokens",
    "/repos/{owner}/{repo}",
    "/repos/{owner}/{repo}/check-runs",
    "/repos/{owner}/{repo}/check-runs/{check_run_id}",
    "/repos/{owner}/{repo}/collaborators/{username}/permission",
    "/repos/{owner}/{repo}/commits/{ref}",
    "/repos/{owner}/{repo}/commits/{ref}/check-runs",
    "/repos/{owner}/{repo}/commits/{commit_sha}/pulls",
    "/repos/{owner}/{repo}/installation",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}",
    "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
    "/repos/{owner}/{repo}/issues/{issue_number}/comments",
    "/repos/{owner}/{repo}/pulls/{pull_number}",
    "/repos/{owner}/{repo}/actions/workflows/{workflow_id}",
    "/repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches",
)
"""What the service may ask of GitHub."""

pytestmark = [
    pytest.mark.github,
    pytest.mark.skipif("FAULTWATCH_TEST_GITHUB" not in os.environ, reason="make test-github runs it"),
]


def described() -> dict[str, Any]:
    """Return GitHub's description of what the service may ask: all of it takes half a minute to start."""
    whole = json.loads((PACKAGES / "@octokit/openapi/generated/api.github.com.json").read_text())
    slim: dict[str, Any] = {"openapi": whole["openapi"], "info": whole["info"], "components": {}}
    slim["paths"] = {path: whole["paths"][path] for path in _PATHS}
    wanted, taken = set(_references(slim["paths"])), set()
    while wanted:
        reference = wanted.pop()
        taken.add(reference)
        kind, name = reference.split("/")[2:]
        found = whole["components"][kind][name]
        slim["components"].setdefault(kind, {})[name] = found
        wanted |= set(_references(found)) - taken
    slim["components"]["securitySchemes"] = {"token": {"type": "apiKey", "in": "header", "name": "Authorization"}}
    slim["security"] = [{"token": []}]
    return slim


def _references(part: Any) -> Iterator[str]:
    yield from re.findall(r'"\$ref": "([^"]+)"', json.dumps(part))


def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        number: int = server.getsockname()[1]
        return number


@contextmanager
def program(log: Path, *command: object, **environment: str) -> Iterator[None]:
    with log.open("w") as stream:
        process = subprocess.Popen(
            [str(word) for word in command], stdout=stream, stderr=stream, env=os.environ | environment, cwd=log.parent
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def wait(until: Callable[[], Any], *logs: Path) -> Any:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if found := until():
                return found
        except requests.ConnectionError:
            pass
        assert time.monotonic() < deadline, "\n".join(log.read_text()[-3000:] for log in logs)
        time.sleep(0.1)


@contextmanager
def everything(folder: Path, key: str) -> Iterator[tuple[str, Repository, Path]]:
    """Run the service, GitHub, and between them what checks each request."""
    hub, between, serving = port(), port(), port()
    slim, seed, logs = (
        folder / "slim.json",
        folder / "seed.json",
        [folder / f"{name}.log" for name in ("hub", "between", "service")],
    )
    slim.write_text(json.dumps(described()))
    (folder / "key").write_text(key)
    (folder / "secret").write_bytes(SECRET)
    rights = {"checks": "write", "pull_requests": "write", "actions": "write", "metadata": "read", "issues": "write"}
    app = {
        "app_id": APP,
        "slug": "faultwatch",
        "name": "Faultwatch",
        "private_key": key,
        "permissions": rights,
        "events": ["pull_request", "issue_comment", "check_run", "push"],
        "webhook_url": f"http://127.0.0.1:{serving}/github/webhook",
        "webhook_secret": SECRET.decode(),
        "installations": [{"installation_id": INSTALLATION, "account": "octo-org", "repository_selection": "all"}],
    }
    github = {
        "users": [{"login": "ada"}],
        "orgs": [{"login": "octo-org", "members": [{"login": "ada", "role": "admin"}]}],
        "repos": [{"owner": "octo-org", "name": "copies", "auto_init": True}],
        "apps": [app],
    }
    tokens = {"token_of_ada": {"login": "ada", "scopes": ["repo", "admin:org"]}}
    seed.write_text(json.dumps({"tokens": tokens, "github": github}))
    settings = {
        "FAULTWATCH_HOME": str(folder / "home"),
        "FAULTWATCH_GITHUB_APP": str(APP),
        "FAULTWATCH_GITHUB_KEY_FILE": str(folder / "key"),
        "FAULTWATCH_GITHUB_SECRET_FILE": str(folder / "secret"),
        "FAULTWATCH_GITHUB_API": f"http://localhost:{between}",
        "FAULTWATCH_ADDRESS": "https://faults.example.org",
    }
    binaries = PACKAGES / ".bin"
    with ExitStack() as stack:
        run = stack.enter_context
        run(
            program(
                logs[2],
                sys.executable,
                "-m",
                "service",
                "serve",
                "--port",
                serving,
                **settings,
                PYTHONPATH=str(Path.cwd()),
            )
        )
        run(
            program(
                logs[0],
                binaries / "emulate",
                "start",
                "--service",
                "github",
                "--port",
                hub,
                "--base-url",
                f"http://localhost:{between}",
                "--seed",
                seed,
            )
        )
        run(
            program(
                logs[1], binaries / "prism", "proxy", slim, f"http://localhost:{hub}", "-h", "localhost", "-p", between
            )
        )
        base = f"http://127.0.0.1:{serving}"
        wait(lambda: requests.get(f"{base}/api/v1/health", timeout=5).ok, *logs)
        wait(lambda: requests.get(f"http://localhost:{hub}/repos/{NAME}", timeout=5).ok, *logs)
        wait(lambda: requests.get(f"http://localhost:{between}/repos/{NAME}", timeout=5).status_code, *logs)
        logs[1].write_text("")
        # Ada's own requests are not the service's: they go straight to GitHub.
        direct = Github(
            auth=Auth.Token("token_of_ada"),
            base_url=f"http://localhost:{hub}",
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )
        yield base, direct.get_repo(NAME), logs[1]


def test_from_a_pull_request_to_its_comment_and_check_run(tmp_path: Path, key: str) -> None:
    with everything(tmp_path, key) as (service, repository, log):
        call = _caller(repository)
        main = call("GET", f"/repos/{NAME}/git/ref/heads/main")["object"]["sha"]
        call("POST", f"/repos/{NAME}/git/refs", ref="refs/heads/topic", sha=main)
        call("PUT", f"/repos/{NAME}/contents/a.c", message="Change", content="YQ==", branch="topic")
        pull = call("POST", f"/repos/{NAME}/pulls", title="Change", head="topic", base="main")
        head, number = pull["head"]["sha"], pull["number"]
        for faults, first in ((101, "**Worse: +1"), (100, "**No change")):
            case = made.case([100] * 5, [faults] * 5, file="workload.toml")
            revision = case.head.revision.model_copy(update={"commit": head})
            moved = case.model_copy(update={"head": case.head.model_copy(update={"revision": revision})})
            report = made.gate(moved, head=head, number=number, repository=NAME).model_dump(mode="json")
            answer = requests.post(f"{service}/api/v1/gates", json=report, timeout=30)
            assert answer.status_code == 200, answer.text
            comments = wait(
                lambda first=first: [
                    one
                    for one in call("GET", f"/repos/{NAME}/issues/{number}/comments")
                    if one["body"].startswith(first)
                ],
                log,
                tmp_path / "service.log",
            )
            assert len(comments) == 1
        wait(
            lambda: any(
                check["conclusion"] == "success"
                for check in call("GET", f"/repos/{NAME}/commits/{head}/check-runs")["check_runs"]
            ),
            log,
            tmp_path / "service.log",
        )
        call("POST", f"/repos/{NAME}/issues/{number}/comments", body="/faultwatch accept a larger cache")
        wait(
            lambda: any(
                "Accepted for" in one["body"] for one in call("GET", f"/repos/{NAME}/issues/{number}/comments")
            ),
            log,
            tmp_path / "service.log",
        )
        told = log.read_text()
        assert "POST" in told
        assert "Violation: request" not in told, told


def _caller(repository: Repository) -> Callable[..., Any]:
    def call(method: str, path: str, **body: Any) -> Any:
        base = repository.requester.base_url
        answer = requests.request(
            method, f"{base}{path}", json=body or None, headers={"Authorization": "token token_of_ada"}, timeout=30
        )
        assert answer.ok, (path, answer.text)
        return answer.json()

    return call
