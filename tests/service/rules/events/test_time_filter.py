from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.time_filter import DAYS, describe_since, parse_since

MONDAY = datetime(2026, 11, 23, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("friday", datetime(2026, 11, 20, tzinfo=UTC)),
        ("Monday", datetime(2026, 11, 16, tzinfo=UTC)),
        ("7d", datetime(2026, 11, 16, 9, 30, tzinfo=UTC)),
        ("36h", datetime(2026, 11, 21, 21, 30, tzinfo=UTC)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T17:02:00+01:00", datetime(2026, 11, 20, 16, 2, tzinfo=UTC)),
    ],
)
def test_a_text_stands_for_a_time(text: str, begins: datetime) -> None:
    assert parse_since(text, MONDAY) == begins


@pytest.mark.parametrize("text", ["", "yesterday", "7y", "2026-13-01", "-1d", "99999d"])
def test_what_is_no_time_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(ValueError, match="is not a date: write 2026-11-20, friday or 7d"):
        parse_since(text, MONDAY)


@given(st.sampled_from(DAYS), st.datetimes(timezones=st.just(UTC), min_value=datetime(2000, 1, 1)))
def test_a_day_of_the_week_is_the_last_one_before_today(day: str, now: datetime) -> None:
    begins = parse_since(day, now)
    assert begins.strftime("%A").lower() == day
    assert 1 <= (now.date() - begins.date()).days <= 7


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert parse_since(text, MONDAY).tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("visit", "since your last visit"),
        ("7d", "in the last 7 days"),
        ("24h", "in the last 24 hours"),
        ("1w", "in the last week"),
        ("friday", "since Friday"),
        ("2026-11-20", "since 2026-11-20"),
    ],
)
def test_a_sentence_says_since_when(text: str, said: str) -> None:
    assert describe_since(text) == said
