"""What a drift of faults is worth: by the host's canary at first, by profiles as soon as there are some."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime

import pytest

from runner.contract import Canary, CanaryCount
from runner.contract.profile import StackKind, Touch
from service.notify import message
from service.pipeline import judging_schedule
from service.store.engine.database import Database
from service.store.events import events
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.profiles import FAULTING, MAIN, anatomy, profile, stacks
from tests.service.reports import GLIBC

CANARY = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1009,)),), seconds_per_fault=0.5e-6)
SECOND = {"task-clock": 1.0}


def send_step(api: Api, canary: Canary | None) -> None:
    """Send a history whose fault count falls from 5,000 to 700 at its fourth commit."""
    counts = {1: 5000, 2: 5000, 3: 5000, 4: 700, 5: 700}
    api.send(*(reports.report(n, c, c, others=SECOND, canary=canary) for n, c in counts.items()))


def send_profile(api: Api, number: int, faults: int, cost: float) -> None:
    """Send the profile of a commit with one second of CPU time, of which a share goes into its faults."""
    faulting = round(cost * 1e9)
    sent = profile(
        anatomy({Touch.FIRST: faults}),
        subject="demo",
        revision=reports.revision(number),
        case=reports.CASE,
        host=reports.report(1, 1).host,
        environment=GLIBC,
        on_cpu=stacks(StackKind.ON_CPU, {(MAIN,): 10**9 - faulting, (MAIN, FAULTING): faulting}),
    )
    answer = api.client.put(f"/api/v1/profiles/{sent.profile_id}", json=json.loads(sent.model_dump_json()))
    assert answer.status_code == 201, answer.text


def test_fewer_faults_that_win_no_time_read_as_that_everywhere(api: Api, database: Database) -> None:
    send_step(api, CANARY)
    (drift,) = api.drifts()
    assert drift["percent"] == -86.0
    assert drift["price"]["seconds"] == -4_300 * 0.5e-6
    assert drift["price"]["source"] == "the host's canary"
    assert drift["price"]["uncertainty"] == 0
    assert drift["price"]["sentence"].startswith("almost no CPU time")
    (event,) = api.get("/events")["items"]
    assert event["price"] == drift["price"]["sentence"]
    assert api.get(f"/events/{event['id']}")["drifts"][0]["price"] == drift["price"]
    with database.reading() as session:
        (summary,) = events.list_summaries(session, [event["id"]])
    lines = message.compose_message(str(datetime.now(UTC)), [summary], "http://faults.example.org").lines
    assert "almost no CPU time" in "\n".join(lines)


def test_without_a_measured_cost_nothing_is_said(api: Api) -> None:
    send_step(api, None)
    (drift,) = api.drifts()
    assert drift["price"] is None
    assert api.get("/events")["items"][0]["price"] == ""


def test_the_price_of_a_count_that_varies_has_an_uncertainty(api: Api) -> None:
    noise = random.Random(1)
    counts = {n: [round(noise.gauss(2_000 + 400 * (n > 40), 10)) for _ in range(5)] for n in range(1, 81)}
    runs = [reports.report(n, *samples, others=SECOND, canary=CANARY) for n, samples in counts.items()]
    body = {"reports": [run.model_dump(mode="json") for run in runs]}
    assert api.client.post("/api/v1/runs", json=body).status_code == 200
    (drift,) = [one for one in api.drifts() if one["metric"] == "minor-faults"]
    assert drift["rule"] == "step"
    assert drift["price"]["uncertainty"] == pytest.approx(drift["evidence"]["spread"] * 0.5e-6)
    assert "because the count varies" in drift["price"]["sentence"]


def test_profiles_replace_the_cost_of_the_canary_and_the_event_follows(api: Api) -> None:
    send_step(api, CANARY)
    send_profile(api, 3, 5000, cost=0.4)
    (drift,) = api.drifts()
    assert drift["price"]["source"] == "a profile of the case"
    assert drift["price"]["share"] == pytest.approx(-0.344)
    send_profile(api, 4, 700, cost=0.056)
    (drift,) = api.drifts()
    assert drift["price"]["source"] == "profiles of both sides"
    (event,) = api.get("/events")["items"]
    assert event["price"] == drift["price"]["sentence"]
    assert event["state"] == "new"


def test_the_event_follows_also_if_its_series_are_judged_later(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_step(api, CANARY)
    monkeypatch.setattr(judging_schedule, "MAX_POINTS", 0)
    send_profile(api, 3, 5000, cost=0.4)
    judging_schedule.judge_all_series(database)
    (drift,) = api.drifts()
    assert drift["price"]["source"] == "a profile of the case"
    (event,) = api.get("/events")["items"]
    assert event["price"] == drift["price"]["sentence"]
