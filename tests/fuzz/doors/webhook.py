"""Webhooks of GitHub: signed ones with payloads of any shape, and unsigned ones. What was taken is then acted upon."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from runner.contract.gate import ForgeKind
from service.forges import extension
from service.forges.github.forge import GithubForge
from service.forges.github.settings import GithubSettings
from service.forges.github.webhook_events import EVENTS
from service.forges.webhook_authentication import sign_body
from service.forges.worker import ForgeWorker
from tests.fuzz.door import Attempt
from tests.fuzz.mutation import mutated_bytes, mutated_json
from tests.fuzz.served import Served, by_generation
from tests.service.forges.github.between import PACKAGES

SHARE = 8
SECRET = b"a-secret-of-sixteen"
_EXAMPLES = PACKAGES / "@octokit/webhooks-examples/api.github.com/index.json"
_REPOSITORY = {"id": 1, "full_name": "Octo-Org/copies", "default_branch": "main"}
_USER = {"login": "ada", "type": "User", "id": 3}
_PULL = {"number": 7, "merged": True, "merge_commit_sha": "b" * 40, "head": {"sha": "a" * 40}}
_RUN = {
    **{"event": "workflow_dispatch", "display_title": "bisect 1", "html_url": "https://github.com/x", "id": 5},
    **{"conclusion": "success", "head_repository": {"id": 2}, "head_sha": "a" * 40},
    "created_at": "2024-05-06T07:08:09Z",
}
_WRITTEN: list[tuple[str, dict[str, Any]]] = [
    ("push", {"ref": "refs/heads/main", "deleted": False, "after": "c" * 40}),
    ("pull_request", {"action": "closed", "pull_request": _PULL, "sender": _USER}),
    (
        "pull_request",
        {"action": "labeled", "label": {"name": "faultwatch: accept"}, "pull_request": _PULL, "sender": _USER},
    ),
    (
        "issue_comment",
        {
            "action": "created",
            "comment": {"id": 9, "body": "/faultwatch bisect copy[mib=4]", "user": _USER},
            "issue": {"number": 7, "pull_request": {}},
        },
    ),
    ("check_run", {"action": "rerequested", "check_run": {"head_sha": "a" * 40, "pull_requests": [{"number": 7}]}}),
    ("installation", {"action": "deleted", "repositories": [{"full_name": "Octo-Org/copies"}]}),
    ("workflow_run", {"action": "completed", "workflow_run": _RUN}),
    ("workflow_run", {"action": "in_progress", "workflow_run": _RUN | {"event": "pull_request"}}),
]


@contextmanager
def opened(folder: Path) -> Iterator[Attempt]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    seeds = _seeds()

    def one(served: Served, rng: Random) -> str:
        event, payload = rng.choice(seeds)
        body = mutated_json(payload, rng)
        number = str(uuid.UUID(int=rng.getrandbits(128)))
        is_signed = rng.random() < 0.9
        signature = sign_body(SECRET, body)
        if not is_signed:
            signature = mutated_bytes(signature.encode(), rng).decode("latin-1").replace("\n", "").replace("\r", "")
            is_signed = signature == sign_body(SECRET, body)
        answer = served.send(
            *("POST", "/github/webhook", body),
            **{"Content_Type": "application/json", "X_GitHub_Event": event, "X_GitHub_Delivery": number},
            X_Hub_Signature_256=signature,
        )
        assert answer.status_code in ({200, 202, 400} if is_signed else {401}), answer.status_code
        if is_signed:
            _worker(served).work()
        return f"answered with {answer.status_code}"

    settings = GithubSettings(
        app_id=1, key=key.decode(), secret=SECRET, api="http://127.0.0.1:9", address="https://faults.example.org"
    )
    with by_generation(folder, one, forges={ForgeKind.GITHUB: settings}) as attempt:
        yield attempt


def _seeds() -> list[tuple[str, dict[str, Any]]]:
    """Return GitHub's own examples too, where ``make test-github`` has installed them."""
    written = [(event, {"repository": _REPOSITORY} | payload) for event, payload in _WRITTEN]
    if not _EXAMPLES.exists():
        return written
    examples = json.loads(_EXAMPLES.read_text())
    found = [(entry["name"], one) for entry in examples if entry["name"] in EVENTS for one in entry["examples"]]
    return [*written, *found]


def _worker(served: Served) -> ForgeWorker:
    worker = extension.find_worker(served.app)
    assert worker is not None
    github = worker.forges[ForgeKind.GITHUB]
    assert isinstance(github, GithubForge)
    return replace(worker, forges={ForgeKind.GITHUB: replace(github, client=_Unreachable())})


class _Unreachable:
    """GitHub, which nobody calls: only what the service itself does with a payload is tried."""

    app_id = 1

    def call_with_repository(self, name: str, _: object) -> None:
        assert isinstance(name, str)
        raise requests.ConnectionError("nobody is there")
