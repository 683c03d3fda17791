"""Events that were sure and are not any more: what is logged, shown and sent."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from runner.contract.judging import Judging
from service.pipeline import judging_schedule
from service.rules.plan.reruns import MAX_RERUNS
from service.store.engine.database import Database
from service.store.events import deliveries, unsent_events
from service.store.events.unsent_events import Occasion
from service.store.models import Point, Run, Series
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import plan_request

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
ASKED = Judging(judge=("throughput",))
START = datetime.now(UTC) - timedelta(hours=1)
chance = random.Random(5)


def measure(api: Api, first: int, last: int, speed: float, judging: Judging = ASKED) -> None:
    sent = [
        reports.report(number, 100, 100, others={"throughput": speed + chance.gauss(0, 2)}, judging=judging)
        for number in range(first, last)
    ]
    answer = api.client.post("/api/v1/runs", json={"reports": [report.model_dump(mode="json") for report in sent]})
    assert answer.status_code == 200, answer.text


def the_event(api: Api) -> dict[str, Any]:
    """Return the event of the step at commit 31."""
    (event,) = [event for event in api.get("/events")["items"] if event["revision"] == reports.commit(31)]
    detail: dict[str, Any] = api.get(f"/events/{event['id']}")
    return detail


def send_all(database: Database) -> list[str]:
    """Send what is due through a channel; return the occasions, without the numbers of decisions."""
    with database.writing() as session:
        since = unsent_events.get_or_create_channel(session, "chat", START).since
        due: list[Occasion] = unsent_events.list_unsent_events(session, "chat", since)
        if due:
            key = deliveries.claim_message(session, "chat", due, datetime.now(UTC))
            deliveries.record_attempt(session, key, None, datetime.now(UTC))
        return [occasion.name.split()[0] for occasion in due]


def test_a_sure_event_is_withdrawn_with_its_reason_and_sent_again_when_it_is_sure_again(
    api: Api, database: Database
) -> None:
    measure(api, 1, 31, 1000)
    measure(api, 31, 61, 500)
    assert the_event(api)["state"] == "new"
    assert (send_all(database), send_all(database)) == (["new"], [])

    measure(api, 61, 62, 500, Judging())
    event = the_event(api)
    reason = "The workload no longer judges this metric."
    assert (event["state"], event["open"], event["still_detected"]) == ("withdrawn", False, False)
    assert (event["last_decision"]["by_service"], event["last_decision"]["reason"]) == (True, reason)
    assert [(drift["metric"], drift["reason"]) for drift in event["withdrawn"]] == [("throughput", reason)]
    assert api.get("/events", open=True)["items"] == []
    assert reason in api.client.get(f"/events/{event['id']}").text
    assert (send_all(database), send_all(database)) == (["withdrawn"], [])
    assert [one["occasion"] for one in api.get(f"/events/{event['id']}/deliveries")["items"]] == ["new", "withdrawn"]

    measure(api, 62, 63, 500)
    event = the_event(api)
    assert (event["state"], event["still_detected"], event["withdrawn"]) == ("new", True, []), "nobody had closed it"
    assert (send_all(database), send_all(database)) == (["reopened"], [])


def test_a_suspicion_that_ends_as_nothing_leaves_no_event_and_is_never_sent(api: Api, database: Database) -> None:
    measure(api, 1, 31, 1000)
    measure(api, 31, 32, 1200)
    event = the_event(api)
    assert (event["state"], event["confirmed"]) == ("new", False)
    assert send_all(database) == []
    rerun = plan_request(31)
    for at in range(100, 100 + MAX_RERUNS):
        if not api.plan(rerun).runs:
            break
        again = reports.report(31, 100, 100, others={"throughput": 1000 + chance.gauss(0, 2)}, at=at, judging=ASKED)
        api.send(again)
    assert api.plan(rerun).runs == ()
    assert [one for one in api.get("/events")["items"] if one["revision"] == reports.commit(31)] == []
    assert api.get(f"/events/{event['id']}")["last_decision"] is None
    page = api.client.get(f"/events/{event['id']}").text
    assert "do not confirm this suspected change" in page
    assert "decisions on it are kept" not in page
    assert send_all(database) == []


def list_states(api: Api) -> dict[str, str]:
    """Return the states of all listed events, by commit."""
    return {event["revision"]: event["state"] for event in api.get("/events")["items"]}


def test_a_suspicion_neither_closes_an_event_before_it_is_sent_nor_reopens_it(api: Api, database: Database) -> None:
    send_all(database)
    api.send(*reports.proven(100, 200), reports.report(3, 100, 100))
    assert list_states(api) == {reports.commit(2): "new", reports.commit(3): "new"}
    assert send_all(database) == ["new"]
    api.send(*reports.repeated(3, 100, 100, times=8, at=9))
    assert list_states(api)[reports.commit(2)] == "fixed"
    send_all(database)
    api.send(reports.report(4, 200, 200, at=10))
    assert list_states(api)[reports.commit(2)] == "fixed"
    assert send_all(database) == []
    api.send(*reports.repeated(4, 200, 200, times=8, at=11))
    assert list_states(api)[reports.commit(2)] == "reopened"
    assert send_all(database) == ["reopened"]


def test_the_withdrawal_of_an_event_that_was_not_sent_is_not_sent_either(api: Api, database: Database) -> None:
    measure(api, 1, 31, 1000)
    measure(api, 31, 61, 500)
    measure(api, 61, 62, 500, Judging())
    assert the_event(api)["state"] == "withdrawn"
    assert send_all(database) == []


def test_runs_that_are_removed_withdraw_what_rested_on_them_but_no_decision(api: Api, database: Database) -> None:
    measure(api, 1, 31, 1000)
    measure(api, 31, 61, 500)
    event = the_event(api)
    told = {"action": "dismiss", "author": "Ada", "reason": "another network"}
    assert api.client.post(f"/api/v1/events/{event['id']}/decisions", json=told).status_code == 201
    with database.writing() as session:
        started = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
        late = select(Run.number).where(Run.started_at > started)
        session.execute(delete(Point).where(Point.run_number.in_(late)))
        session.execute(update(Series).values(version=Series.version + 1))
    judging_schedule.judge_or_defer_series(database)
    event = the_event(api)
    assert (event["state"], event["still_detected"]) == ("false_alarm", False)
    log = api.get(f"/events/{event['id']}/decisions")["items"]
    assert [entry["action"] for entry in log] == ["dismiss", "withdraw"]
    assert "it was deleted or put in quarantine" in log[-1]["reason"]
    assert "The decisions on it are kept." in api.client.get(f"/events/{event['id']}").text


def test_nobody_but_the_service_withdraws(api: Api) -> None:
    measure(api, 1, 31, 1000)
    measure(api, 31, 61, 500)
    told = {"action": "withdraw", "author": "Ada", "reason": "no"}
    answer = api.client.post(f"/api/v1/events/{the_event(api)['id']}/decisions", json=told)
    assert answer.status_code == 422
    assert "dismiss it" in answer.text
