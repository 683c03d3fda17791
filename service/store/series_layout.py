"""Caches the arranged points of series in memory, by the version of the series.

A page requests a long series at each zoom; reading and arranging ten thousand points takes half a second.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from service.rules.series.tracks import Points
from service.schemas import history
from service.store import points
from service.store.models import Series

_MOST_POINTS = 100_000
"""Most cached points of each database."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The path of a series, and all points as the API serves them: first those along the path."""

    path: Points
    points: list[history.SeriesPoint]


class _Cache:
    """The layouts requested last."""

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
            for old in [cached for cached in self._layouts if cached[0] == key[0]]:
                del self._layouts[old]
            self._layouts[key] = layout
            while (
                len(self._layouts) > 1 and sum(len(cached.points) for cached in self._layouts.values()) > _MOST_POINTS
            ):
                self._layouts.popitem(last=False)


_CACHES: WeakKeyDictionary[Engine, _Cache] = WeakKeyDictionary()


def find(session: Session, row: Series) -> Layout:
    """Return the layout of a series at its version."""
    engine = session.get_bind()
    assert isinstance(engine, Engine)
    cache = _CACHES.setdefault(engine, _Cache())
    layout = cache.get((row.id, row.version))
    if layout is None:
        layout = _arrange(points.of_series(session, row.id))
        cache.put((row.id, row.version), layout)
    return layout


def _arrange(rows: list[points.PointRow]) -> Layout:
    path = points.arrange(rows).path
    off_path = {row.run_id: row for row in rows}
    on_path = [off_path.pop(point.run_id) for point in path]
    views = [point.view(on_path=True) for point in on_path]
    return Layout(path, views + [point.view(on_path=False) for point in off_path.values()])
