"""Caches values that take long to compute from a database, as long as the data have the same version."""

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
    version: Hashable
    value: Any
    size: int
    made_at: float


class VersionedCache(Generic[Value]):
    """The most recently requested values of each database.

    Parameters
    ----------
    max_size
        Most items of all values of a database together. The newest value stays, however large it is.
    size
        Returns how many items a value has.
    max_seconds
        Seconds after which a value is computed again even if the version is the same.
    """

    def __init__(self, max_size: int, size: Callable[[Value], int], max_seconds: float = float("inf")) -> None:
        self._max_size, self._size, self._max_seconds = max_size, size, max_seconds
        self._lock = threading.Lock()
        self._of_engine: WeakKeyDictionary[Engine, OrderedDict[Hashable, _Entry]] = WeakKeyDictionary()

    def find(self, session: Session, key: Hashable, version: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key; compute it unless the cache has it for this version."""
        engine = session.get_bind()
        assert isinstance(engine, Engine)
        with self._lock:
            entries = self._of_engine.setdefault(engine, OrderedDict())
            entry = entries.get(key)
            if entry is not None and entry.version == version and time.monotonic() < entry.made_at + self._max_seconds:
                entries.move_to_end(key)
                return cast(Value, entry.value)
        value = compute()
        with self._lock:
            entries[key] = _Entry(version, value, self._size(value), time.monotonic())
            entries.move_to_end(key)
            while len(entries) > 1 and sum(cached.size for cached in entries.values()) > self._max_size:
                entries.popitem(last=False)
        return value
