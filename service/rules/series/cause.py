"""Finds the cause of a change of level: the commit or the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from service.rules.same_bytes import have_same_own_bytes
from service.rules.series.point_order import PathPoint
from service.schemas.history import Cause, SettingChange


def find_cause(before: PathPoint, after: PathPoint) -> Cause:
    """Return what differs between the two points around a change of level: commit, configuration, both or neither.

    If the programs of the two revisions got the same answers about the files of their builds, no commit is a suspect;
    if their system files differ then, for example because a library was upgraded, the configuration has changed.
    Between programs that differ, system files are not compared, because the commit itself may use other ones.
    """
    has_same_bytes = have_same_own_bytes(before.program_bytes, after.program_bytes)
    is_other_revision = before.revision != after.revision and not has_same_bytes
    system_digests = {before.program_bytes.system, after.program_bytes.system}  # an empty text is an unknown digest
    has_upgrade = has_same_bytes and "" not in system_digests and len(system_digests) > 1
    is_other_environment = before.environment != after.environment or has_upgrade
    if is_other_revision and is_other_environment:
        return Cause.COMMIT_AND_CONFIG
    if is_other_environment:
        return Cause.CONFIG
    return Cause.COMMIT if is_other_revision else Cause.UNKNOWN


def list_setting_changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[SettingChange]:
    """Return the settings that differ between two environments, in order of name."""
    return [
        SettingChange(name=name, before=before.get(name), after=after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
