"""Blames a change of level on the commit or on the configuration. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from service.rules.same_bytes import of_one_revision
from service.rules.series.path import PathPoint
from service.schemas.history import Cause, KnobChange


def blame(before: PathPoint, after: PathPoint) -> Cause:
    """Blame what differs between the two points around a change of level.

    A revision of the same bytes is no other one. Where files from elsewhere differ, such as a library that was
    upgraded, that is a change of the configuration.
    """
    same = of_one_revision(before.material, after.material)
    other_revision = before.revision != after.revision and not same
    systems = {before.material.system, after.material.system}
    upgraded = same and "" not in systems and len(systems) > 1
    other_environment = before.environment != after.environment or upgraded
    if other_revision and other_environment:
        return Cause.BOTH
    if other_environment:
        return Cause.CONFIG
    return Cause.COMMIT if other_revision else Cause.UNKNOWN


def knob_changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[KnobChange]:
    """Return the knobs that differ between two environments, in order of name."""
    return [
        KnobChange(name=name, before=before.get(name), after=after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
