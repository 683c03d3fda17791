from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.visit import MIN_PAUSE, STORED_PRECISION, Visit, find_visit_at

FRIDAY = datetime(2026, 11, 20, 17, 2, tzinfo=UTC)
MONDAY = datetime(2026, 11, 23, 9, tzinfo=UTC)


def test_on_monday_everything_since_friday_is_listed_and_stays_when_the_page_is_loaded_again() -> None:
    visit = find_visit_at(Visit(None, FRIDAY), MONDAY)
    assert visit.since == FRIDAY
    for minutes in (1, 20, 45, 70):
        visit = find_visit_at(visit, MONDAY + timedelta(minutes=minutes))
        assert visit.since == FRIDAY


def test_who_comes_back_later_sees_what_was_found_since_the_visit_before() -> None:
    visit = find_visit_at(Visit(FRIDAY, MONDAY), MONDAY + MIN_PAUSE)
    assert visit == Visit(MONDAY, MONDAY + MIN_PAUSE)


@given(st.lists(st.integers(0, 5_000), min_size=1), st.integers(0, 5_000))
def test_nothing_found_between_two_visits_is_left_out(steps: list[int], found_after: int) -> None:
    """Whatever is found after a reader's last request is listed at the next one."""
    now, visit = FRIDAY, find_visit_at(None, FRIDAY)
    for minutes in steps:
        now += timedelta(minutes=minutes)
        visit = find_visit_at(visit, now)
    found = now + timedelta(minutes=found_after)
    then = find_visit_at(visit, found + timedelta(minutes=1))
    assert then.since is None or then.since <= found
    assert timedelta(0) <= now - visit.seen_at < STORED_PRECISION


def test_a_request_just_after_another_writes_nothing() -> None:
    visit = Visit(None, FRIDAY)
    assert find_visit_at(visit, FRIDAY + STORED_PRECISION / 2) is visit
