from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.config.notifications import ChannelSettings, QuietHours
from service.rules.delivery_schedule import (
    MAX_SINGLE,
    MAX_WAIT,
    choose_wait,
    find_due_time_of_digest,
    group_events_into_messages,
    is_quiet,
    may_send,
)

NIGHT = {"from": "22:00", "to": "07:00"}


def channel(**settings: Any) -> ChannelSettings:
    return ChannelSettings.model_validate({"name": "c", "zone": "Europe/Berlin"} | settings)


@pytest.mark.parametrize(
    ("moment", "sends"),
    [
        ("2025-06-01T19:59Z", True),  # 21:59 in Berlin, in summer
        ("2025-06-01T20:00Z", False),
        ("2025-06-02T04:59Z", False),
        ("2025-06-02T05:00Z", True),
        ("2025-01-01T20:30Z", True),  # 21:30, in winter
        ("2025-01-01T21:00Z", False),
    ],
)
def test_quiet_hours_go_over_midnight_in_their_own_zone(moment: str, sends: bool) -> None:
    assert may_send(channel(quiet=NIGHT), datetime.fromisoformat(moment), None) is sends


def test_a_digest_is_due_once_a_day() -> None:
    daily = channel(digest="08:00")
    morning = datetime(2025, 6, 2, 6, tzinfo=UTC)
    assert find_due_time_of_digest(daily, morning) == morning
    assert find_due_time_of_digest(daily, morning - timedelta(seconds=1)) == morning - timedelta(days=1)
    assert not may_send(daily, morning - timedelta(seconds=1), morning - timedelta(days=1))
    assert may_send(daily, morning, morning - timedelta(days=1))
    assert not may_send(daily, morning + timedelta(hours=5), morning)


def test_a_weekly_digest_is_due_on_its_day_alone() -> None:
    weekly = channel(digest="08:00", digest_day="monday")
    monday = datetime(2025, 6, 2, 6, tzinfo=UTC)
    for hours in range(7 * 24):
        assert find_due_time_of_digest(weekly, monday + timedelta(hours=hours)) == monday
    assert find_due_time_of_digest(weekly, monday - timedelta(seconds=1)) == monday - timedelta(days=7)
    assert not may_send(weekly, monday + timedelta(days=3), monday)
    assert may_send(weekly, monday + timedelta(days=7), monday)


def test_a_digest_does_not_come_twice_or_never_when_the_clocks_change() -> None:
    early = channel(digest="02:30")
    for change in (datetime(2025, 3, 30, tzinfo=UTC), datetime(2025, 10, 26, tzinfo=UTC)):
        start = change - timedelta(days=1)
        dues = {find_due_time_of_digest(early, start + timedelta(minutes=10 * step)) for step in range(6 * 72)}
        assert len(dues) in {3, 4}
        assert all(
            timedelta(hours=23) <= later - sooner <= timedelta(hours=25)
            for sooner, later in zip(sorted(dues), sorted(dues)[1:], strict=False)
        )


@given(st.times(), st.times(), st.datetimes())
def test_whoever_is_quiet_from_one_time_to_another_is_loud_the_other_way_round(
    start: time, end: time, moment: datetime
) -> None:
    if start != end:
        quiet = is_quiet(QuietHours.model_validate({"from": start, "to": end}), moment)
        assert quiet is not is_quiet(QuietHours.model_validate({"from": end, "to": start}), moment)


@given(st.integers(1, 10_000))
def test_the_wait_grows_up_to_a_limit(attempts: int) -> None:
    assert timedelta(minutes=1) <= choose_wait(attempts) <= choose_wait(attempts + 1) <= MAX_WAIT


@pytest.mark.parametrize(
    ("settings", "events", "messages"),
    [
        ({}, 0, 0),
        ({}, MAX_SINGLE, MAX_SINGLE),
        ({}, MAX_SINGLE + 1, 1),
        ({"quiet": NIGHT}, 1, 1),
        ({"quiet": NIGHT}, 2, 1),
        ({"digest": "08:00"}, 0, 0),
        ({"digest": "08:00"}, 2, 1),
    ],
)
def test_many_events_and_those_that_waited_share_a_message(
    settings: dict[str, Any], events: int, messages: int
) -> None:
    new = list(range(events))
    batches = group_events_into_messages(channel(**settings), new)
    assert len(batches) == messages
    assert [event for batch in batches for event in batch] == new
