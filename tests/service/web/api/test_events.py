"""The life of an event, through the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import select, update

from runner.contract import Case, Report
from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.pipeline import update_events
from service.store.engine.database import Database
from service.store.models import DriftRow, Subject, Token
from service.store.tokens import generate_token
from service.web import app_resources
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import CASE, JEMALLOC, OTHER_CASE, commit

CASES = tuple(Case(workload="copy", definition="0123456789abcdef", parameters={"mib": n}) for n in range(1, 6))


def step(*levels: int, cases: tuple[Case, ...] = (CASE,), first: int = 1) -> list[Report]:
    """Reports of successive commits with these counts, of each case, each run so often that a change is certain."""
    sent = [
        run
        for number, level in enumerate(levels, start=first)
        for case in cases
        for run in reports.repeated(number, level, level, times=6, case=case)
    ]
    return sorted(sent, key=lambda run: run.started_at)


def take_in(api: Api, *sent: Report) -> None:
    answer = api.client.post("/api/v1/runs", json={"reports": [report.model_dump(mode="json") for report in sent]})
    assert answer.status_code == 200, answer.text


def events(api: Api, **query: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = api.get("/events", **query)["items"]
    return items


def decide(api: Api, event: str, action: str, status: int = 201, **told: Any) -> dict[str, Any]:
    answer = api.client.post(f"/api/v1/events/{event}/decisions", json={"action": action, "author": "Ada"} | told)
    assert answer.status_code == status, answer.text
    made: dict[str, Any] = answer.json
    return made


def state(api: Api, event: str) -> str:
    return str(api.get(f"/events/{event}")["state"])


def test_one_commit_in_five_cases_is_one_event(api: Api) -> None:
    take_in(api, *step(100, 100, 150, cases=CASES))
    (event,) = events(api)
    assert (event["cause"], event["state"], event["n_series"], event["revision"]) == ("commit", "new", 5, commit(3))
    assert event["headline"] == "+50 minor faults (+50 %) in copy[mib=1] and 4 more drifts"
    detail = api.get(f"/events/{event['id']}")
    assert sorted(drift["case"] for drift in detail["drifts"]) == sorted(case.name for case in CASES)
    assert detail["allowed"] == ["acknowledge", "expect", "fix", "dismiss"]
    assert [candidate["commit"] for candidate in detail["candidates"]] == [commit(3)]


def test_a_configuration_change_in_all_cases_is_one_event_beside_that_of_a_commit(api: Api) -> None:
    moved = [reports.report(3, 70, 70, environment=JEMALLOC, case=case, at=9) for case in CASES]
    take_in(api, *step(100, 100, 150, cases=CASES), *moved)
    assert sorted(event["cause"] for event in events(api)) == ["commit", "config"]
    (event,) = events(api, cause="config")
    assert api.get(f"/events/{event['id']}")["settings"] == [
        {"name": "allocator", "before": "glibc", "after": "jemalloc"}
    ]


def test_events_are_filtered_and_paged(api: Api) -> None:
    take_in(api, *step(100, 150, 100, 170))
    first = events(api)[0]
    decide(api, first["id"], "acknowledge")
    assert [event["id"] for event in events(api, state="acknowledged")] == [first["id"]]
    assert len(events(api, subject="nobody")) == len(events(api, cause="config")) == 0
    assert len(events(api, case=reports.CASE.name[2:6].upper(), metric="minor-faults", min_series=1)) == len(
        events(api)
    )
    assert events(api, case="%") == events(api, metric="elapsed") == events(api, min_series=2) == []
    page = api.get("/events", limit=1, offset=1)
    assert (len(page["items"]), page["total"]) == (1, len(events(api)))
    assert api.client.get("/api/v1/events?state=nonsense").status_code == 422


@pytest.mark.parametrize("end_of_calendar", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_a_time_that_is_outside_the_calendar_in_utc_is_refused(api: Api, end_of_calendar: str) -> None:
    answer = api.client.get("/api/v1/events", query_string={"since": end_of_calendar})
    assert answer.status_code == 422, answer.text
    assert "since: " in answer.json["detail"]
    for path, asked in (
        ("/silences", {"case": "copy*", "reason": "a migration"}),
        ("/events/triage", {"events": ["0"], "action": "silence", "reason": "a migration"}),
        ("/events/triage", {"events": ["0"], "action": "snooze"}),
    ):
        answer = api.client.post(f"/api/v1{path}", json={**asked, "until": end_of_calendar, "author": "Ada"})
        assert answer.status_code == 422, answer.text
        assert "outside the calendar" in answer.json["detail"]


def test_every_decision_has_author_time_and_reason_and_stays_in_the_log(api: Api) -> None:
    take_in(api, *step(100, 150))
    (event,) = events(api)
    decide(api, event["id"], "acknowledge")
    decide(api, event["id"], "dismiss", author="Bo", reason="the host was busy")
    decide(api, event["id"], "reopen", reason="it was not")
    log = api.get(f"/events/{event['id']}/decisions")["items"]
    assert [(entry["action"], entry["author"], entry["reason"]) for entry in log] == [
        ("acknowledge", "Ada", ""),
        ("dismiss", "Bo", "the host was busy"),
        ("reopen", "Ada", "it was not"),
    ]
    assert all(datetime.fromisoformat(entry["at"]) <= datetime.now(UTC) for entry in log)
    assert events(api)[0]["last_decision"]["action"] == "reopen"
    assert state(api, event["id"]) == "reopened"


@pytest.mark.parametrize(
    ("told", "status", "said"),
    [
        ({"action": "reopen", "reason": "x"}, 409, "while the event is new; allowed: acknowledge, expect"),
        ({"action": "expect"}, 422, "reason is required"),
        ({"action": "expect", "reason": "  "}, 422, "reason is required"),
        ({"action": "fix"}, 422, "commit is required"),
        ({"action": "dismiss", "reason": "x", "commit": commit(2)}, 422, "commit is allowed only with fix"),
        ({"action": "forget"}, 422, "action"),
        ({"action": "acknowledge", "author": " "}, 422, "author"),
        ({"action": "acknowledge", "author": "a\nb"}, 422, "author"),
    ],
)
def test_a_decision_that_cannot_be_is_refused_with_the_reason(
    api: Api, told: dict[str, str], status: int, said: str
) -> None:
    take_in(api, *step(100, 150))
    (event,) = events(api)
    assert said in decide(api, event["id"], status=status, **told)["detail"]
    assert api.get(f"/events/{event['id']}/decisions")["items"] == []


def test_a_fix_is_found_by_itself_and_a_return_reopens_it(api: Api) -> None:
    take_in(api, *step(100, 150, 150, 100, cases=CASES))
    regression = events(api)[-1]
    assert regression["state"] == "fixed"
    assert regression["last_decision"]["commit"] == commit(4)
    assert regression["last_decision"]["by_service"] is True
    take_in(api, *step(150, cases=CASES[:2], first=5))
    assert state(api, regression["id"]) == "reopened"
    assert len(events(api)) == 2
    returned = [drift for drift in api.get(f"/events/{regression['id']}")["drifts"] if drift["returned"]]
    assert {drift["revision"] for drift in returned} == {commit(5)}


def test_an_expected_level_is_the_one_that_later_drifts_are_measured_from(api: Api) -> None:
    climb = [100, 101, 102, 103, 104, 105, 106, 107]
    take_in(api, *step(100, 100, 100, 150, 150))
    (event,) = events(api)
    decide(api, event["id"], "expect", reason="more buffers")
    assert state(api, event["id"]) == "expected"
    (drift,) = api.drifts()
    assert (drift["rule"], drift["before"], drift["after"], drift["revision"]) == ("expected", 100, 150, commit(4))
    take_in(api, *step(*(50 + level for level in climb), first=6))
    assert api.drifts()[-1]["rule"] == "expected"
    assert min(drift["before"] for drift in api.drifts()[:-1]) >= 150
    decide(api, event["id"], "reopen", reason="not that many")
    assert "expected" not in {drift["rule"] for drift in api.drifts()}
    assert state(api, event["id"]) == "reopened"


def test_what_was_decided_survives_a_backfill_that_blames_another_commit(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4)
    take_in(api, *step(100), *step(150, first=4))
    (event,) = events(api)
    decide(api, event["id"], "expect", reason="more buffers")
    before = api.drifts()
    take_in(api, *reports.repeated(2, 150, 150, times=6, at=9), *reports.repeated(3, 150, 150, times=6, at=10))
    assert [drift["id"] for drift in api.drifts()] != [drift["id"] for drift in before]
    (after,) = events(api)
    assert (after["id"], after["state"], after["revision"]) == (event["id"], "expected", commit(2))
    assert api.get(f"/events/{event['id']}/decisions")["total"] == 1


def test_what_was_decided_about_both_holds_for_the_parts_it_is_split_into(api: Api) -> None:
    take_in(api, *step(100, 100), *[reports.report(3, 180, 180, environment=JEMALLOC, at=3)])
    (both,) = events(api)
    assert both["cause"] == "both"
    decide(api, both["id"], "acknowledge", author="Bo")
    take_in(api, reports.report(2, 160, 160, environment=JEMALLOC, at=9))
    parts = events(api)
    assert sorted(part["cause"] for part in parts) == ["commit", "config"]
    assert {part["state"] for part in parts} == {"acknowledged"}
    logs = [api.get(f"/events/{part['id']}/decisions")["items"] for part in parts]
    assert [[entry["author"] for entry in log] for log in logs] == [["Bo"], ["Bo"]]
    assert sorted(log[0]["carried_from"] or "" for log in logs) == ["", both["id"]]
    for part in parts:
        (cross_measurement,) = api.get(f"/events/{part['id']}")["cross_measurements"]
        assert cross_measurement["status"] == "settled"
        assert cross_measurement["split"] == {"commit": 20, "config": 60, "interaction": None}


def test_an_event_that_ended_in_another_one_says_so_and_its_log_goes_on_there(api: Api, app: APIFlask) -> None:
    take_in(api, *step(100, 150), *step(100, 100, 100, 150, cases=(OTHER_CASE,)))
    later, earlier = events(api)
    decide(api, later["id"], "acknowledge", author="Bo")
    with app.app_context(), app_resources.get_database().writing() as session:
        for row in session.scalars(select(DriftRow)):  # as where it becomes uncertain which commit it was
            candidates = [{"commit": commit(number), "title": "", "author": ""} for number in (2, 3, 4)]
            row.document, row.event_id = row.document | {"candidates": candidates}, None
        session.execute(update(Subject).values(drifts_version=Subject.drifts_version + 1))
    with app.app_context():
        update_events.update_events(app_resources.get_database())
    (kept,) = events(api)
    ended = ({earlier["id"], later["id"]} - {kept["id"]}).pop()
    assert (kept["n_series"], kept["state"]) == (2, "acknowledged")
    assert api.get(f"/events/{ended}")["merged_into"] == kept["id"]
    assert kept["id"] in decide(api, ended, "acknowledge", status=409)["detail"]
    assert [entry["author"] for entry in api.get(f"/events/{kept['id']}/decisions")["items"]] == ["Bo"]


def test_another_definition_of_a_workload_starts_a_new_series_without_an_alarm(api: Api) -> None:
    changed = Case(workload=CASE.workload, definition="fedcba9876543210", parameters=CASE.parameters)
    take_in(api, *step(100, 100, 100))
    take_in(api, *step(900, 900, cases=(changed,), first=4))
    assert (api.drifts(), events(api)) == ([], [])
    assert sorted(entry["n_points"] for entry in api.get("/series")["items"]) == [12, 18]


def test_silenced_drifts_are_listed_as_such(api: Api) -> None:
    take_in(api, *step(100, 150, cases=CASES))
    until = datetime.now(UTC) + timedelta(days=1)
    asked = {"case": "copy[*]", "metric": "minor-*", "until": until.isoformat(), "author": "Ada", "reason": "known"}
    answer = api.client.post("/api/v1/silences", json=asked)
    assert answer.status_code == 201, answer.text
    assert api.client.get(answer.headers["Location"]).json == answer.json
    (event,) = events(api)
    assert event["silenced"] is True
    assert all(drift["silenced_until"] for drift in api.get(f"/events/{event['id']}")["drifts"])
    number = answer.json["id"]
    ended = api.client.delete(f"/api/v1/silences/{number}", query_string={"author": "Bo"})
    assert (ended.json["ended_by"], ended.json["active"]) == ("Bo", False)
    assert events(api)[0]["silenced"] is False
    assert [entry["id"] for entry in api.get("/silences")["items"]] == [number]
    assert api.get("/silences", active=True)["items"] == []


def test_one_series_can_be_silenced(api: Api) -> None:
    take_in(api, *step(100, 150, cases=CASES[:2]))
    series = api.drifts()[0]["series_id"]
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    made = api.client.post(
        "/api/v1/silences", json={"series_id": series, "until": until, "author": "Ada", "reason": "known"}
    )
    assert (made.json["case"], made.json["metric"]) == (api.drifts()[0]["case"], "minor-faults")
    (event,) = events(api)
    assert event["silenced"] is False
    told = api.get(f"/events/{event['id']}")["drifts"]
    assert [drift["series_id"] for drift in told if drift["silenced_until"]] == [series]


def test_a_silence_of_one_series_whose_name_contains_an_asterisk_covers_no_other(api: Api) -> None:
    cases = tuple(CASE.model_copy(update={"parameters": {"files": files}}) for files in ("*", "one"))
    take_in(api, *step(100, 150, cases=cases))
    (series,) = (drift["series_id"] for drift in api.drifts() if "*" in drift["case"])
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    asked = {"series_id": series, "until": until, "author": "Ada", "reason": "known"}
    assert api.client.post("/api/v1/silences", json=asked).json["case"] == r"copy[files=\*]"
    (event,) = events(api)
    told = api.get(f"/events/{event['id']}")["drifts"]
    assert [drift["series_id"] for drift in told if drift["silenced_until"]] == [series]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "pass a `series_id`"),
        ({"case": "**"}, "pass a `series_id`"),
        ({"series_id": 1, "case": "copy*"}, "not both"),
        ({"series_id": 99}, "there is no series 99"),
        ({"case": "copy*", "reason": ""}, "reason is required"),
        ({"case": "copy*", "until": "2020-01-01T00:00:00Z"}, "must be in the future"),
        ({"case": "copy*", "until": "2120-01-01T00:00:00"}, "until"),
    ],
)
def test_a_silence_that_says_too_little_is_refused(api: Api, changes: dict[str, Any], said: str) -> None:
    asked = {"until": "2120-01-01T00:00:00Z", "author": "Ada", "reason": "known"} | changes
    answer = api.client.post("/api/v1/silences", json=asked)
    assert answer.status_code == 422
    assert said in answer.json["detail"]


def test_what_is_not_there(api: Api) -> None:
    assert api.client.get("/api/v1/events/nothing").status_code == 404
    assert api.client.get("/api/v1/events/nothing/decisions").status_code == 404
    decide(api, "nothing", "acknowledge", status=404)
    assert api.client.delete("/api/v1/silences/9?author=Ada").status_code == 404
    assert api.client.get("/api/v1/silences/9").status_code == 404


def test_the_same_history_gives_the_same_events_in_one_batch_or_many(tmp_path: Path) -> None:
    sent = step(100, 150, 150, 100, 150, cases=CASES[:2])
    told = []
    for name, batches in (("one", [sent]), ("many", [[report] for report in sent])):
        api = Api(create_app(Config.from_environment({"FAULTWATCH_HOME": str(tmp_path / name)})).test_client())
        for batch in batches:
            take_in(api, *batch)
        told.append([(event["headline"], event["state"], event["n_drifts"]) for event in events(api)])
    assert told[0] == told[1]
    assert told[0] == [
        ("+50 minor faults (+50 %) in copy[mib=1] and 1 more drift", "reopened", 4),
        ("−50 minor faults (−33.3 %) in copy[mib=1] and 1 more drift", "new", 2),
    ]


def test_with_tokens_nobody_decides_in_anothers_name(config: Config, database: Database) -> None:
    client = create_app(config.copy_with_values(access=Access.TOKENS)).test_client()
    shown, now = generate_token(), datetime.now(UTC)
    with database.writing() as session:
        scopes = ["report", "triage", "read"]
        days = timedelta(days=1)
        session.add(
            Token(id=shown.id, name="bo", digest=shown.digest, scopes=scopes, created_at=now, expires_at=now + days)
        )
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {shown.text}"
    api = Api(client)
    take_in(api, *step(100, 150))
    (event,) = events(api)
    assert "author: is set by the token (bo)" in decide(api, event["id"], "acknowledge", status=422)["detail"]
    assert decide(api, event["id"], "acknowledge", author=None)["author"] == "bo"
    silenced = {"case": "copy*", "until": (now + days).isoformat(), "reason": "known"}
    assert client.post("/api/v1/silences", json=silenced).json["author"] == "bo"
