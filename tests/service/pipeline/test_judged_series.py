"""Which series have drifts: those of the exact counts, and those that the newest report of the workload names."""

from __future__ import annotations

import random
from typing import Any

import pytest

from runner.contract.judging import Judging
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import GLIBC, JEMALLOC

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
ASKED = Judging(judge=("throughput",))


def measure(api: Api, first: int, last: int, speed: float, judging: Judging) -> None:
    api.send(
        *(
            reports.report(number, 100, 100, others={"throughput": speed + number % 3}, judging=judging)
            for number in range(first, last)
        )
    )


def throughput(api: Api) -> dict[str, Any]:
    (found,) = [one for one in api.get("/series")["items"] if one["metric"] == "throughput"]
    return api.get(f"/series/{found['id']}")


def test_a_metric_that_the_workload_names_is_judged_until_it_does_so_no_more(api: Api) -> None:
    measure(api, 1, 31, 1000, ASKED)
    measure(api, 31, 61, 500, ASKED)
    found = throughput(api)
    assert found["judged"]
    assert [drift["revision"] for drift in found["drifts"]] == [reports.commit(31)]
    measure(api, 61, 62, 500, Judging())
    found = throughput(api)
    assert not found["judged"]
    assert found["drifts"] == []


def test_small_steps_are_within_the_budget_until_they_exceed_it_together(api: Api) -> None:
    budgeted = Judging(budgets={"minor-faults": "5 %"})
    for number, faults in enumerate([1000] * 4 + [1030] * 4 + [1060] * 4 + [900] * 4, 1):
        api.put(reports.report(number, faults, faults, judging=budgeted))
    found = {drift["after"]: drift["within_budget"] for drift in api.drifts()}
    assert found == {1030: True, 1060: False, 900: False}
    events = {event["revision"]: event["within_budget"] for event in api.get("/events")["items"]}
    assert events == {reports.commit(5): True, reports.commit(9): False, reports.commit(13): False}


def test_without_a_budget_no_drift_is_within_it(api: Api) -> None:
    for number, faults in enumerate([1000] * 4 + [1001] * 4, 1):
        api.put(reports.report(number, faults, faults))
    assert [drift["within_budget"] for drift in api.drifts()] == [False]


def test_what_a_workload_has_judged_is_judged_as_noisy_by_its_better_direction(api: Api) -> None:
    """One run never settles a noisy metric, even if it repeats: sizes and other events are no exact counts."""
    asked = Judging(judge=("max-rss", "my:event", "sys-percent"))
    sent = []
    for number in range(1, 31):
        worse = number > 15
        others = {"max-rss": 4096, "my:event": 12, "sys-percent": 20 - 10 * worse + number % 3, "elapsed": 1 + worse}
        newest = {"max-rss": 8192, "my:event": 11} if number == 30 else {}
        sent.append(reports.report(number, 100, 100, others=others | newest, judging=asked))
    body = {"reports": [report.model_dump(mode="json") for report in sent]}
    assert api.client.post("/api/v1/runs", json=body).status_code == 200
    drifts = api.drifts()
    assert {drift["metric"] for drift in drifts if drift["revision"] == reports.commit(30)} <= {"max-rss", "my:event"}
    assert all(drift["evidence"]["wants_rerun"] for drift in drifts if drift["revision"] == reports.commit(30))
    (step,) = [drift for drift in drifts if drift["metric"] == "sys-percent"]
    assert (step["revision"], step["direction"]) == (reports.commit(16), "improvement")
    drawn = {series["metric"] for series in api.get("/series")["items"]}
    assert {"elapsed", "max-rss", "my:event"} <= drawn
    assert "elapsed" not in {drift["metric"] for drift in drifts}


def test_a_drift_whose_range_contains_a_change_of_the_environment_names_its_settings(api: Api) -> None:
    chance, judging = random.Random(0), Judging(judge=("throughput",))
    sent = []
    for number in range(1, 45):
        environment = GLIBC if number <= 20 else JEMALLOC
        speed = {"throughput": (10_300 if number >= 25 else 10_000) + chance.gauss(0, 150)}
        sent.append(reports.report(number, 100, others=speed, environment=environment, judging=judging))
    # The new environment also measures the last commit of the old one, which links the two.
    sent.append(
        reports.report(20, 100, at=20.5, others={"throughput": 10_000.0}, environment=JEMALLOC, judging=judging)
    )
    api.send(*sent)
    drifts = [drift for drift in api.get("/drifts", metric="throughput")["items"] if drift["cause"] == "both"]
    (drift,) = drifts
    assert drift["environment_before"] == drift["environment_after"]
    assert [setting["name"] for setting in drift["settings"]] == ["allocator"]
