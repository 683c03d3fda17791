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
        What people know it by; empty if none of that is known.
    change
        What changed since the environment before it; empty for the first of a host.
    """

    entry: EnvironmentEntry
    name: str
    change: str


def name_environments(entries: Sequence[EnvironmentEntry]) -> list[NamedEnvironment]:
    """Return the environments of a list, the last seen first, with their names and what changed before each."""
    return [
        NamedEnvironment(entry, name_environment(entry.settings), _describe_change(entry, entries[index + 1 :]))
        for index, entry in enumerate(entries)
    ]


def _describe_change(entry: EnvironmentEntry, earlier: Sequence[EnvironmentEntry]) -> str:
    """Return which settings changed since the last earlier environment that one of the same hosts had."""
    before = next((other for other in earlier if not set(other.hosts).isdisjoint(entry.hosts)), None)
    return describe_setting_changes(list_setting_changes(before.settings, entry.settings)) if before else ""
