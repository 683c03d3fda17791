"""Recognises that only the start of a program has changed since an earlier profile, not its work."""

from __future__ import annotations

from runner.contract.diagnosis import Remedy
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import Rule


def _has_different_start(facts: Facts) -> bool:
    """Return whether the count of the region is the same as before, but that of the whole process is not."""
    if facts.before is None:
        return False
    sides = (facts.before.profile, facts.profile)
    region_before, region_after = (side.find_value("region:page-faults") for side in sides)
    process_before, process_after = (side.find_value("page-faults") for side in sides)
    if None in {region_before, region_after, process_before, process_after}:
        return False
    return region_before == region_after and process_before != process_after


def _estimate_startup_saving(facts: Facts) -> float | None:
    """Return the cost of the additional faults, at the cost of a fault in the region; None if it was not measured."""
    assert facts.before is not None
    seconds_per_fault = facts.seconds_per_fault
    cpu_seconds = facts.profile.find_value("task-clock")
    if seconds_per_fault is None or not cpu_seconds:
        return None
    count_before, count_after = (side.profile.find_value("page-faults") or 0 for side in (facts.before, facts))
    return abs(count_after - count_before) * seconds_per_fault / cpu_seconds


def _describe_different_start(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the faults of the region and of the whole process, before and after."""
    assert facts.before is not None
    count_before, count_after = (side.profile.find_value("page-faults") or 0 for side in (facts.before, facts))
    region_count = facts.profile.find_value("region:page-faults") or 0
    return (
        f"{region_count:,.0f} faults in the region of interest, before and after",
        f"{count_before:,.0f} → {count_after:,.0f} faults in the whole process",
    )


LOADER = Rule(
    name="loader",
    title="The program's start-up changed, not its work",
    condition=_has_different_start,
    max_saving=_estimate_startup_saving,
    evidence=_describe_different_start,
    remedies=lambda _: (
        Remedy(text="check what is linked into the program: libraries, relocations and static data"),
        Remedy(text="if the start-up does not matter, judge only the region of interest of this workload"),
    ),
    report="a program that does nothing but start up: 303 faults with -O3, 265 with -Os",
    is_comparison=True,
)
