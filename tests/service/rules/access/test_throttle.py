"""How long somebody who guesses has to wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.access.throttle import WINDOW, count_seconds_to_wait, normalise_address

NOW = datetime(2025, 1, 1, tzinfo=UTC)


@given(st.lists(st.integers(0, 2_000_000), max_size=30), st.integers(1, 10))
def test_after_the_wait_another_attempt_is_allowed_and_before_it_none(ages: list[int], most: int) -> None:
    failures = [NOW - timedelta(milliseconds=age) for age in ages]
    wait = count_seconds_to_wait(failures, most, NOW)
    recent = sum(at > NOW - WINDOW for at in failures)
    assert bool(wait) == (recent >= most)
    assert wait <= WINDOW.total_seconds()
    assert count_seconds_to_wait(failures, most, NOW + timedelta(seconds=wait)) == 0
    if wait > 1:
        assert count_seconds_to_wait(failures, most, NOW + timedelta(seconds=wait - 1)) > 0


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("<script>", "unknown"),
        ("", "unknown"),
    ],
)
def test_who_has_many_addresses_counts_once(address: str, counted: str) -> None:
    assert normalise_address(address) == counted
