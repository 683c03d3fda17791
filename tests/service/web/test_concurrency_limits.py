"""Requests that store runs leave room for the pages, and for other subjects."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from apiflask import APIFlask
from werkzeug.test import TestResponse

from service.pipeline import ingest_reports
from service.serving import THREADS
from service.store.engine import deferred_work
from service.web import concurrency_limits
from service.web.concurrency_limits import MAX_REQUESTS, MAX_REQUESTS_PER_SUBJECT, Admission
from service.web.problems import ProblemError
from tests.service import reports
from tests.service.apiclient import Api


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Semaphore, threading.Event]]:
    """Keep requests from storing: a semaphore that counts those that would, and what lets them."""
    waiting, go_on = threading.Semaphore(0), threading.Event()
    ingest = ingest_reports.ingest_reports

    def wait(*arguments: object) -> object:
        waiting.release()
        assert go_on.wait(30)
        return ingest(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ingest_reports, "ingest_reports", wait)
    yield waiting, go_on
    go_on.set()


def test_who_would_take_all_threads_comes_later(
    app: APIFlask, held: tuple[threading.Semaphore, threading.Event]
) -> None:
    waiting, go_on = held

    def send(number: int, subject: str) -> TestResponse:
        return Api(app.test_client()).put(reports.report(number, 100, subject=subject))

    before = concurrency_limits.count_refused_requests()
    with ThreadPoolExecutor(MAX_REQUESTS) as pool:
        under_way = [pool.submit(send, number, "demo") for number in range(MAX_REQUESTS_PER_SUBJECT)]
        for _ in under_way:
            assert waiting.acquire(timeout=30)
        refused = send(90, "demo")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
        assert refused.json is not None
        assert "many reports about demo" in refused.json["detail"]
        under_way.append(pool.submit(send, 1, "other"))
        assert waiting.acquire(timeout=30), "another subject waits for none of them"
        assert send(91, "third").status_code == 503
        assert app.test_client().get("/runs").status_code == 200, "pages are not refused"
        go_on.set()
        assert [answer.result().status_code for answer in under_way] == [201] * MAX_REQUESTS
    assert send(90, "demo").status_code == 201, "each has given its place back"
    assert concurrency_limits.count_refused_requests() == before + 2
    assert f"faultwatch_requests_refused_total {before + 2}.0" in app.test_client().get("/metrics").text


def test_a_process_keeps_threads_for_pages() -> None:
    assert MAX_REQUESTS_PER_SUBJECT < MAX_REQUESTS <= THREADS - 3


def test_a_request_that_fails_gives_its_place_back() -> None:
    one = Admission(1, 1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), one.admit_request(), one.admit_subjects({"demo"}):
            _ = 1 / 0
    with ExitStack() as stack:
        stack.enter_context(one.admit_request())
        stack.enter_context(one.admit_subjects({"demo"}))
        with pytest.raises(ProblemError):
            stack.enter_context(one.admit_request())
        with pytest.raises(ProblemError):
            stack.enter_context(one.admit_subjects({"other", "demo"}))
        with one.admit_subjects({"other"}):
            pass


def test_runs_that_arrive_together_are_judged_together_soon_after(
    app: APIFlask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deferred_work, "QUIET_SECONDS", 0.05)
    client = app.test_client()

    def unjudged() -> int:
        return int(re.search(r"faultwatch_series_unjudged (\d+)", client.get("/metrics").text)[1])  # type: ignore[index]

    Api(client).put(reports.report(1, 100))
    assert unjudged() == 0, "one alone is judged before it is answered"
    with app.app_context(), concurrency_limits.find_admission().admit_request():
        Api(client).put(reports.report(2, 100))
        assert unjudged() > 0
    deadline = time.monotonic() + 60
    while unjudged():
        assert time.monotonic() < deadline
        time.sleep(0.05)
