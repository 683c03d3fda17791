"""The list of events as a browser without JavaScript uses it: since when, filters, one decision about several."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from runner.contract import Host
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


def listed(client: FlaskClient, query: str = "") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get(f"/events.json{query}").json["items"]
    return items


def decide(client: FlaskClient, events: list[str], **form: str) -> Any:
    return client.post("/events/triage", data={"event": events, "author": "Ada", **form}, headers=HERE)


def looked_last(client: FlaskClient, ago: timedelta) -> None:
    with client.session_transaction() as session:
        session["inbox-seen"] = (datetime.now(UTC) - ago).isoformat()


def test_a_visit_lists_what_was_found_since_the_last_one_or_else_all(own: FlaskClient) -> None:
    assert "4 open events in the last 7 days" in read(own, "/")
    looked_last(own, timedelta(hours=1))
    assert "4 open events since your last visit" in read(own, "/")
    assert "4 open events since your last visit" in read(own, "/"), "loading the page again empties nothing"

    with own.session_transaction() as session:
        now = datetime.now(UTC).isoformat()
        session["inbox-seen"], session["inbox-since"] = now, now
    text = read(own, "/")
    assert "Nothing new since your last visit" in text
    assert "All 4 open events, the most important first" in text
    assert "No open events since" in read(own, "/?since=visit")


@pytest.mark.parametrize(
    ("state", "sentence"), [("open", "No open events"), ("new", "No new events"), ("all", "No events")]
)
def test_an_empty_period_before_which_events_were_found_is_not_said_to_be_all(
    client: FlaskClient, state: str, sentence: str
) -> None:
    text = read(client, f"/events?state={state}&since=2100-01-01")
    assert "found earlier" in text
    assert f"{sentence} were found in this period." in text
    assert "Nothing is waiting for a decision." not in text
    assert "There are no events in this state." in read(client, "/events?state=fixed&since=2100-01-01")


def test_a_visit_without_news_counts_one_open_event_in_the_singular(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        runs = [reports.report(number, 100 if number < 4 else 120) for number in range(1, 8)]
        Api(client).send(*runs)
        assert "1 open event in the last 7 days" in read(client, "/")
        with client.session_transaction() as session:
            session["inbox-seen"] = session["inbox-since"] = datetime.now(UTC).isoformat()
        assert "1 open event: 1 worse" in read(client, "/")


def test_the_most_important_is_first_and_a_single_fault_is_last(client: FlaskClient) -> None:
    events = listed(client)
    ranks = [event["importance"] for event in events]
    assert ranks == sorted(ranks, reverse=True)
    assert "+1 " in events[-1]["headline"].replace("\xa0", " ")
    names = [event["headline"] for event in events]
    assert [event["headline"] for event in listed(client, "?sort=committed")] != names
    assert names == [event["headline"] for event in client.get("/overview.json").json["events"]]


@pytest.mark.parametrize(
    ("query", "events"),
    [
        ("direction=improvement", 1),
        ("host=lab-1", 4),
        ("host=lab-9", 0),
        ("subject=copyd&direction=regression", 3),
        ("certainty=single", 2),
        ("cause=config", 1),
        ("cause=commit", 3),
        ("committed=2025-03-14", 1),
        ("committed=2100-01-01&since=7d", 0),
        ("case=COPY_serv", 4),
        ("case=%25", 0),
        ("case=scan", 0),
        ("metric=minor-faults", 4),
        ("metric=elapsed", 0),
        ("metric=minor-faults&host=lab-9", 0),
        ("series=1", 4),
        ("series=2", 0),
        ("assignee=nobody", 4),
        ("assignee=Ada", 0),
        ("since=24h", 4),
        ("since=2100-01-01", 0),
        ("date=2100-01-01&since=7d", 0),
    ],
)
def test_filters_stand_in_the_address(client: FlaskClient, query: str, events: int) -> None:
    assert len(listed(client, f"?{query}")) == events
    assert f"{events or 'No'} open event" in read(client, f"/events?{query}")


def test_only_an_event_without_an_assignee_is_unassigned_whoever_should_look(client: FlaskClient) -> None:
    text = read(client, "/events?assignee=nobody")
    assert "Who looks, next step" in text
    assert "unassigned" in text, "the word of the filter"
    assert "Ada" in text, "who looks although nobody is assigned"


def test_the_heading_says_by_which_dates_the_list_is_filtered(own: FlaskClient) -> None:
    assert "1 open event of commits since 2025-03-14, found in the last 7 days" in read(own, "/?committed=2025-03-14")
    text = read(own, "/events?committed=2025-03-14&since=all")
    assert "1 open event of commits since 2025-03-14 " in text
    assert "found since" not in text
    with own.session_transaction() as session:
        session["inbox-seen"] = session["inbox-since"] = datetime.now(UTC).isoformat()
    assert "1 open event of commits since 2025-03-14:" in read(own, "/?committed=2025-03-14")


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("sort=age", "sort: must be one of importance, size, price, found, committed"),
        ("since=yesterday", "is not a date: write 2026-11-20, friday or 7d, or all"),
        ("direction=up", "direction: must be one of regression, improvement, mixed"),
        ("state=lost", "state: must be one of open, new"),
        ("cause=weather", "cause: must be one of commit, config, both, unknown"),
        ("committed=soon", "is not a date: write 2026-11-20, friday or 7d"),
        ("metric=weather", "metric: must be the name of a metric, such as minor-faults"),
        ("series=many", "series: must be a number from 1 to 1,000,000"),
        (f"series=0000000001{'9' * 30}", "series: must be a number from 1 to 1,000,000"),
        ("program=parser", "program: is not a parameter of this list; its parameters are state, since"),
    ],
)
def test_a_filter_that_is_none_is_refused_in_a_sentence(client: FlaskClient, query: str, problem: str) -> None:
    assert problem in read(client, f"/?{query}", status=422)


def test_a_filter_by_case_shows_and_judges_the_numbers_of_that_case(tmp_path: Path) -> None:
    other_host = Host(name="second")
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(
            *reports.proven(1000, 1000, 1900, 1900),
            *reports.proven(1000, 1000, 1100, 1100, host=other_host),
            *reports.proven(2000, 2000, 1500, 1500, case=reports.OTHER_CASE),
        )
        (event,) = listed(client)
        assert (event["direction"], event["n_series"]) == ("mixed", 3)

        (better,) = listed(client, "?case=mib%3D8")
        assert (better["direction"], better["n_series"], better["n_drifts"]) == ("improvement", 1, 1)
        assert better["headline"] == "−500 minor faults (−25 %) in copy[mib=8]"
        assert listed(client, "?case=mib%3D8&direction=regression") == []
        text = read(client, "/events?case=mib%3D8")
        assert "1 open event 0 worse 1 better" in text
        assert "Improvement: −25 % −500 minor faults (−25 %) in copy[mib=8] commit only candidate Change 3" in text
        assert "Nothing to repair: mark it as expected" in text

        (worse,) = listed(client, "?case=mib%3D4&direction=regression")
        assert worse["headline"] == "+900 minor faults (+90 %) in copy[mib=4] and 1 more drift"
        assert listed(client, "?case=mib%3D4&direction=mixed") == []
        (second,) = listed(client, "?host=second")
        assert second["headline"] == "+100 minor faults (+10 %) in copy[mib=4]"
        (both,) = listed(client, "?metric=minor-faults&direction=mixed")
        assert both["headline"] == "+900 minor faults (+90 %) in copy[mib=4] and 1 more drift; 1 better"

        page_of_case = Api(client).get("/events", case="mib=8")["items"]
        assert [entry["headline"] for entry in page_of_case] == [better["headline"]]


@pytest.mark.parametrize("faults_on_second", [1500, 2900])
def test_a_filter_by_host_names_the_cause_as_narrowly_as_any_host_knows_it(
    tmp_path: Path, faults_on_second: int
) -> None:
    """The second host skipped commit 3, which caused the change; its change leads the event only if it is larger."""
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(
            *reports.proven(1000, 1000, 1900, 1900, 1900),
            *(
                run
                for number, faults in ((1, 1000), (2, 1000), (4, faults_on_second), (5, faults_on_second))
                for run in reports.repeated(number, faults, faults, times=6, host=Host(name="second"))
            ),
        )
        (whole,) = listed(client)
        (on_box,) = listed(client, "?host=box")
        (on_second,) = listed(client, "?host=second")
        assert (on_box["certainty"], on_box["n_candidates"], on_box["title"]) == ("single", 1, "Change 3")
        for event in (whole, on_second):
            how = (event["certainty"], event["n_candidates"])
            assert how == (("single", 1) if faults_on_second == 1500 else ("range", 2))
        assert "commit only candidate Change 3" in read(client, "/events?host=box")
        in_words = "only candidate Change 3" if faults_on_second == 1500 else "range of 2 one of 2 commits"
        assert f"commit {in_words}" in read(client, "/events?host=second")


def test_no_percentage_of_a_headline_is_broken_into_two_lines(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*reports.proven(100, 150), *reports.proven(100, 130, case=reports.OTHER_CASE))
        (event,) = listed(client)
        for source in (page(client, "/?since=all"), page(client, f"/events/{event['id']}")):
            visible = re.sub(r"<title>[^<]*|<[^>]*>", "", source.partition("<main")[2])
            assert "+50\u202f%" in visible
            assert " %)" not in visible


def test_a_list_of_what_became_worse_begins_with_the_largest_regression(tmp_path: Path) -> None:
    """Whatever became better at the same commit."""
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(
            *reports.proven(1000, 1000, 1040, 1040, 1500, 1500),
            *reports.proven(2000, 2000, 500, 500, 500, 500, case=reports.OTHER_CASE),
        )

        def list_headlines(query: str) -> list[str]:
            return [event["headline"] for event in listed(client, query)]

        steep = "+460 minor faults (+44.2 %) in copy[mib=4]"
        assert list_headlines("?sort=size&direction=regression") == [
            steep,
            "+40 minor faults (+4 %) in copy[mib=4]; 1 better",
        ]
        assert list_headlines("?sort=size")[1:] == [steep], "the largest of all changes is for the better"
        assert list_headlines("?direction=improvement") == ["−1,500 minor faults (−75 %) in copy[mib=8]; 1 worse"]
        text = read(client, "/events?sort=size&direction=regression")
        assert "+4 % +40 minor faults (+4 %)" in text
        assert "1 worse 1 mixed" in text


def test_largest_first_orders_a_list_by_the_case_that_it_shows(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(
            *reports.proven(1000, 1000, 9000, 9000, 9010, 9010),
            *reports.proven(2000, 2000, 2002, 2002, 2500, 2500, case=reports.OTHER_CASE),
        )
        whole = [event["headline"].partition(" ")[0] for event in listed(client, "?sort=size")]
        assert whole[0] == "+8,000"
        of_case = [event["headline"].partition(" ")[0] for event in listed(client, "?sort=size&case=mib%3D8")]
        assert of_case == ["+498", "+2"]


def test_several_events_are_decided_at_once_and_the_same_list_is_shown_again(own: FlaskClient) -> None:
    chosen = [event["id"] for event in listed(own, "?direction=regression")]
    assert len(chosen) == 3
    answer = decide(own, chosen, action="expect", reason="a new cache", list="/?since=all&direction=regression")
    assert (answer.status_code, answer.location) == (303, "/?since=all&direction=regression")
    assert "3 events expected." in read(own, answer.location)
    assert {event["state"] for event in listed(own, "?state=expected")} == {"expected"}
    assert len(listed(own)) == 1
    log = own.get(f"/events/{chosen[0]}.json").json["decisions"]
    assert [(entry["author"], entry["reason"]) for entry in log] == [("Ada", "a new cache")]

    (third,) = (event["id"] for event in listed(own))
    decide(own, [chosen[0], third], action="acknowledge")
    assert "1 event acknowledged. 1 unchanged: The event is already expected." in read(own, "/")
    assert [event["id"] for event in listed(own, "?assignee=Ada")] == [third], "who acknowledges looks into it"
    decide(own, [third], action="assign", assignee="Grace")
    assert [event["id"] for event in listed(own, "?assignee=Grace")] == [third]
    decide(own, [third], action="assign")
    assert [event["id"] for event in listed(own, "?assignee=Ada")] == [third], "to oneself, without a name"


def test_a_decision_keeps_every_filter_of_the_list(own: FlaskClient) -> None:
    (event, *_) = (entry["id"] for entry in listed(own))
    address = "/events?cause=commit&committed=2020-01-01&case=copy&metric=minor-faults&series=1"
    answer = decide(own, [event], action="acknowledge", list=address)
    assert answer.location == address
    assert own.get(answer.location).status_code == 200
    assert decide(own, [event], action="acknowledge", list="//[").location == "/", "this is no address"


def test_an_incomplete_decision_decides_nothing_and_keeps_what_was_selected(own: FlaskClient) -> None:
    event = listed(own)[0]["id"]
    for form, problem in (
        ({"action": "expect"}, "Reason is required to expect"),
        ({"action": "acknowledge", "author": ""}, "Your name is missing."),
        ({"action": "snooze", "until": "soon"}, "The end"),
        ({}, "A decision"),
    ):
        answer = decide(own, [event], list="/events?since=all", **form)
        assert answer.status_code == 422
        assert problem in answer.text.replace("&#39;", "'")
        assert re.search(rf'value="{event}"[^>]* checked', answer.text)
    nothing = decide(own, [], action="acknowledge")
    assert nothing.status_code == 422
    assert "Select at least one event." in nothing.text
    foreign = own.post("/events/triage", data={"event": event, "action": "reopen"}, headers={"Origin": "http://evil"})
    assert foreign.status_code == 403
    assert own.get(f"/events/{event}.json").json["decisions"] == []
    elsewhere = decide(own, [event], action="acknowledge", list="https://evil.example/steal?x=1")
    assert elsewhere.location == "/", "nobody is led to another site"


def test_a_snoozed_event_is_out_of_the_list_until_its_day_or_the_next_run(own: FlaskClient) -> None:
    event = listed(own)[0]["id"]
    assert decide(own, [event], action="snooze", until="2020-01-01").status_code == 303
    assert "The snooze would end in the past." in read(own, "/")
    decide(own, [event], action="snooze", until="2100-01-01")
    assert event not in [entry["id"] for entry in listed(own)]
    text = read(own, "/?snoozed=1&since=all")
    assert "snoozed until 2100-01-01" in text
    decide(own, [event], action="wake")
    assert event in [entry["id"] for entry in listed(own)]

    events = [entry["id"] for entry in listed(own)]
    decide(own, events, action="snooze")
    assert listed(own) == []
    newest = history.reports()[-1].model_copy(update={"run_id": history.run_id(99)})
    history.send(own, [newest])
    assert {entry["id"] for entry in listed(own)} == set(events)


def test_the_series_of_several_events_are_silenced_and_heard_again_at_once(own: FlaskClient) -> None:
    everything = [event["id"] for event in listed(own)]
    refused = decide(own, everything, action="silence", until="2100-01-01")
    assert refused.status_code == 422
    assert "Reason and until are required to silence" in refused.text
    assert own.get("/api/v1/silences").json["total"] == 0

    decide(own, everything, action="silence", reason="a new rack", until="2100-01-01")
    assert "4 events silenced. Nobody is notified of changes in one series until 2100-01-01." in read(own, "/")
    assert all(event["silenced"] for event in listed(own))
    assert len(listed(own)) == 4, "they stay in the list"
    decide(own, everything, action="silence", reason="still", until="2099-01-01")
    assert "Their series were already silenced for at least as long." in read(own, "/")
    assert own.get("/api/v1/silences").json["total"] == 1, "the longer silence covers it"

    summaries = own.get("/api/v1/series").json["items"]
    body = {"until": "2100-01-02T00:00:00Z", "reason": "twice", "author": "Ada"}
    for summary in summaries[:2]:
        own.post("/api/v1/silences", json=body | {"series_id": summary["id"]})
    source = page(own, "/silences")
    ids = re.findall(r'name="silence" value="(\d+)"', source)
    assert own.post("/silences/end", data={"silence": ids, "author": "Ada"}, headers=HERE).status_code == 303
    assert own.get("/api/v1/silences?active=true").json["total"] == 0
    ended = own.get("/api/v1/audit?action=silence ended").json["items"]
    assert {entry["target"] for entry in ended} == {f"silence {number}" for number in ids}


def test_changes_below_the_floor_are_one_line_that_opens(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        unmeasured = [reports.revision(number).model_dump(mode="json") for number in range(1, 21)]
        client.put("/api/v1/subjects/demo/revisions", json={"revisions": unmeasured})
        levels = ((1, 7_229), (8, 7_230), (16, 9_000))
        sent = [run for number, level in levels for run in reports.repeated(number, level, level, times=6)]
        body = {"reports": [run.model_dump(mode="json") for run in sent]}
        assert client.post("/api/v1/runs", json=body).status_code == 200
        text = read(client, "/")
        assert "1 open event in the last 7 days" in text
        assert "1 below the floor Runs of the same program, or builds of the same commit, can differ as much." in text
        assert "+1 minor fault" not in text.replace("\xa0", " ")
        assert "+1 minor fault" in read(client, "/?folded=1").replace("\xa0", " ")


def test_the_list_is_paged(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        levels = [1000 * (1 + number % 7) + number for number in range(34)]
        body = {"reports": [run.model_dump(mode="json") for run in reports.proven(*levels)]}
        assert client.post("/api/v1/runs", json=body).status_code == 200
        first, second = page(client, "/"), page(client, "/?offset=25")
        assert first.count('name="event"') == 25
        total = len(listed(client))
        assert f"1 to 25 of {total}" in read(client, "/")
        assert second.count('name="event"') == total - 25 > 0
        assert set(re.findall(r'name="event" value="(\w+)"', first)).isdisjoint(
            re.findall(r'name="event" value="(\w+)"', second)
        )
        answer = decide(
            client,
            re.findall(r'name="event" value="(\w+)"', second),
            action="expect",
            reason="a new cache",
            list="/?offset=25",
        )
        text = read(client, answer.location)
        assert "The list has no events left on this page." in text
        assert "Nothing is waiting for a decision." not in text
        assert "26 to" not in text
        assert "The list has no events left" in read(client, "/events?offset=25&direction=regression")


def test_the_judged_series_have_a_page_of_their_own(client: FlaskClient) -> None:
    text = read(client, "/series")
    assert "Minor faults 4 drifts 5,240 faults" in text
    assert "Major faults 0 faults" in text
    assert page(client, "/series").count('class="spark"') == 2


def test_a_list_calls_the_service_by_the_same_words_as_the_page_of_an_event(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*reports.proven(100, 150, 150, 100))
        text = read(client, "/events?state=fixed&since=all")
    assert "the service: Undone: 150 → 100 faults." in text


def test_the_file_of_a_list_is_beside_its_number_and_has_its_filters(client: FlaskClient) -> None:
    """A list of a hundred events has its foot far below."""
    head = page(client, "/events?cause=config").partition("</h1>")[2].partition("</p>")[0]
    (address,) = re.findall(r'href="([^"]*)" type="text/csv"', head)
    rows = client.get(html.unescape(address)).text.splitlines()[1:]
    assert len(rows) == 1
