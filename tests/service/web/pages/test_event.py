"""Deciding about drifts, as a browser without JavaScript does it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
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
STANDS = history.TITLES[history.ONE_PAGE]
"""Made a page more, which nothing undoes: its event is open."""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    """Its own service: what is decided stays."""
    with application(tmp_path, history.send) as app:
        yield app.test_client()


def drift(client: FlaskClient, title: str = STANDS) -> dict[str, Any]:
    items: list[dict[str, Any]] = client.get("/api/v1/drifts").json["items"]
    return next(entry for entry in items if entry["title"].startswith(title))


def event(client: FlaskClient, title: str = STANDS) -> str:
    items = client.get("/events.json?state=all").json["items"]
    return str(next(entry["id"] for entry in items if entry["title"].startswith(title)))


def improvement(client: FlaskClient) -> str:
    """Return the event that two commits could have caused."""
    items = client.get("/events.json?state=all").json["items"]
    return str(next(entry["id"] for entry in items if entry["direction"] == "improvement"))


def decide(client: FlaskClient, event_id: str, **form: str) -> Any:
    return client.post(f"/events/{event_id}/decide", data={"author": "Ada", **form}, headers=HERE)


def test_the_page_of_a_drift_offers_what_can_be_decided(client: FlaskClient) -> None:
    source = page(client, f"/drifts/{drift(client)['id']}")
    assert f'action="/events/{event(client)}/decide"' in source
    text = read(client, f"/drifts/{drift(client)['id']}")
    assert "Acknowledge somebody is looking into it" in text
    assert "Reopen" not in text


def test_an_event_says_first_what_to_do_and_who(client: FlaskClient) -> None:
    text = read(client, f"/events/{event(client)}")
    assert text.index("Fix the regression, or mark it as expected") < text.index("Evidence")
    assert "Compare the commits" in text
    decide(client, event(client), action="expect", reason="wanted")
    assert "Fix the regression" not in read(client, f"/events/{event(client)}")


def test_an_event_without_profiles_gives_the_command_that_measures_them(client: FlaskClient) -> None:
    text = read(client, f"/events/{event(client)}")
    assert "Not profiled yet." in text
    assert f"faultwatch profile {history.CASE.workload} " in text


def test_an_event_says_on_which_hosts_it_was_found(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        steps = reports.proven(1000, 1000, 1900, 1900)
        Api(client).send(*steps, *reports.proven(1000, 1000, 1900, 1900, host=Host(name="second")))
        (found,) = client.get("/api/v1/events").json["items"]
        text = read(client, f"/events/{found['id']}")
    assert re.search(r"2 drifts in 2 series on (second and \S+|\S+ and second) ", text)


def test_an_event_of_the_configuration_names_the_settings_where_others_name_commits(client: FlaskClient) -> None:
    items = client.get("/events.json?state=all").json["items"]
    config = next(entry for entry in items if entry["cause"] == "config")
    text = read(client, f"/events/{config['id']}")
    assert "The configuration changed Settings that differ Setting Before After" in text
    assert text.index("Settings that differ") < text.rindex("Decide")
    assert text.count("Settings that differ") == 1


def test_one_commit_beside_the_configuration_is_no_range_and_not_the_only_candidate(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        before, after = reports.proven(100, 100, 100), reports.proven(0, 0, 0, 150, environment=reports.JEMALLOC)[18:]
        Api(client).send(*before, *after)
        (found,) = client.get("/events.json").json["items"]
        assert (found["cause"], found["n_candidates"]) == ("both", 1)
        of_event, of_list = read(client, f"/events/{found['id']}"), read(client, "/events")
    assert "The only commit" in of_event
    assert "Or the configuration" in of_event
    assert "only candidate" not in of_event.lower()
    assert not re.search(r"range of \d", of_event + of_list)
    assert "commit or configuration Change 4, or allocator" in of_list


def test_an_event_whose_host_is_silent_gives_the_command_that_bisects_it(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        api = Api(app.test_client())
        api.put_revisions(*range(1, 7))
        levels = {1: 100, 2: 100, 5: 150, 6: 150}
        api.send(*(run for n, level in levels.items() for run in reports.repeated(n, level, level, times=6)))
        (found,) = api.client.get("/events.json").json["items"]
        text = read(api.client, f"/events/{found['id']}")
        closed = decide(api.client, found["id"], action="expect", reason="wanted")
        assert "faultwatch bisect" not in read(api.client, closed.location)
    assert "Find which of 3 commits caused it" in text
    commits = f"{reports.commit(2)}..{reports.commit(5)}"
    assert re.search(rf"faultwatch bisect copy {commits} --repo \. --case 'copy\[mib=4\]' --metric minor-faults", text)
    assert "box has not reported since 2026-01-01, so it cannot be asked to bisect." in text


def test_an_event_says_what_its_date_is_and_who_decides_if_no_run_will(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*reports.proven(100, 100), reports.report(3, 150))
        (found,) = client.get("/events.json").json["items"]
        text = read(client, f"/events/{found['id']}")
    assert re.search(r"suspected committed .* Ada: No further run will come", text)


def test_the_trend_of_a_suspected_drift_has_an_outlined_mark(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*reports.proven(100, 100), reports.report(3, 150))
        assert '<path class="worse suspected"' in client.get("/").text
        Api(client).send(*reports.repeated(3, 150, 150, times=6))
        text = client.get("/").text
    assert '<path class="worse"' in text
    assert '<path class="worse suspected"' not in text


def test_what_is_expected_is_no_open_drift_any_more_and_its_log_says_why(client: FlaskClient) -> None:
    event_id = event(client)
    answer = decide(client, event_id, action="expect", reason="Memory <b>first</b>")
    assert (answer.status_code, answer.location) == (303, f"/events/{event_id}")
    text = read(client, f"/events/{event_id}")
    assert "Expected Ada" in text
    assert "The event is expected. It is no longer among the open events. Back to the inbox" in text
    assert "Memory <b>first</b>" in text
    assert "Reopen the last decision no longer applies" in text
    assert STANDS not in read(client, "/events")
    assert "expected" in read(client, "/events?state=expected")
    assert STANDS in read(client, "/events?state=expected")


def test_a_commit_fixes_it_and_who_decides_is_remembered(client: FlaskClient) -> None:
    assert decide(client, event(client), action="fix", commit=history.commit(12)).status_code == 303
    assert f"Fixed by {history.commit(12)[:10]} Ada" in read(client, f"/events/{event(client)}")
    assert 'name="author" value="Ada"' in page(client, f"/events/{improvement(client)}")


def test_what_a_later_step_undoes_the_service_takes_for_fixed_and_says_by_which(client: FlaskClient) -> None:
    regression = event(client, "Hand memory")
    assert "by the service" not in read(client, f"/events/{regression}"), "the later step is only suspected"
    both_levels = (history.report(number, history.NEW) for number in (history.ANCHOR + 1, history.IMPROVEMENT))
    Api(client).send(*(run.model_copy(update={"run_id": uuid.uuid4()}) for run in both_levels for _ in range(8)))
    text = read(client, f"/events/{regression}")
    assert f"Fixed by {history.commit(history.IMPROVEMENT)[:10]} by the service" in text
    assert "Undone: 21,624 → 5,240 faults." in text
    assert "Reopen the last decision no longer applies" in text


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"action": "expect"}, "Reason is required to expect"),
        ({"action": "fix", "commit": "HEAD"}, "There is no commit HEAD of copyd. Enter a tag, a branch"),
        ({"action": "explode"}, "A decision must be one of:"),
        ({"action": "acknowledge", "author": ""}, "Your name is missing."),
        ({}, "A decision is missing."),
    ],
)
def test_what_is_not_complete_is_told_beside_what_was_written(
    client: FlaskClient, form: dict[str, str], told: str
) -> None:
    answer = decide(client, event(client), **form)
    assert answer.status_code == 422
    assert told in answer.text.replace("&#39;", "'")


def test_a_commit_is_named_by_its_first_digits_and_an_improvement_needs_no_fix(client: FlaskClient) -> None:
    assert decide(client, event(client), action="fix", commit=history.commit(12)[:8]).status_code == 303
    log = client.get(f"/events/{event(client)}.json").json["decisions"]
    assert log[-1]["commit"] == history.commit(12)
    assert "Fixed by" not in page(client, f"/events/{improvement(client)}")
    assert decide(client, improvement(client), action="fix", commit=history.commit(12)).status_code == 409


def test_whoever_comes_second_is_told(client: FlaskClient) -> None:
    assert decide(client, event(client), action="dismiss", reason="noise").status_code == 303
    answer = decide(client, event(client), action="acknowledge")
    assert answer.status_code == 409
    assert "The event has changed in the meantime: its state is now “false alarm”. Decide again" in answer.text


def test_a_page_of_another_site_decides_nothing(client: FlaskClient) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = client.post(f"/events/{event(client)}/decide", data={"action": "acknowledge"}, headers=headers)
        assert answer.status_code == 403
    assert client.get(f"/events/{event(client)}.json").json["decisions"] == []


def test_a_series_is_silenced_for_some_days_and_heard_again(client: FlaskClient) -> None:
    form = {"author": "Ada", "reason": "being worked on", "days": "7"}
    answer = client.post("/series/1/silence", data=form, headers=HERE)
    assert answer.location == "/silences"
    assert "Minor faults of copy_service" in read(client, "/silences")
    assert "silenced" in read(client, "/events")
    assert "Silenced until" in read(client, "/series/1")
    assert "Silenced until" not in read(client, "/series/2")
    assert client.post("/silences/end", data={"author": "Eve", "silence": "1"}, headers=HERE).status_code == 303
    assert client.post("/silences/end", data={"author": "Bob", "silence": "1"}, headers=HERE).status_code == 303
    assert "over, ended by Eve" in read(client, "/silences")
    assert "Silenced until" not in read(client, "/series/1")
    ended = client.get("/api/v1/audit?action=silence ended").json["items"]
    assert [entry["author"] for entry in ended] == ["Eve"], "the second request changed nothing"
    assert client.post("/series/1/silence", data=form | {"days": "4000"}, headers=HERE).status_code == 422
    assert client.post("/series/1/silence", data=form | {"reason": ""}, headers=HERE).status_code == 422
    assert client.post("/series/99/silence", data=form, headers=HERE).status_code == 404
    for unknown in ("99", str(2**63)):
        assert client.post("/silences/end", data=form | {"silence": unknown}, headers=HERE).status_code == 404


def test_a_silence_leads_to_the_series_that_it_covers(client: FlaskClient) -> None:
    series = client.get("/api/v1/series").json["items"][-1]
    common = {"author": "Bob", "reason": "noisy", "until": "2100-01-01T00:00:00Z"}
    added = client.post("/api/v1/silences", json=common | {"series_id": series["id"]}, headers=HERE).json
    assert added["series_id"] == series["id"]
    assert f'href="/series/{series["id"]}"' in page(client, "/silences")
    client.delete(f"/api/v1/silences/{added['id']}?author=Bob", headers=HERE)
    pattern = client.post("/api/v1/silences", json=common | {"case": "copy*"}, headers=HERE).json
    assert pattern["series_id"] is None, "it covers several series"
    shown = client.get("/api/v1/silences").json["items"]
    assert [silence["series_id"] for silence in shown] == [None, series["id"]]


def test_a_series_is_silenced_on_its_own_page_whether_or_not_it_has_a_drift(client: FlaskClient) -> None:
    drifting = {item["series_id"] for item in client.get("/api/v1/drifts").json["items"]}
    calm = next(item["id"] for item in client.get("/api/v1/series").json["items"] if item["id"] not in drifting)
    assert f'action="/series/{calm}/silence"' in page(client, f"/series/{calm}")
    form = {"author": "Ada", "reason": "noisy", "days": "7"}
    client.post(f"/series/{calm}/silence", data=form, headers=HERE)
    source = page(client, f"/series/{calm}")
    assert "Silenced until" in source
    assert f'action="/series/{calm}/silence"' not in source


def test_an_event_is_assigned_and_silenced_on_its_own_page(client: FlaskClient) -> None:
    event_id = improvement(client)
    form = {"event": event_id, "list": f"/events/{event_id}", "author": "Ada"}
    assert "Grace: " not in read(client, f"/events/{event_id}")
    answer = client.post("/events/triage", data=form | {"action": "assign", "assignee": "Grace"}, headers=HERE)
    assert answer.location == f"/events/{event_id}"
    text = read(client, answer.location)
    assert "1 event assigned." in text
    assert "Grace: " in text
    answer = client.post("/events/triage", data=form | {"action": "silence"}, headers=HERE)
    assert answer.status_code == 422
    assert "Reason and until are required to silence" in answer.text
    assert f'action="/events/{event_id}/decide"' in answer.text, "the page of the event, not the list"
    client.post("/events/triage", data=form | {"action": "silence", "reason": "noisy"}, headers=HERE)
    assert "silenced" in read(client, f"/events/{event_id}")


def test_each_silence_is_on_a_page_of_the_list(client: FlaskClient) -> None:
    body = {"host": "*", "metric": "*", "author": "Ada", "reason": "a migration", "until": "2100-01-01T00:00:00Z"}
    for number in range(201):
        body |= {"subject": f"project-{number}", "case": "*"}
        assert client.post("/api/v1/silences", json=body, headers=HERE).status_code == 201
    newest, oldest = (client.get(address).text for address in ("/silences", "/silences?offset=200"))
    assert "project-200" in newest
    assert "/silences?offset=200" in newest
    assert "project-0" in oldest
    assert "project-0" not in newest
    assert "There are no more entries." in read(client, "/silences?offset=400")


def test_events_are_listed_by_state_and_an_unknown_one_is_a_page(client: FlaskClient, empty: FlaskClient) -> None:
    assert "4 open events" in read(client, "/events")
    assert "4 events" in read(client, "/events?state=all")
    assert "No expected events" in read(client, "/events?state=expected")
    assert "Nothing is waiting for a decision." in read(empty, "/events")
    assert "Nothing is silenced." in read(empty, "/silences")
    assert len(client.get("/events.csv").text.splitlines()) == 5
    assert client.get("/events/none").status_code == 404
    assert client.post("/events/none/decide", data={"action": "acknowledge", "author": "A"}).status_code == 404


@pytest.mark.parametrize(
    ("path", "title"), [("/nothing", "Page not found"), ("/events?state=odd", "A value is not valid")]
)
def test_the_page_of_an_error_is_titled_in_plain_words(client: FlaskClient, path: str, title: str) -> None:
    text = client.get(path, headers={"Accept": "text/html"}).text
    assert f"<h1>{title}</h1>" in text
    assert "Go to the inbox" in text


def test_a_fix_names_the_event_that_it_undid(tmp_path: Path) -> None:
    """The list asks to accept its level; the page says that this is the former one."""
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*reports.proven(100, 150, 150, 100))
        undone, fix = sorted(
            client.get("/events.json?state=all").json["items"], key=lambda entry: entry["direction"], reverse=True
        )
        detail = client.get(f"/api/v1/events/{fix['id']}").json
        text = read(client, f"/events/{fix['id']}")
        assert "It fixed" not in read(client, f"/events/{undone['id']}")
    assert (undone["direction"], undone["state"]) == ("regression", "fixed")
    assert detail["fixed_events"] == [{"id": undone["id"], "headline": undone["headline"]}]
    assert f"It fixed {undone['headline']}" in text
