"""Names environments in a list, and says how each differs from the one before it on its host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from service.rules.environment_name import name_environment
from service.rules.series.cause import list_setting_changes
from service.schemas.directory import EnvironmentEntry
from service.text.setting_words import describe_setting_changes


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
    """Return the environments of a list, each with its name and what changed when it was first seen."""
    previous = _map_previous_environments(entries)
    return [
        NamedEnvironment(entry, name_environment(entry.settings), _describe_change(previous[entry.hash], entry))
        for entry in entries
    ]


def _map_previous_environments(entries: Sequence[EnvironmentEntry]) -> dict[str, EnvironmentEntry | None]:
    """Return, by the hash of each environment, the one that a host of it was in before; None for the first one.

    An environment that is seen again later was in use until then, rather than one between its runs.
    """
    previous: dict[str, EnvironmentEntry | None] = {}
    # Of each host, the environments that can still be the previous one; those further up were first seen later, and
    # last seen earlier.
    stacks: defaultdict[str, list[EnvironmentEntry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: entry.first_seen):
        found = []
        for host in entry.hosts:
            stack = stacks[host]
            while len(stack) > 1 and stack[-1].last_seen < entry.first_seen:
                stack.pop()
            found += stack[-1:]
            while stack and stack[-1].last_seen <= entry.last_seen:
                stack.pop()
            stack.append(entry)
        previous[entry.hash] = max(
            found, key=lambda other: (min(other.last_seen, entry.first_seen), other.first_seen), default=None
        )
    return previous


def _describe_change(before: EnvironmentEntry | None, entry: EnvironmentEntry) -> str:
    return describe_setting_changes(list_setting_changes(before.settings, entry.settings)) if before else ""
