"""The real application on a real database, as strangers and holders of tokens reach it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.pipeline import judging_schedule
from service.rules.access.scope import Scope
from service.store import tokens
from service.web import app_resources
from tests.fuzz.door import Attempt

GENERATION = 1000
"""Inputs after which a door gets a new database: what is stored must not make the next input slow."""
PAGES = (
    "/",
    "/runs",
    "/events",
    "/series",
    "/releases",
    "/matrix",
    "/hosts",
    "/environments",
    "/workloads",
    "/profiles",
    "/jobs",
    "/search?q=a",
)


@dataclass
class Served:
    """A service that asks for tokens."""

    app: Flask
    report: str
    """A token with the scope ``report``."""
    read: str

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> TestResponse:
        """Send a request; a crash is an assertion."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.app.test_client().open(path, method=method, data=body, headers=sent)
        assert answer.status_code < 500, (
            f"{method} {path}: {answer.status_code} {answer.text[:300]} for {body[:2000]!r}"
        )
        return answer

    def submit(self, method: str, path: str, body: bytes) -> TestResponse:
        """Send JSON with the scope ``report``."""
        return self.send(method, path, body, Authorization=f"Bearer {self.report}", Content_Type="application/json")

    def show(self, path: str) -> None:
        """Read a page with the scope ``read``."""
        self.send("GET", path, Authorization=f"Bearer {self.read}", Accept="text/html")

    def show_all(self, pages: Sequence[str] = PAGES) -> None:
        """Judge what arrived, and read every page that lists it."""
        with self.app.app_context():
            judging_schedule.judge_or_defer_series(app_resources.get_database())
        for page in pages:
            self.show(page)


def serve(folder: Path, **changes: Any) -> Served:
    """Make an application with tokens."""
    folder.mkdir()
    config = Config(home=folder, database_url=f"sqlite:///{folder / 'faultwatch.db'}", access=Access.TOKENS)
    app = create_app(config.copy_with_values(**changes))
    with app.app_context(), app_resources.get_database().writing() as session:
        now = datetime.now(UTC)
        texts = [tokens.issue_token(session, scope.value, [scope], 1, now).text for scope in (Scope.REPORT, Scope.READ)]
    return Served(app, *texts)


def close(served: Served) -> None:
    """Release the database."""
    with served.app.app_context():
        app_resources.get_database().close()


@contextmanager
def by_generation(folder: Path, one: Callable[[Served, Random], str], **changes: Any) -> Iterator[Attempt]:
    """Call ``one`` with a service that is made again after a number of inputs."""
    inputs = 0
    served = serve(folder / "0", **changes)

    def attempt(rng: Random) -> str:
        nonlocal inputs, served
        if inputs and inputs % GENERATION == 0:
            served.show_all()
            close(served)
            shutil.rmtree(folder / str(inputs // GENERATION - 1))
            served = serve(folder / str(inputs // GENERATION), **changes)
        inputs += 1
        return one(served, rng)

    yield attempt
    served.show_all()
    close(served)
