"""Events and what is decided about them, on every kind of database."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, inspect, select, update

from runner.contract import Case, Report
from runner.contract.mapped_files import ProgramFiles
from runner.contract.quarantine import Purpose
from service.config.notifications import NotificationSettings
from service.notify import notification_round
from service.pipeline import detect_suite_shifts, judging_schedule
from service.store.engine.database import Database
from service.store.events import deliveries
from service.store.models import Case as CaseRow
from service.store.models import EventDriftRow, Point, Revision, Run, Series
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import JEMALLOC, OTHER_CASE, commit

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)

SUITE = [Case(workload="suite", definition="0123456789abcdef", parameters={"n": n}) for n in range(40)]
NOBODY = NotificationSettings.model_validate(
    {"channel": [{"name": "chat", "kind": "webhook", "url": "http://127.0.0.1:9/nobody-listens"}]}
)


def take_in(api: Api, sent: list[Report]) -> None:
    answer = api.client.post("/api/v1/runs", json={"reports": [report.model_dump(mode="json") for report in sent]})
    assert answer.status_code == 200, answer.text


def events(api: Api, **query: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = api.get("/events", **query)["items"]
    return items


def test_the_life_of_events(api: Api, database: Database) -> None:
    notification_round.run_round(database, NOBODY, {}, datetime.now(UTC))
    levels = (100, 150, 150, 100, 150)
    both = (reports.CASE, OTHER_CASE)
    story = [run for case in both for run in reports.proven(*levels, case=case)]
    story += [run for case in both for run in reports.repeated(6, 70, 70, times=6, environment=JEMALLOC, case=case)]
    take_in(api, sorted(story, key=lambda run: run.started_at))
    assert [(event["cause"], event["state"]) for event in events(api)] == [
        ("both", "new"),
        ("commit", "fixed"),
        ("commit", "new"),
    ]
    (dual,) = events(api, cause="both")
    told = {"action": "expect", "author": "Ada", "reason": "another allocator"}
    assert api.client.post(f"/api/v1/events/{dual['id']}/decisions", json=told).status_code == 201
    for case in both:
        take_in(api, reports.repeated(5, 60, 60, times=6, environment=JEMALLOC, case=case, at=9))
    parts = [event for event in events(api) if event["state"] == "expected"]
    assert sorted(part["cause"] for part in parts) == ["commit", "config"]
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    silence = {"case": OTHER_CASE.name, "until": until, "author": "Ada", "reason": "known"}
    assert api.client.post("/api/v1/silences", json=silence).status_code == 201
    assert {event["silenced"] for event in events(api)} == {False}
    outcome = notification_round.run_round(database, NOBODY, {}, datetime.now(UTC))
    assert (outcome.n_sent, len(outcome.failures)) == (0, 1)
    with database.writing() as session:
        assert len(deliveries.claim_due_messages(session, "chat", datetime.now(UTC) + timedelta(days=1))) == 1
        assert deliveries.claim_due_messages(session, "chat", datetime.now(UTC) + timedelta(days=1)) == []


def suite(number: int, chance: random.Random, shift: int = 0) -> list[Report]:
    """A run of the whole suite in ±2 jitter, with one sample a case."""
    return [
        reports.report(number, 1000 + 37 * place + chance.randint(-2, 2) + shift, case=case)
        for place, case in enumerate(SUITE)
    ]


def test_a_shift_of_a_whole_suite_is_one_event_found_from_one_run(api: Api, database: Database) -> None:
    chance = random.Random(7)
    take_in(api, [report for number in range(1, 13) for report in suite(number, chance)])
    detect_suite_shifts.detect_shifts(database)
    quiet = [event for event in events(api) if event["confirmed"]]
    sent = suite(13, chance, shift=2)
    take_in(api, sent[:39])
    detect_suite_shifts.detect_shifts(database)
    assert [event for event in events(api) if event["confirmed"]] == quiet
    take_in(api, sent[39:])
    detect_suite_shifts.detect_shifts(database)
    detect_suite_shifts.detect_shifts(database)
    (event,) = [event for event in events(api) if event["confirmed"] and event["revision"] == commit(13)]
    assert (event["cause"], event["direction"]) == ("commit", "regression")
    whole = [drift for drift in api.get(f"/events/{event['id']}")["drifts"] if drift["series_id"] is None]
    assert [round(drift["change"]) for drift in whole] == [2]


@pytest.mark.parametrize("unchanged", [0, 1])
def test_a_commit_that_changed_some_programs_of_a_suite_can_have_shifted_it(
    api: Api, database: Database, unchanged: int
) -> None:
    def with_files(sent: list[Report]) -> list[Report]:
        """Give every second case the same program at all commits, and the others another one at each."""
        numbers = [int(run.revision.commit, 16) if place % 2 == unchanged else 0 for place, run in enumerate(sent)]
        files = [ProgramFiles(own_bytes=f"{number:016x}", system_bytes="5" * 16) for number in numbers]
        return [run.model_copy(update={"files": own}) for run, own in zip(sent, files, strict=True)]

    chance = random.Random(7)
    take_in(api, [report for number in range(1, 13) for report in with_files(suite(number, chance))])
    detect_suite_shifts.detect_shifts(database)
    take_in(api, with_files(suite(13, chance, shift=2)))
    detect_suite_shifts.detect_shifts(database)
    shifts = [event for event in events(api) if event["confirmed"] and event["revision"] == commit(13)]
    assert [event["cause"] for event in shifts] == ["commit"]


def test_a_suite_shifts_although_a_search_measured_a_commit_in_between(api: Api, database: Database) -> None:
    chance = random.Random(7)
    take_in(api, [report for number in range(1, 13) for report in suite(number, chance)])
    detect_suite_shifts.detect_shifts(database)
    take_in(api, [reports.report(13, 1000, case=SUITE[0], purpose=Purpose.BISECT)])
    take_in(api, suite(14, chance, shift=2))
    detect_suite_shifts.detect_shifts(database)
    assert [event["cause"] for event in events(api) if event["confirmed"] and event["revision"] == commit(14)]


def test_a_suite_is_checked_for_a_shift_once_all_its_series_are_judged(api: Api, database: Database) -> None:
    chance = random.Random(7)
    take_in(api, [report for number in range(1, 13) for report in suite(number, chance)])
    detect_suite_shifts.detect_shifts(database)
    take_in(api, suite(13, chance, shift=2))
    with database.writing() as session:
        session.execute(update(Series).values(version=Series.version + 1))
    detect_suite_shifts.detect_shifts(database)
    assert not [event for event in events(api) if event["confirmed"] and event["revision"] == commit(13)]
    judging_schedule.judge_stale_series(database)
    detect_suite_shifts.detect_shifts(database)
    assert [event["cause"] for event in events(api) if event["confirmed"] and event["revision"] == commit(13)]


def test_a_drift_that_was_withdrawn_before_an_event_is_declared_expected_becomes_no_baseline(
    api: Api, database: Database
) -> None:
    levels = [100] * 4 + [150] * 4
    take_in(
        api,
        [
            run
            for number, level in enumerate(levels, start=1)
            for case in (reports.CASE, OTHER_CASE)
            for run in reports.repeated(number, level if case is reports.CASE else 100, times=3, case=case)
        ],
    )
    (event,) = events(api)
    with database.writing() as session:
        # The other case once seemed to have a step at its second commit.
        (other,) = session.scalars(select(Series.id).join(Series.case).where(CaseRow.name == OTHER_CASE.name))
        (second,) = session.scalars(
            select(Run.id)
            .join(Run.revision)
            .join(Run.case)
            .where(Revision.commit == commit(2), CaseRow.name == OTHER_CASE.name)
            .limit(1)
        )
        (row,) = session.scalars(select(EventDriftRow))
        columns = {column.key: getattr(row, column.key) for column in inspect(EventDriftRow).column_attrs}
        columns |= {"drift_id": "0" * 16, "series_id": other, "run_after": second, "still_detected": False}
        session.add(EventDriftRow(**columns))
    told = {"action": "expect", "author": "Ada", "reason": "known"}
    assert api.client.post(f"/api/v1/events/{event['id']}/decisions", json=told).status_code == 201
    judging_schedule.judge_or_defer_series(database)
    (drift,) = api.get("/drifts")["items"]
    assert (drift["rule"], drift["case"]) == ("expected", reports.CASE.name)


def test_an_expected_event_that_is_merged_into_a_dismissed_one_is_no_baseline(api: Api, database: Database) -> None:
    sent: list[Report] = []
    for number in range(1, 6):
        for case, first_high in ((reports.CASE, 3), (OTHER_CASE, 4)):
            level = 150 if number >= first_high else 100
            sent += reports.repeated(number, level, level, times=6, case=case)
    take_in(api, sorted(sent, key=lambda run: run.started_at))
    event_at = {event["revision"]: event["id"] for event in events(api)}
    for number, action in ((4, "expect"), (3, "dismiss")):
        told = {"action": action, "author": "Ada", "reason": "known"}
        assert api.client.post(f"/api/v1/events/{event_at[commit(number)]}/decisions", json=told).status_code == 201
    judging_schedule.judge_stale_series(database)
    assert {drift["rule"] for drift in api.get("/drifts")["items"]} == {"exact", "expected"}
    # Without the runs at the commit between the two steps, the later step can be due to the same commit as the first.
    with database.writing() as session:
        (late,) = session.scalars(select(Series.id).join(Series.case).where(CaseRow.name == OTHER_CASE.name))
        at_third = select(Run.number).join(Run.revision).where(Revision.commit == commit(3))
        session.execute(delete(Point).where(Point.series_id == late, Point.run_number.in_(at_third)))
        session.execute(update(Series).values(version=Series.version + 1))
    judging_schedule.judge_or_defer_series(database)
    (event,) = events(api)
    assert (event["state"], event["n_drifts"]) == ("false_alarm", 2)
    assert {drift["rule"] for drift in api.get("/drifts")["items"]} == {"exact"}


def test_the_date_of_an_event_is_that_of_the_commit_that_it_names(api: Api) -> None:
    levels = {number: 1000 if number < 3 else 1900 for number in range(1, 6)}
    story = [run for number, level in levels.items() for run in reports.repeated(number, level, level, times=6)]
    # The other case was not measured at the commit, so a later commit could have caused its smaller step as well.
    story += [
        run
        for number, level in levels.items()
        if number != 3
        for run in reports.repeated(number, 5 * level, 5 * level - level, times=6, case=OTHER_CASE)
    ]
    take_in(api, story)
    (event,) = events(api)
    assert (event["n_drifts"], event["revision"]) == (2, commit(3))
    (of_commit,) = (found for found in api.get("/drifts")["items"] if found["revision"] == commit(3))
    assert event["committed_at"] == of_commit["committed_at"]
