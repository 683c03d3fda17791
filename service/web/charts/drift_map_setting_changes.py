"""Groups the events that settings caused for the drift map, by the change of settings and its column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from service.rules.drift_map.layout import DriftMap
from service.schemas.history import SettingChange
from service.store.drift_map import MapEvent


class SettingsChange(NamedTuple):
    """Events that the same change of settings caused, in one column; the one that moved the most series first."""

    column: int
    settings: tuple[SettingChange, ...]
    events: Sequence[MapEvent]


def group_config_events(layout: DriftMap, config_events: Sequence[MapEvent]) -> list[SettingsChange]:
    """Return the changes of settings, starting with the one that moved the most series.

    A change is in the column in which the settings have their new values for the first time. An event that names no
    changed setting is left out.
    """
    events_by_change: dict[tuple[int, tuple[SettingChange, ...]], list[MapEvent]] = {}
    for event in config_events:
        if not event.settings:  # The two sides of its leading drift differ in no known setting.
            continue
        events_by_change.setdefault((_find_column(layout, event), event.settings), []).append(event)
    changes = [
        SettingsChange(column, settings, sorted(events, key=lambda event: -event.n_series))
        for (column, settings), events in events_by_change.items()
    ]
    return sorted(changes, key=lambda change: -sum(event.n_series for event in change.events))


def _find_column(layout: DriftMap, event: MapEvent) -> int:
    """Return the column in which the settings of an event changed; that of its leading drift if this is unknown."""
    column = None if event.setting_commit is None else layout.columns.column_of.get(event.setting_commit)
    return layout.find_column(event.id) if column is None else column
