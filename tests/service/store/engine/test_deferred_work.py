"""Deferred work, such as judging a large batch."""

from __future__ import annotations

import threading
import time

import pytest

from runner.contract import Case
from service.pipeline import judging_schedule
from service.store.engine import deferred_work
from tests.service import reports
from tests.service.apiclient import Api

PATIENCE = 60


def test_a_batch_of_many_series_is_judged_in_the_background(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_work, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(judging_schedule, "MAX_SERIES_AT_ONCE", 4)
    cases = [Case(workload="copy", definition="0" * 16, parameters={"number": number}) for number in range(6)]
    batch = [
        reports.report(number, level, level, case=case)
        for number, level in ((1, 100), (2, 100), (3, 200), (4, 200))
        for case in cases
    ]
    body = {"reports": [report.model_dump(mode="json") for report in batch]}
    assert api.client.post("/api/v1/runs", json=body).status_code == 200
    deadline = time.monotonic() + PATIENCE
    while len(api.drifts()) < len(cases) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert {drift["revision"] for drift in api.drifts()} == {reports.commit(3)}
    assert len(api.drifts()) == len(cases)


def test_failed_work_runs_again_with_the_next_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deferred_work, "QUIET_SECONDS", 0.01)
    calls, done = [], threading.Event()

    def work() -> None:
        calls.append(1)
        if len(calls) == 1:
            done.set()
            raise RuntimeError
        done.set()

    worker = deferred_work.DeferredWork(work)
    for _ in range(2):
        done.clear()
        worker.request()
        assert done.wait(PATIENCE)
    worker.stop()
    assert len(calls) == 2
    assert "deferred work failed" in caplog.text
    worker.request()
    assert len(calls) == 2


def test_repeated_requests_do_not_defer_work_for_ever() -> None:
    done = threading.Event()
    worker = deferred_work.DeferredWork(done.set, is_busy=lambda: True, longest_delay=0.1)
    deadline = time.monotonic() + PATIENCE
    while not done.is_set() and time.monotonic() < deadline:
        worker.request()
        time.sleep(0.005)
    assert done.is_set()
    worker.stop()
