"""Runs of a host that counts wrong: kept and shown, never judged, and measured again."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from runner.contract import Canary, CanaryCount, ComparisonRequest, Mismatch, Report
from tests.service import reports
from tests.service.apiclient import Api

GOOD = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1009,)),))
DISTURBED = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1010, 1009, 1009)),))
WRONG = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1010, 1009, 1010)),))
WHY = (
    "this host counted incorrectly before the session: "
    "anonymous: 1,010, then 1,009, then 1,010 faults counted, 1,009 expected"
)


def step(canary: Canary | None) -> list[Report]:
    """A history whose level changes at its sixth commit, from which on the canary is another one."""
    before = [reports.report(number, 100, 100) for number in range(1, 6)]
    return before + [reports.report(number, 150, 150, canary=canary) for number in range(6, 11)]


@pytest.mark.parametrize("canary", [None, GOOD, DISTURBED])
def test_a_canary_that_holds_changes_nothing(api: Api, canary: Canary | None) -> None:
    api.send(*step(canary))
    assert [drift["revision"] for drift in api.drifts()] == [reports.commit(6)]
    assert {point["quarantine"] for point in api.series()["points"]} == {None}


def test_what_a_host_measures_that_counts_wrong_is_kept_but_never_judged(api: Api) -> None:
    api.send(*step(WRONG))
    assert api.drifts() == []
    points = api.series()["points"]
    assert [point["value"] for point in points] == [100] * 5 + [150] * 5
    assert [(point["quarantine"], point["on_path"]) for point in points] == [(None, True)] * 5 + [(WHY, False)] * 5
    (summary,) = api.get("/series", metric="minor-faults")["items"]
    assert (summary["n_points"], summary["latest"]) == (10, 100)


def test_the_api_says_which_runs_are_in_quarantine_and_why(api: Api) -> None:
    api.send(*step(WRONG))
    items = api.get("/runs", quarantined="true")["items"]
    assert {item["quarantine"] for item in items} == {WHY}
    assert len(items) == api.get("/runs", quarantined="false")["total"] == 5
    assert api.get("/runs", host="another")["total"] == 0
    assert api.get(f"/runs/{items[0]['run_id']}")["canary"]["counts"][0]["counted"] == [1010, 1009, 1010]


def test_it_is_measured_again_once_the_host_is_well(api: Api) -> None:
    api.send(*step(WRONG))
    plan = api.plan(reports.plan_request(*range(1, 11)))
    assert [one.revision for one in plan.runs] == [reports.commit(number) for number in range(6, 11)]
    api.send(*(reports.report(number, 100, 100, canary=GOOD) for number in range(6, 11)))
    assert api.plan(reports.plan_request(*range(1, 11))).runs == ()
    assert api.drifts() == []
    assert len(api.series()["points"]) == 15


def test_a_failure_is_none_of_the_canarys_business(api: Api) -> None:
    api.send(reports.failed_build(1, canary=WRONG))
    assert api.get("/runs")["items"][0]["quarantine"] is None
    assert api.plan(reports.plan_request(1)).runs == ()


@pytest.mark.parametrize("wrong", ["base", "head"])
def test_a_comparison_in_quarantine_is_refused_with_the_reason(api: Api, wrong: str) -> None:
    base, head = (
        reports.report(number, 100, 100, canary=WRONG if name == wrong else GOOD)
        for number, name in ((1, "base"), (2, "head"))
    )
    request = ComparisonRequest(base=base, head=head)
    answer = api.client.post("/api/v1/comparisons", json=request.model_dump(mode="json"))
    assert answer.status_code == 422
    assert answer.json["detail"] == f"{wrong} cannot be judged: {WHY}"


def test_pages_say_why(api: Api, client: FlaskClient) -> None:
    mismatch = Mismatch(name="vm.swappiness", declared="1", actual="60")
    report = reports.report(1, 100, canary=WRONG, mismatches=(mismatch,), remarks=("process.aslr is on, not off",))
    api.send(report)
    run = client.get(f"/runs/{report.run_id}").text
    assert "In quarantine" in run
    assert WHY in run
    assert "Not as declared" in run
    assert "vm.<wbr>swappiness" in run
    assert "process.aslr is on, not off" in run
    overview = client.get("/").text
    assert "box is in quarantine" in overview
    assert WHY in overview
    (series,) = api.get("/series", metric="minor-faults")["items"]
    assert f"Not judged: {WHY}" in client.get(f"/series/{series['id']}").text


def test_the_overview_forgets_it_when_the_host_is_well(api: Api, client: FlaskClient) -> None:
    api.send(reports.report(1, 100, canary=WRONG), reports.report(2, 100, canary=GOOD))
    assert "is in quarantine" not in client.get("/").text
    api.send(reports.report(3, 100, canary=WRONG), reports.failed_build(4))
    assert "box is in quarantine" in client.get("/").text


def test_a_good_run_has_no_notice_and_shows_its_canary(api: Api, client: FlaskClient) -> None:
    report = reports.report(1, 100, canary=GOOD)
    api.send(report)
    page = client.get(f"/runs/{report.run_id}").text
    assert "In quarantine" not in page
    assert "Not as declared" not in page
    assert "Canary OK before the session: anonymous: 1,009 faults counted, 1,009 expected" in page


def test_old_runs_stay_readable(api: Api) -> None:
    document = reports.report(1, 100).model_dump(mode="json", exclude={"canary", "mismatches", "remarks"})
    answer = api.client.put(f"/api/v1/runs/{document['run_id']}", json=document)
    assert answer.status_code == 201
    assert api.get("/runs")["items"][0]["quarantine"] is None
