"""The page of a case: its charts, its drifts with their events, and what to do where nothing moved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from runner.contract import Case
from service.web.pages import workloads
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read

HERE = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[FlaskClient]:
    """Its own service, on a copy of the history: what is decided stays."""
    with application(tmp_path, history.send) as app:
        yield app.test_client()


def address(client: FlaskClient, definition: str = history.CASE.definition) -> str:
    entries = client.get("/workloads.json").json
    return f"/cases/{next(entry['key'] for entry in entries if entry['definition'] == definition)}"


def test_the_drifts_of_a_case_are_listed_with_their_events(client: FlaskClient) -> None:
    text = read(client, address(client))
    assert "4 drifts" in text
    for words in (
        "2,239 faults → 18,623 faults",
        "+16,384",
        "0505050505 Hand memory back after each operation 2025-03-07 09:30 UTC lab-1",
    ):
        assert words in text, text
    assert "suspected: one of 2 commits, 0c0c0c0c0c…0d0d0d0d0d 2025-03-15 09:30 UTC lab-1" in text, (
        "no hash stands there twice"
    )
    source = page(client, address(client))
    events = {event["id"] for event in client.get("/events.json?state=all").json["items"]}
    drifts = source[source.index('id="drifts"') : source.index('id="events"')]
    assert set(re.findall(r'href="/events/(\w+)"', drifts)) == events
    document = client.get(f"{address(client)}.json").json
    assert {drift["event_id"] for drift in document["drifts"]} == {event["id"] for event in document["events"]}
    assert "<script>alert" not in source, "a commit's title is text"


def test_what_waits_for_a_decision_comes_first(own: FlaskClient) -> None:
    newest = own.get(f"{address(own)}.json").json["drifts"][0]
    decision = {"event": [newest["event_id"]], "author": "Ada", "action": "dismiss", "reason": "the host was moved"}
    assert own.post("/events/triage", data=decision, headers=HERE).status_code == 303
    document = own.get(f"{address(own)}.json").json
    assert [drift["state"] for drift in document["drifts"]] == ["new", "new", "new", "false_alarm"]
    assert {event["state"] for event in document["events"][:3]} == {"new"}
    assert "% false alarm" in read(own, address(own))


def test_the_events_of_a_case_are_described_by_its_own_numbers(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(
            *reports.proven(1000, 1000, 1900, 1900),
            *reports.proven(2000, 2000, 1500, 1500, case=reports.OTHER_CASE),
        )
        (key,) = (entry["key"] for entry in client.get("/workloads.json").json if entry["name"] == "copy[mib=8]")
        (event,) = client.get(f"/cases/{key}.json").json["events"]
        assert (event["headline"], event["direction"]) == (
            "−500 minor faults (−25 %) in copy[mib=8]",
            "improvement",
        )
        assert "Improvement: −25 % −500 minor faults (−25 %) in copy[mib=8]" in read(client, f"/cases/{key}")


def test_of_many_events_the_most_important_are_listed(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [event["id"] for event in client.get(f"{address(client)}.json").json["events"]]
    assert len(listed) == 4
    monkeypatch.setattr(workloads, "_MAX_EVENTS", 2)
    assert [event["id"] for event in client.get(f"{address(client)}.json?fewer").json["events"]] == listed[:2]
    text = read(client, f"{address(client)}?fewer")
    assert "4 events" in text
    assert "2 of 4; all events of this case" in text
    (link,) = re.findall(r'href="(/events[^"]*)">all events of this case', page(client, f"{address(client)}?fewer"))
    path, _, query = link.replace("&amp;", "&").partition("?")
    assert client.get(f"{path}.json?{query}").json["total"] == 4


def test_small_charts_lead_to_the_series(client: FlaskClient) -> None:
    source = page(client, address(client))
    charts = source[source.index("small-charts") : source.index('id="drifts"')]
    titles = [re.sub(r"\s+", " ", title).strip() for title in re.findall(r'<span class="name">([^<]+)', charts)]
    assert titles == ["Minor faults", "Major faults", "System share", "Throughput"]
    linked = {int(number) for number in re.findall(r'href="/series/(\d+)"', charts)}
    names = {entry["id"]: entry["metric"] for entry in client.get(f"{address(client)}.json").json["series"]}
    assert {names[number] for number in linked} == {"minor-faults", "major-faults", "sys-percent", "throughput"}
    assert charts.count("<svg") == len(linked)


def test_a_case_in_which_nothing_moved_says_how_to_go_on(own: FlaskClient) -> None:
    calm = history.CASE.model_copy(update={"definition": "f" * 16})
    history.send(own, [_of_case(number, calm) for number in range(2)])
    text = read(own, address(own, calm.definition))
    assert "No drifts No level of this case has changed in 2 measured runs." in text
    assert "faultwatch history copy_service HEAD~20..HEAD" in text
    assert "4 drifts" in read(own, address(own)), "the drifts of the other definition stay with it"


def _of_case(number: int, case: Case) -> object:
    report = history.report(number, history.OLD)
    return report.model_copy(update={"case": case, "run_id": history.run_id(100 + number)})
