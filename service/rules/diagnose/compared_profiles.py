"""Recognises what only a comparison with an earlier profile shows. Pure."""

from __future__ import annotations

from runner.contract.diagnosis import Finding, Remedy
from service.rules.diagnose.profile_numbers import Facts

_HUGE = "cgroup:thp_fault_alloc"
_KNOBS = ("process.huge_pages", "thp.enabled")
_MANY = 4
"""The factor in faults from which a change of huge pages matters; a huge page replaces 512 pages."""


def huge_pages(before: Facts, after: Facts) -> Finding | None:
    """Recognise huge pages that were lost or gained: the same memory takes many more faults, or far fewer."""
    if not before.faults or not after.faults:
        return None
    ratio = after.faults / before.faults
    if 1 / _MANY < ratio < _MANY:
        return None
    counts = [facts.profile.value(_HUGE) for facts in (before, after)]
    knobs = [facts.profile.environment.knobs for facts in (before, after)]
    moved = [
        f"{name}: {knobs[0].get(name, 'not set')} → {knobs[1].get(name, 'not set')}"
        for name in _KNOBS
        if knobs[0].get(name) != knobs[1].get(name)
    ]
    counted = None not in counts and counts[0] != counts[1]
    if not counted and not moved:
        return None
    lost = ratio > 1
    return Finding(
        rule="huge-pages",
        title="Huge pages were lost" if lost else "Huge pages were gained",
        evidence=(
            f"{before.faults:,} → {after.faults:,} faults",
            *([f"huge pages allocated by faults: {counts[0]:,.0f} → {counts[1]:,.0f}"] if counted else []),
            *moved,
        ),
        remedies=(
            Remedy(
                text="advise huge pages for the large regions (madvise MADV_HUGEPAGE), or set the policy of the host",
                settings={"thp": "always"},
            ),
            Remedy(text="check whether memory is fragmented: /proc/buddyinfo, vm.compact_memory"),
        )
        if lost
        else (Remedy(text="nothing to fix; for counts that repeat, set huge_pages in the workload file"),),
        report="one program: 5,862 faults without huge pages, 1,774 with them",
        weight=min(1.0, abs(after.fault_cost - before.fault_cost) + 0.3),
    )


def loader(before: Facts, after: Facts) -> Finding | None:
    """Recognise a change outside the main loop: the region has the same count, the whole process has not."""
    region = [facts.profile.value("region:page-faults") for facts in (before, after)]
    whole = [facts.profile.value("page-faults") for facts in (before, after)]
    if None in {*region, *whole} or region[0] != region[1] or whole[0] == whole[1]:
        return None
    return Finding(
        rule="loader",
        title="The program's start-up changed, not its work",
        evidence=(
            f"{region[0]:,.0f} faults in the region before and after",
            f"{whole[0]:,.0f} → {whole[1]:,.0f} faults in the whole process",
        ),
        remedies=(
            Remedy(text="check what is linked: libraries, relocations (prelink, -z now), the size of static data"),
            Remedy(text="judge this workload by its region, if start-up does not matter"),
        ),
        report="a program that only starts: 303 faults with -O3, 265 with -Os",
        weight=0.2,
    )
