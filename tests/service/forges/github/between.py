"""What stands between the service and a GitHub of the tests: it holds each request against GitHub's own description."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from service.forges.webhook_authentication import sign_body
from tests.service.forges.github.stand_in import APP, SECRET

ROOT = Path(__file__).parents[4]
PACKAGES = ROOT / "tests" / "github" / "node_modules"
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


def _described() -> dict[str, Any]:
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
    """Return a port that is free."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number: int = server.getsockname()[1]
        return number


@contextmanager
def program(log: Path, *command: object, **environment: str) -> Iterator[None]:
    """Run a program beside the test."""
    with log.open("a") as stream:  # so that it can be emptied meanwhile
        process = subprocess.Popen(
            [str(word) for word in command], stdout=stream, stderr=stream, env=os.environ | environment, cwd=log.parent
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def wait(until: Callable[[], Any], *logs: Path) -> Any:
    """Wait for something to come true; show logs where it does not."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if found := until():
                return found
        except (requests.ConnectionError, requests.Timeout):
            pass
        assert time.monotonic() < deadline, "\n".join(log.read_text()[-3000:] for log in logs)
        time.sleep(0.1)


@contextmanager
def checked(log: Path, hub: str, at: int) -> Iterator[None]:
    """Check whatever goes to a GitHub, at a port of this machine."""
    slim = log.with_suffix(".json")
    slim.write_text(json.dumps(_described()))
    with program(log, PACKAGES / ".bin" / "prism", "proxy", slim, hub, "-h", "localhost", "-p", at):
        wait(lambda: requests.get(f"http://localhost:{at}/", timeout=5).status_code, log)
        log.write_text("")
        yield


def violations(log: Path) -> list[str]:
    """Return what GitHub would not have taken of what was asked so far: what it does not have, or not in this form."""
    told = log.read_text()
    assert "POST" in told or "post" in told, told
    return [line for line in told.splitlines() if "Violation: request" in line or "ROUTE" in line.upper()]


@contextmanager
def served(folder: Path, key: str, api: str, at: int, **more: str) -> Iterator[str]:
    """Run the service as an App of the GitHub at an address; yield its own."""
    (folder / "key").write_text(key)
    (folder / "secret").write_bytes(SECRET)
    address = f"http://127.0.0.1:{at}"
    settings = {
        "FAULTWATCH_HOME": str(folder / "home"),
        "FAULTWATCH_GITHUB_APP": str(APP),
        "FAULTWATCH_GITHUB_KEY_FILE": str(folder / "key"),
        "FAULTWATCH_GITHUB_SECRET_FILE": str(folder / "secret"),
        "FAULTWATCH_GITHUB_API": api,
        "FAULTWATCH_ADDRESS": address,
        "PYTHONPATH": str(ROOT),
    }
    log = folder / "service.log"
    with program(log, sys.executable, "-m", "service", "serve", "--port", at, **settings, **more):
        wait(lambda: requests.get(f"{address}/api/v1/health", timeout=5).ok, log)
        yield address


def deliver(address: str, event: str, payload: dict[str, Any]) -> None:
    """Deliver a webhook to a service."""
    body = json.dumps(payload).encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": sign_body(SECRET, body),
    }
    answer = requests.post(f"{address}/github/webhook", data=body, headers=headers, timeout=30)
    assert answer.status_code == 202, answer.text
