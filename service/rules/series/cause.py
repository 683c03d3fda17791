"""Finds the cause of a change of level: the commit or the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from service.rules.same_bytes import have_same_own_bytes
from service.rules.series.point_order import PathPoint
from service.schemas.history import Cause, SettingChange


def find_cause(before: PathPoint, after: PathPoint) -> Cause:
    """Return what differs between the two points around a change of level: commit, configuration, both or neither.

    Between two revisions whose programs were answered the same, no commit is a suspect. If system files differ, such as
    an upgraded library, the configuration has changed.
    """
    has_same_bytes = have_same_own_bytes(before.program_bytes, after.program_bytes)
    other_revision = before.revision != after.revision and not has_same_bytes
    systems = {before.program_bytes.system, after.program_bytes.system}
    upgraded = has_same_bytes and "" not in systems and len(systems) > 1
    other_environment = before.environment != after.environment or upgraded
    if other_revision and other_environment:
        return Cause.BOTH
    if other_environment:
        return Cause.CONFIG
    return Cause.COMMIT if other_revision else Cause.UNKNOWN


def list_setting_changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[SettingChange]:
    """Return the settings that differ between two environments, in order of name."""
    return [
        SettingChange(name=name, before=before.get(name), after=after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
