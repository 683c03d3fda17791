"""Values are computed once for each version of the data, and the least recently requested ones are forgotten."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from service.store.engine import versioned_cache
from service.store.engine.versioned_cache import VersionedCache


class Computed:
    """Computes texts, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, text: str) -> Callable[[], str]:
        def compute() -> str:
            self.times += 1
            return text

        return compute


def test_a_value_is_computed_once_for_each_version() -> None:
    cache, computed = VersionedCache[str](100, len), Computed()
    with Session(create_engine("sqlite://")) as session:
        assert [cache.get_or_compute_value(session, "key", 1, computed("one")) for _ in range(3)] == ["one"] * 3
        assert computed.times == 1
        assert cache.get_or_compute_value(session, "key", 2, computed("two")) == "two"
        assert cache.get_or_compute_value(session, "key", 1, computed("old")) == "old"


def test_empty_values_are_forgotten_too() -> None:
    cache, computed = VersionedCache[str](3, len), Computed()
    with Session(create_engine("sqlite://")) as session:
        for number in range(10):
            cache.get_or_compute_value(session, f"key {number}", 1, computed(""))
        cache.get_or_compute_value(session, "key 9", 1, computed(""))
        assert computed.times == 10
        cache.get_or_compute_value(session, "key 0", 1, computed(""))
        assert computed.times == 11


def test_each_database_has_values_of_its_own() -> None:
    cache, computed = VersionedCache[str](100, len), Computed()
    for text in ("one", "two"):
        with Session(create_engine("sqlite://")) as session:
            assert cache.get_or_compute_value(session, "key", 1, computed(text)) == text


def test_the_least_recently_requested_go_first_and_the_newest_stays() -> None:
    cache, computed = VersionedCache[str](5, len), Computed()
    with Session(create_engine("sqlite://")) as session:
        for key in ("aa", "bb", "aa", "cc"):
            cache.get_or_compute_value(session, key, 1, computed(key))
        assert computed.times == 3
        cache.get_or_compute_value(session, "aa", 1, computed("aa"))
        assert computed.times == 3
        cache.get_or_compute_value(session, "bb", 1, computed("bb"))
        assert computed.times == 4
        for _ in range(2):
            cache.get_or_compute_value(session, "larger than all", 1, computed("larger than all"))
        assert computed.times == 5


def test_a_value_that_fails_is_computed_again() -> None:
    cache, computed = VersionedCache[str](5, len), Computed()

    def fail() -> str:
        raise ValueError

    with Session(create_engine("sqlite://")) as session:
        with pytest.raises(ValueError):  # noqa: PT011 - it has no text
            cache.get_or_compute_value(session, "key", 1, fail)
        assert cache.get_or_compute_value(session, "key", 1, computed("one")) == "one"


def test_a_value_is_computed_again_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(versioned_cache.time, "monotonic", lambda: now)
    cache, computed = VersionedCache[str](5, len, max_seconds=60), Computed()
    with Session(create_engine("sqlite://")) as session:
        for now, times in ((1000.0, 1), (1059.0, 1), (1061.0, 2), (1062.0, 2)):  # noqa: B007 - the clock reads it
            cache.get_or_compute_value(session, "key", 1, computed("one"))
            assert computed.times == times
