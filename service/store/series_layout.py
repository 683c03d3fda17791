"""The points of a series in the order in which they are shown, kept in memory while the series stays as it is.

A page of a long series is asked for again and again, at each closer look; to read and arrange ten thousand points takes
half a second.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from service.rules.series.path import Points
from service.schemas import history
from service.store import points
from service.store.models import Series

_MOST = 100_000
"""Points that are kept of each database."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The path of a series, and all points as they are told: along the path first."""

    path: Points
    points: list[history.SeriesPoint]


class _Kept:
    """The layouts that were asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._layouts: OrderedDict[tuple[int, int], Layout] = OrderedDict()

    def get(self, key: tuple[int, int]) -> Layout | None:
        with self._lock:
            if key in self._layouts:
                self._layouts.move_to_end(key)
            return self._layouts.get(key)

    def put(self, key: tuple[int, int], layout: Layout) -> None:
        with self._lock:
            for old in [one for one in self._layouts if one[0] == key[0]]:
                del self._layouts[old]
            self._layouts[key] = layout
            while len(self._layouts) > 1 and sum(len(one.points) for one in self._layouts.values()) > _MOST:
                self._layouts.popitem(last=False)


_KEPT: WeakKeyDictionary[Engine, _Kept] = WeakKeyDictionary()


def find(session: Session, row: Series) -> Layout:
    """Return how the points of a series are laid out at its version."""
    engine = session.get_bind()
    assert isinstance(engine, Engine)
    kept = _KEPT.setdefault(engine, _Kept())
    found = kept.get((row.id, row.version))
    if found is None:
        found = _arrange(points.of_series(session, row.id))
        kept.put((row.id, row.version), found)
    return found


def _arrange(rows: list[points.PointRow]) -> Layout:
    path = points.arrange(rows).path
    beside = {row.run_id: row for row in rows}
    on_path = [beside.pop(point.run_id) for point in path]
    told = [point.view(on_path=True) for point in on_path]
    return Layout(path, told + [point.view(on_path=False) for point in beside.values()])
