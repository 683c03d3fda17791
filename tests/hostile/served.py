"""The real service of a hostile case: served on loopback with tokens, on a real database, as the user of its arena."""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from runner.contract.job import Job
from service.forges import job_reply
from tests.hostile.arena import TIMEOUT, Arena, Outcome

SERVICE = Path(sys.prefix, "bin", "faultwatch-service")
_LINK = re.compile(r'href="(/[^"#]*)')
_MOST_ANSWERS = 500
_OVER = {"done", "failed", "cancelled"}


@dataclass
class Served:
    """A service that runs, and everything that its callers can read of it."""

    arena: Arena
    home: Path
    url: str = ""
    admin: str = ""
    """A token that may do everything but register runners."""
    digests: list[str] = field(default_factory=list)
    """What the service stores of the secrets of its tokens."""

    def token(self, name: str, *scopes: str) -> str:
        """Issue a token, which nothing may show from now on."""
        words = ["token", "new", name, *(word for scope in scopes for word in ("--scope", scope))]
        process = self.arena.start(SERVICE, *words, environment={"FAULTWATCH_HOME": str(self.home)})
        output, error = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, error
        text = output.decode().strip()
        self.arena.secrets[f"token {name}"] = text
        self.digests.append(hashlib.sha256(text.split("_", 2)[2].encode()).hexdigest())
        return text

    def send(
        self, method: str, path: str, document: object = None, token: str = "", **options: Any
    ) -> requests.Response:
        """Send a request as the admin, or with another token."""
        headers = {"Authorization": f"Bearer {token or self.admin}", **options.pop("headers", {})}
        address = f"{self.url}{path}"
        return requests.request(method, address, json=document, headers=headers, timeout=TIMEOUT, **options)

    def submit(self, path: str, document: object = None, method: str = "POST", token: str = "") -> Any:
        """Send JSON that the service has to accept; return its answer."""
        answer = self.send(method, f"/api/v1{path}", document, token)
        assert answer.ok, answer.text
        return answer.json()

    def order(self, backend: str, **question: Any) -> int:
        """Order a job about the hostile repository."""
        asked = {"kind": "measure", "subject": "subject", "case": "hostile", "revision": "main", **question}
        return int(self.submit("/jobs", {"question": asked, "backend": backend})["id"])

    def wait(self, job: int, states: Sequence[str] = tuple(_OVER)) -> dict[str, Any]:
        """Wait until a job is in one of some states."""
        deadline = time.monotonic() + TIMEOUT
        while (found := self.submit(f"/jobs/{job}", method="GET"))["state"] not in states:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        document: dict[str, Any] = found
        return document

    def stored(self, query: str) -> str:
        """Return a value of the database, as a thief of its backup would read it."""
        with contextlib.closing(sqlite3.connect(self.home / "faultwatch.db")) as database:
            return str(database.execute(query).fetchone()[0])

    def know(self, home: Path) -> None:
        """Let a runner know where the repository is, as its earlier commands do."""
        file = home / "subjects" / "subject.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"repository": str(self.arena.subject), "workloads": {}}))

    def answers(self) -> dict[str, bytes]:
        """Return every page that links lead to, in each format, everything the API lists, and the comments of jobs."""
        description = self.send("GET", "/openapi.json").json()
        queue = [
            "/",
            "/feeds/events.atom",
            "/metrics",
            *(path for path, verbs in description["paths"].items() if "get" in verbs),
        ]
        found: dict[str, bytes] = {}
        for path in queue:
            if path in found or "{" in path or len(found) > _MOST_ANSWERS:
                continue
            answer = self.send("GET", path)
            assert answer.status_code < 500, f"{path}: {answer.status_code}"
            found[path] = answer.content
            kind = answer.headers.get("Content-Type", "")
            if "html" in kind:
                queue += [html.unescape(link) for link in _LINK.findall(answer.text)]
            elif "json" in kind and path.startswith("/api/") and answer.ok:
                queue += _items(path, answer.json())
        for job in self.submit("/jobs?limit=1000", method="GET")["items"]:
            comment = job_reply.render_reply(Job.model_validate(job), "https://faults.example.org")
            found[f"comment on job {job['id']}"] = comment.encode()
        for digest in self.digests:
            assert not [path for path, data in found.items() if digest.encode() in data], "a digest can be read"
        return found


@contextmanager
def serve(arena: Arena, home: Path, **variables: str) -> Iterator[Served]:
    """Serve until the end of the block. The key of its cookies and its variables are secrets."""
    home.mkdir(parents=True, exist_ok=True)
    arena.plant("session-key", home / "session.key")
    if home not in arena.tops:
        arena.tops.append(home)
    port = arena.folder / "port"
    service = Served(arena, home)
    service.admin = service.token("admin", "read", "report", "order", "admin")
    process = arena.start(
        SERVICE,
        *("serve", "--port", "0", "--port-file", str(port)),
        environment={"FAULTWATCH_HOME": str(home), "FAULTWATCH_ACCESS": "tokens", **variables},
        directory=arena.folder,
    )
    try:
        deadline = time.monotonic() + TIMEOUT
        while not port.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "the service does not start"
            time.sleep(0.05)
        service.url = f"http://127.0.0.1:{int(port.read_text())}"
        yield service
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        output, error = process.communicate(timeout=TIMEOUT)
        port.unlink(missing_ok=True)
    assert "Traceback" not in error.decode(errors="replace"), error.decode(errors="replace")[-3000:]
    (arena.folder / "report").mkdir(exist_ok=True)
    (arena.folder / "report" / "service.log").write_bytes(output + error)


def outcome(service: Served, *done: Outcome) -> Outcome:
    """Return what some commands did and what the service answers afterwards."""
    published = service.answers()
    return Outcome(
        None if any(one.status is None for one in done) else 0,
        "".join(one.output for one in done),
        "".join(one.error for one in done),
        "\n".join(data.decode(errors="replace") for path, data in published.items() if path.startswith("/api/")),
        sum(one.seconds for one in done),
        published,
    )


def _items(path: str, document: Any) -> Iterator[str]:
    """Return the addresses of what a list of the API contains."""
    listed = document.get("items") if isinstance(document, dict) else None
    for item in listed or ():
        for key in ("id", "run_id", "profile_id", "name"):
            if isinstance(item, dict) and isinstance(item.get(key), int | str):
                yield f"{path.partition('?')[0]}/{item[key]}"
                if path.startswith("/api/v1/jobs"):
                    yield f"{path.partition('?')[0]}/{item[key]}/log"
                break
