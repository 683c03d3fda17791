"""Caches values that take long to compute from a database, until the version of the data changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast
from weakref import WeakKeyDictionary

from sqlalchemy import Engine
from sqlalchemy.orm import Session

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A cached value, the version of the data from which it was computed, and its number of items."""

    version: Hashable
    value: Any
    n_items: int
    computed_at: float


class VersionedCache(Generic[Value]):
    """The most recently requested values of each database.

    Parameters
    ----------
    max_items
        Maximum number of items in all values of a database. The newest value is always kept, however large it is.
    count_items
        Returns how many items a value has. An empty value counts as one item, so that their number is limited too.
    max_seconds
        Seconds after which a value is computed again even if the version is the same.
    """

    def __init__(self, max_items: int, count_items: Callable[[Value], int], max_seconds: float = float("inf")) -> None:
        self._max_items, self._count_items, self._max_seconds = max_items, count_items, max_seconds
        self._lock = threading.Lock()
        self._entries_by_engine: WeakKeyDictionary[Engine, OrderedDict[Hashable, _Entry]] = WeakKeyDictionary()

    def get_or_compute_value(
        self, session: Session, key: Hashable, version: Hashable, compute: Callable[[], Value]
    ) -> Value:
        """Return the value of a key; compute it unless it is cached for this version."""
        engine = session.get_bind()
        assert isinstance(engine, Engine)
        with self._lock:
            entries = self._entries_by_engine.setdefault(engine, OrderedDict())
            entry = entries.get(key)
            if (
                entry is not None
                and entry.version == version
                and time.monotonic() < entry.computed_at + self._max_seconds
            ):
                entries.move_to_end(key)
                return cast(Value, entry.value)
        value = compute()
        with self._lock:
            entries[key] = _Entry(version, value, max(1, self._count_items(value)), time.monotonic())
            entries.move_to_end(key)
            while len(entries) > 1 and sum(cached.n_items for cached in entries.values()) > self._max_items:
                entries.popitem(last=False)
        return value
