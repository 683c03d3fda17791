"""Keeps in memory what takes long to compute from a database, for as long as the data are of the same version."""

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
    """The values that were requested last, of each database.

    Parameters
    ----------
    most
        Most items of all values of a database together. The newest value stays, however large it is.
    size
        Returns how many items a value has.
    longest
        Seconds after which a value is computed again, though its version is the same.
    """

    def __init__(self, most: int, size: Callable[[Value], int], longest: float = float("inf")) -> None:
        self._most, self._size, self._longest = most, size, longest
        self._lock = threading.Lock()
        self._of_engine: WeakKeyDictionary[Engine, OrderedDict[Hashable, _Entry]] = WeakKeyDictionary()

    def find(self, session: Session, key: Hashable, version: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key, which is computed unless the one of this version is there."""
        engine = session.get_bind()
        assert isinstance(engine, Engine)
        with self._lock:
            entries = self._of_engine.setdefault(engine, OrderedDict())
            entry = entries.get(key)
            if entry is not None and entry.version == version and time.monotonic() < entry.made_at + self._longest:
                entries.move_to_end(key)
                return cast(Value, entry.value)
        value = compute()
        with self._lock:
            entries[key] = _Entry(version, value, self._size(value), time.monotonic())
            entries.move_to_end(key)
            while len(entries) > 1 and sum(one.size for one in entries.values()) > self._most:
                entries.popitem(last=False)
        return value
