"""Names environments in a list, and says how each differs from the one before it on its host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from service.rules.environment_name import name_environment
from service.rules.series.cause import list_setting_changes
from service.rules.series.setting_words import describe_setting_changes
from service.schemas.directory import EnvironmentEntry


class NamedEnvironment(NamedTuple):
    """An environment in words.

    Attributes
    ----------
    name
        Its name for people; empty if none of the settings in it is known.
    change
        The settings that changed since the previous environment of a host; empty for the first one.
    """

    entry: EnvironmentEntry
    name: str
    change: str


def name_environments(entries: Sequence[EnvironmentEntry]) -> list[NamedEnvironment]:
    """Return the environments of a list, most recently seen first, each with its name and what changed."""
    return [
        NamedEnvironment(entry, name_environment(entry.settings), _describe_change(entry, entries[index + 1 :]))
        for index, entry in enumerate(entries)
    ]


def _describe_change(entry: EnvironmentEntry, earlier: Sequence[EnvironmentEntry]) -> str:
    """Return the settings that changed since the latest earlier environment of one of the same hosts."""
    before = next((other for other in earlier if not set(other.hosts).isdisjoint(entry.hosts)), None)
    return describe_setting_changes(list_setting_changes(before.settings, entry.settings)) if before else ""
