"""Counts the changes of settings that moved nothing, and therefore have no line in the drift map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from service.rules.series.cause import list_setting_changes
from service.schemas.history import SettingChange

Settings = Mapping[str, str]


def count_unmoved_changes(
    environments_of_hosts: Iterable[Sequence[Settings]], moved_changes: Iterable[Sequence[SettingChange]]
) -> int:
    """Return how many different changes of settings are not among those that moved something.

    A change is identified only by its new values: if a drift begins environments later, its old values are those of
    an earlier environment. A change that several hosts share counts once.

    Parameters
    ----------
    environments_of_hosts
        For each host, its successive settings.
    moved_changes
        The changed settings of each event.
    """
    moved_values = {(setting.name, setting.after) for change in moved_changes for setting in change}
    changes = {
        frozenset((setting.name, setting.after) for setting in list_setting_changes(before, after))
        for environments in environments_of_hosts
        for before, after in pairwise(environments)
    }
    return sum(moved_values.isdisjoint(change) for change in changes)
