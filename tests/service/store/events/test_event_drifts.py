"""The drifts of events, as the store keeps them."""

from __future__ import annotations

import random
import uuid

import pytest

from runner.contract import ComparisonRequest
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


def test_an_event_follows_a_proof_and_a_budget_that_change_neither_place_nor_levels(api: Api) -> None:
    def read_both() -> list[dict[str, object]]:
        (drift,) = api.drifts()
        (event,) = api.get("/events")["items"]
        return [{name: found[name] for name in ("certainty", "within_budget")} for found in (drift, event)]

    api.send(*reports.proven(1000, 1030))
    assert read_both() == [{"certainty": "single", "within_budget": False}] * 2
    session = uuid.uuid4()
    base, head = (reports.report(number, *[faults] * 24, session=session) for number, faults in ((1, 1000), (2, 1030)))
    proof = ComparisonRequest(base=base, head=head).model_dump(mode="json")
    assert api.client.post("/api/v1/proofs", json=proof).json["verdict"] == "changed"
    assert read_both() == [{"certainty": "proven", "within_budget": False}] * 2
    for number, budget in ((3, "5 %"), (4, "1 %")):
        api.send(reports.report(number, 1030, 1030, judging=Judging(budgets={"minor-faults": budget})))
        assert read_both() == [{"certainty": "proven", "within_budget": budget == "5 %"}] * 2


def test_a_proof_that_further_pairs_leave_undecided_no_longer_counts(api: Api) -> None:
    def compare(*levels: tuple[int, ...]) -> str:
        base, head = (reports.report(number, *values, session=session) for number, values in enumerate(levels, start=1))
        request = ComparisonRequest(base=base, head=head).model_dump(mode="json")
        return str(api.client.post("/api/v1/proofs", json=request).json["verdict"])

    session = uuid.uuid4()
    api.send(*reports.proven(1000, 1030))
    assert compare((1000,) * 24, (1030,) * 24) == "changed"
    (drift,) = api.drifts()
    assert drift["certainty"] == "proven"
    assert compare((1000, 1030), (1030, 1000)) == "needs_more_runs"
    (drift,) = api.drifts()
    assert drift["certainty"] == "single"
