"""What the list of events selects and in which order, and what a visit stores: on every database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from apiflask import APIFlask

from service.rules.access.scope import Scope
from service.rules.events.visit import Visit
from service.schemas.certainty import Certainty
from service.schemas.triage import EventDirection, EventOrder
from service.store import tokens
from service.store.engine.database import Database
from service.store.events import events
from service.store.events.events import EventFilter
from service.store.models import Token
from service.web import app_resources
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import CASE, OTHER_CASE

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def test_events_are_selected_ranked_and_marked(api: Api, app: APIFlask) -> None:
    database = _database(app)
    sent = [
        *reports.proven(100_000, 100_010, 150_000, 149_000),
        *reports.proven(200_000, 200_000, 260_000, 260_000, case=OTHER_CASE),
    ]
    body = {"reports": [run.model_dump(mode="json") for run in sent]}
    assert api.client.post("/api/v1/runs", json=body).status_code == 200

    def headlines(order: EventOrder = EventOrder.IMPORTANCE, **selected: object) -> list[str]:
        with database.reading() as session:
            page = events.list_page(session, EventFilter(**selected), 10, 0, order)  # type: ignore[arg-type]
            counts, ever = events.count_events(session, EventFilter(**selected))  # type: ignore[arg-type]
        assert page.total == len(page.items)
        assert counts.total + counts.snoozed + counts.below_floor >= page.total
        assert ever.total >= counts.total
        return [item.headline.split("\N{NO-BREAK SPACE}")[0].split(" ")[0] for item in page.items]

    ranked = headlines()
    assert len(ranked) == 3
    assert ranked[0].startswith("+")
    assert "10" in ranked[-1]
    assert headlines(EventOrder.SIZE) == ranked
    assert headlines(EventOrder.COMMITTED) != ranked
    assert len(headlines(direction=EventDirection.IMPROVEMENT)) == 1
    assert len(headlines(host="box", certainty=Certainty.SINGLE_COMMIT, subject="demo", assignee="")) == 3
    assert headlines(host="elsewhere") == headlines(since=datetime.now(UTC) + timedelta(days=1)) == []

    first, second, third = (item["id"] for item in api.get("/events", order="importance")["items"])
    until = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    for changes in (
        {"events": [first], "action": "snooze"},
        {"events": [second, "none"], "action": "snooze", "until": until},
        {"events": [third], "action": "assign", "assignee": "Grace"},
    ):
        answer = api.client.post("/api/v1/events/triage", json={"author": "Ada", **changes})
        assert answer.status_code == 200, answer.text
    assert len(headlines(snoozed=True)) == 2
    assert len(headlines(snoozed=False, assignee="Grace")) == 1
    with database.reading() as session:
        assert events.list_assignees(session) == ["Grace"]
    api.send(*reports.repeated(4, 260_000, times=1, at=50, case=OTHER_CASE))
    assert len(headlines(snoozed=True)) == 1, "one of the series of the first event was measured again"
    assert CASE != OTHER_CASE


def test_a_mixed_event_is_found_by_either_direction_and_counted_once(api: Api, app: APIFlask) -> None:
    api.send(
        *reports.proven(100_000, 100_000, 150_000, 150_000),
        *reports.proven(200_000, 200_000, 140_000, 140_000, case=OTHER_CASE),
    )
    with _database(app).reading() as session:
        (event,) = events.list_page(session, EventFilter(), 10, 0).items
        assert event.direction is EventDirection.MIXED
        assert event.headline.startswith("+50,000")
        for direction in EventDirection:
            event_filter = EventFilter(direction=direction)
            assert [item.id for item in events.list_page(session, event_filter, 10, 0).items] == [event.id]
            counts, _ = events.count_events(session, event_filter)
            assert (counts.total, counts.worse, counts.mixed, counts.better) == (1, 0, 1, 0)


def test_an_event_is_described_by_the_series_that_a_filter_selects(api: Api, app: APIFlask) -> None:
    api.send(
        *reports.proven(100_000, 100_000, 150_000, 150_000),
        *reports.proven(200_000, 200_000, 140_000, 140_000, case=OTHER_CASE),
    )

    def select(**selected: object) -> list[tuple[str, EventDirection, int]]:
        event_filter = EventFilter(**selected)  # type: ignore[arg-type]
        with _database(app).reading() as session:
            items = events.list_page(session, event_filter, 10, 0, EventOrder.SIZE).items
            counts, _ = events.count_events(session, event_filter)
        assert counts.total == len(items)
        n_worse = sum(item.direction is EventDirection.REGRESSION for item in items)
        assert (counts.worse, counts.better + counts.mixed) == (n_worse, len(items) - n_worse)
        return [(item.headline.partition(" ")[0], item.direction, item.n_series) for item in items]

    better = [("−60,000", EventDirection.IMPROVEMENT, 1)]
    assert select(case="mib=8") == select(case="mib=8", direction=EventDirection.IMPROVEMENT) == better
    assert select(case="mib=8", direction=EventDirection.REGRESSION) == []
    assert select(case="mib=8", direction=EventDirection.MIXED) == []
    assert select(case="mib=4") == [("+50,000", EventDirection.REGRESSION, 1)]
    assert select(host="box", direction=EventDirection.MIXED) == [("+50,000", EventDirection.MIXED, 2)]


def test_a_visit_is_stored_for_each_token(api: Api, app: APIFlask) -> None:
    del api
    database, now = _database(app), datetime.now(UTC)
    with database.writing() as session:
        session.add(
            Token(
                id="0123456789ab",
                name="ada",
                digest="0" * 64,
                scopes=[Scope.READ],
                created_at=now,
                expires_at=now + timedelta(days=1),
            )
        )
    for visit in (Visit(None, now), Visit(now, now + timedelta(hours=1))):
        with database.writing() as session:
            tokens.store_visit(session, "0123456789ab", visit)
        with database.reading() as session:
            assert tokens.find_visit(session, "0123456789ab") == visit
            assert tokens.find_visit(session, "another") is None


def _database(app: APIFlask) -> Database:
    with app.app_context():
        return app_resources.get_database()
