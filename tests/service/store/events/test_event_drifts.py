"""The drifts of events, as the store keeps them."""

from __future__ import annotations

import random

import pytest

from runner.contract.judging import Judging
from service.pipeline import judging_schedule
from service.store.engine.database import Database
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web.api.test_quarantine import WRONG

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def test_the_end_of_an_expected_ramp_is_a_judged_run(api: Api, database: Database) -> None:
    chance, judging = random.Random(3), Judging(judge=("throughput",))
    sent = []
    for number in range(1, 81):
        speed = {"throughput": 1000 + min(max(number - 20, 0), 20) * 20 + chance.gauss(0, 2)}
        sent.append(reports.report(number, 100, others=speed, judging=judging))
        # The host counted incorrectly when it measured the commit for the first time.
        sent.append(reports.report(number, 100, others=speed, judging=judging, at=number - 0.5, canary=WRONG))
    api.send(*sent)
    judging_schedule.judge_all_series(database)
    (ramp,) = [drift for drift in api.get("/drifts")["items"] if drift["rule"] == "ramp"]
    (event,) = [event for event in api.get("/events")["items"] if event["revision"] == ramp["revision"]]
    told = {"action": "expect", "author": "Ada", "reason": "known"}
    assert api.client.post(f"/api/v1/events/{event['id']}/decisions", json=told).status_code == 201
    judging_schedule.judge_all_series(database)
    assert "ramp" not in {drift["rule"] for drift in api.get("/drifts")["items"]}
