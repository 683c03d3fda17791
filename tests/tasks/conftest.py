"""Two services with histories: a real one that was imported, and one of our own with merges. Filled once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from runner.reporting.client import Service
from tests.e2e.browser import Opener, Watched, launched, watch
from tests.tasks import own_history
from tests.tasks.own_history import OwnHistory
from tests.tasks.service import RunningService, running

REAL = Path(__file__).parent / "data" / "ocaml-trunk.csv.gz"
COLUMNS = "revision=revision,case=benchmark,started_at=started_at,minor-faults=page_faults,kernel.release=kernel"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests unless they are asked for: filling the services takes minutes."""
    if os.environ.get("FAULTWATCH_TEST_TASKS"):
        return
    folder = f"{Path(__file__).parent}{os.sep}"  # a comparison of paths would take a second for all tests
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.skip(reason="only runs in make test-tasks"))


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service into which somebody imported the history of the OCaml compiler."""
    if kept := os.environ.get("FAULTWATCH_TASKS_HOME"):  # to write a test without importing each time
        home = Path(kept)
        home.mkdir(exist_ok=True)
    else:
        home = tmp_path_factory.mktemp("imported")
    is_new = not (home / "faultwatch.db").exists()
    (home / "port").unlink(missing_ok=True)
    with running(home) as service:
        if is_new:
            printed = service.command(
                "import", str(REAL), "--subject", "ocaml", "--host", "turing", "--columns", COLUMNS
            )
            assert "28995 stored" in printed
        service.settle()
        yield service


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> OwnHistory:
    """The repository of our own history."""
    return own_history.make(tmp_path_factory.mktemp("git") / own_history.SUBJECT)


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory, repository: OwnHistory) -> Iterator[RunningService]:
    """A service that two hosts reported to: most of it a month ago, the last commits since Friday."""
    with running(tmp_path_factory.mktemp("own")) as service:
        client = Service(service.address)
        own_history.send(repository, client, until=own_history.KERNEL)
        service.settle()
        service.let_time_pass(timedelta(days=30))
        own_history.send(repository, client, after=own_history.KERNEL, until=own_history.LAST)
        service.settle()
        yield service


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    contexts = []

    def make(address: str, **options: Any) -> Watched:
        contexts.append(browser.new_context(locale="en-GB", viewport={"width": 1280, "height": 900}, **options))
        return watch(contexts[-1], address)

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(params=["imported", "own"])
def history(request: pytest.FixtureRequest) -> RunningService:
    """Each of the two services."""
    service: RunningService = request.getfixturevalue(request.param)
    return service


@pytest.fixture
def page(history: RunningService, opened: Opener) -> Iterator[Watched]:
    """A page of either service, of which nothing went wrong when the test has ended."""
    watched = opened(history.address)
    yield watched
    watched.assert_quiet()
