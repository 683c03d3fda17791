"""Who asks for what was found can wait until all runs are judged: many at once are judged in the background."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import pytest
from apiflask import APIFlask
from werkzeug.test import TestResponse

from runner.contract import Case, Report
from runner.contract.nightly import NightlyCell, NightlyPart
from service.pipeline import judge_series, judging_batches, judging_schedule
from service.serving import THREADS
from service.store.engine import deferred_work
from service.web import concurrency_limits
from service.web.api import judging_wait
from tests.service import reports
from tests.service.apiclient import Api

CASES = [Case(workload="copy", definition="0" * 16, parameters={"number": number}) for number in range(6)]


@pytest.fixture(autouse=True)
def _nothing_is_judged_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_work, "QUIET_SECONDS", 600)


def send(api: Api, *, subject: str = "subject") -> None:
    batch: list[Report] = [
        reports.report(number, level, level, case=case, subject=subject)
        for number, level in ((1, 100), (2, 100), (3, 200), (4, 200))
        for case in CASES
    ]
    body = {"reports": [report.model_dump(mode="json") for report in batch]}
    assert api.client.post("/api/v1/runs", json=body).status_code == 200


def found(api: Api, query: str = "") -> set[str]:
    answer = api.client.get(f"/api/v1/drifts{query}")
    assert answer.status_code == 200, answer.text
    return {drift["case"] for drift in answer.get_json()["items"]}


def test_all_runs_are_judged_before_the_answer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_schedule, "MAX_SERIES_AT_ONCE", 4)
    send(api)
    assert found(api) == set()
    assert found(api, "?judged=true") == {case.name for case in CASES}
    assert found(api) == {case.name for case in CASES}
    assert api.client.get("/events.json").get_json()["items"]


def test_runs_of_long_series_are_judged_later(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_schedule, "MAX_POINTS", 23)
    send(api)  # six series of four points
    assert found(api) == set()
    assert len(found(api, "?judged=true")) == len(CASES)


def test_runs_of_another_subject_are_left_alone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_schedule, "MAX_SERIES_AT_ONCE", 4)
    send(api)
    send(api, subject="other")
    assert len(found(api, "?judged=true&subject=other")) == len(CASES)
    assert found(api, "?subject=subject") == set()


def test_what_takes_long_is_to_be_asked_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_schedule, "MAX_SERIES_AT_ONCE", 4)
    send(api)
    monkeypatch.setattr(judging_wait, "_MAX_WAIT_SECONDS", -1)
    answer = api.client.get("/api/v1/drifts?judged=true")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.get_json()["detail"] == "Many new runs are being judged. Try again in a moment."


def test_one_request_judges_and_another_waits_for_it_and_the_others_come_later(
    app: APIFlask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging_schedule, "MAX_SERIES_AT_ONCE", 4)
    send(Api(app.test_client()))
    go_on = threading.Event()
    judged_ids: Counter[int] = Counter()

    def judge_slowly(*arguments: Any) -> Any:
        assert go_on.wait(30)
        answer = judge_series.judge_series(*arguments)
        judged_ids.update(one.series_id for one in answer[0])
        return answer

    def ask() -> TestResponse:
        return app.test_client().get("/api/v1/drifts?judged=true")

    monkeypatch.setattr(judging_batches, "judge_series", judge_slowly)
    with ThreadPoolExecutor(judging_wait.MAX_REQUESTS + 2) as pool:
        answers = as_completed([pool.submit(ask) for _ in range(judging_wait.MAX_REQUESTS + 2)], timeout=30)
        refused = [next(answers).result() for _ in range(2)]
        assert [(one.status_code, one.headers["Retry-After"]) for one in refused] == [(503, "1")] * 2
        go_on.set()
        assert [len(one.result().get_json()["items"]) for one in answers] == [len(CASES)] * judging_wait.MAX_REQUESTS
    assert set(judged_ids.values()) == {1}
    assert ask().status_code == 200, "each has given its place back"


def test_those_who_judge_and_those_who_store_leave_a_thread_for_the_pages() -> None:
    assert concurrency_limits.MAX_REQUESTS + judging_wait.MAX_REQUESTS < THREADS


def test_the_digest_of_a_night_has_its_drifts(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging_schedule, "MAX_SERIES_AT_ONCE", 4)
    send(api)
    cell = NightlyCell(
        **{"host": "box", "configuration": "plain", "workload": "copy", "subject": "subject", "carried_out": True},
        revision=reports.commit(3),
        cases=tuple(CASES),
    )
    part = NightlyPart(cells=(cell,)).model_dump(mode="json")
    assert api.client.put("/api/v1/nightly-runs/tonight", json=part).get_json()["drifts"] == []
    assert api.client.get("/api/v1/nightly-runs/tonight").get_json()["drifts"] == []
    assert len(api.client.get("/api/v1/nightly-runs/tonight?judged=true").get_json()["drifts"]) == len(CASES)
