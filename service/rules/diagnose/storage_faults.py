"""Recognises pages that are read from storage, at start-up or because memory is short."""

from __future__ import annotations

from runner.contract.diagnosis import Remedy
from runner.contract.profile import Memory
from service.rules.diagnose.profile_numbers import Facts
from service.rules.diagnose.rule import Rule
from service.text.numbers import format_quantity

_REFAULTS = ("cgroup:workingset_refault_anon", "cgroup:workingset_refault_file")
_SWAPPED = (Memory.HEAP, Memory.ANONYMOUS, Memory.STACK)
"""Memory whose pages come from storage only if they were swapped out."""


def _warm(facts: Facts, name: str) -> float | None:
    reading = facts.profile.references.get("warm", {}).get(name)
    return None if reading is None else reading.value


def _starts_cold(facts: Facts) -> bool:
    """Return whether most of the major faults are gone when the files are in memory, which was measured."""
    cold, left = facts.profile.value("major-faults"), _warm(facts, "major-faults")
    return bool(cold) and left is not None and 2 * left <= (cold or 0)


def _price_of_cold_start(facts: Facts) -> float | None:
    """Return what files in memory win: the time by which the warm start is shorter, if it was spent on storage.

    Both are measured once, so one alone can be chance: another program's work, or the wait for a processor.
    """
    before, after = _warm(facts, "elapsed"), facts.profile.value("elapsed")
    if not before or not after:
        return None
    return min(1 - before / after, facts.storage_wait / after)


def _evidence_of_cold_start(facts: Facts) -> tuple[str, ...]:
    cold, left = facts.profile.value("major-faults") or 0, _warm(facts, "major-faults") or 0
    before, after = _warm(facts, "elapsed") or 0, facts.profile.value("elapsed") or 0
    return (
        f"{cold:,.0f} major faults when its files are not in memory, {left:,.0f} when they are; "
        f"{format_quantity(after, 's')} instead of {format_quantity(before, 's')}",
        f"threads waited {format_quantity(facts.storage_wait, 's')} for storage",
        *([f"kinds of memory: {_kinds(facts)}"] if facts.anatomy.major_by_memory else []),
    )


COLD_START = Rule(
    name="cold-start",
    title="The program starts from storage",
    condition=_starts_cold,
    price=_price_of_cold_start,
    evidence=_evidence_of_cold_start,
    remedies=lambda _: (
        Remedy(text="make the binary smaller (-Os, fewer libraries), or lay it out in the order of its start"),
        Remedy(text="read its files ahead before it starts (posix_fadvise WILLNEED, vmtouch)"),
        Remedy(text="keep them in memory (mlock), if the start must never wait"),
    ),
    report="a program start: 69 major faults from storage, none when it was started again",
)


def _is_memory_short(facts: Facts) -> bool:
    """Return whether pages came back from storage that had been in memory before, and nobody evicted on purpose.

    A limit alone says nothing: it can be far away.
    """
    if "warm" in facts.profile.references:
        return False
    swapped = any(facts.anatomy.major_by_memory.get(kind) for kind in _SWAPPED)
    return _major(facts) > 0 and (swapped or _refaults(facts) > 0)


def _price_of_shortage(facts: Facts) -> float:
    """Return what enough memory wins: the stalls that the kernel counted, otherwise the waits of faults for storage."""
    stalled = facts.profile.value("cgroup:memory-stall-some")
    waited = facts.fault_storage_wait if stalled is None else stalled
    return waited / (waited + facts.cpu_seconds) if waited and facts.cpu_seconds else 0.0


def _evidence_of_shortage(facts: Facts) -> tuple[str, ...]:
    stalled = facts.profile.value("cgroup:memory-stall-some")
    limit = facts.profile.environment.settings.get("process.memory_limit", "none")
    waited = (
        f"threads waited {format_quantity(facts.fault_storage_wait, 's')} for storage in faults"
        if stalled is None
        else f"tasks stalled for {format_quantity(stalled, 's')} waiting for memory"
    )
    return (
        f"{_major(facts):,.0f} major faults; kinds of memory: {_kinds(facts)}",
        f"{_refaults(facts):,.0f} pages were needed again soon after they were evicted; memory limit: {limit}",
        waited,
    )


MEMORY_LIMIT = Rule(
    name="memory-short",
    title="Memory is short: a limit or swap",
    condition=_is_memory_short,
    price=_price_of_shortage,
    evidence=_evidence_of_shortage,
    remedies=lambda _: (
        Remedy(text="raise the limit of the control group, or use less memory at a time"),
        Remedy(text="lock what must not wait in memory (mlock); check vm.swappiness and other tenants"),
    ),
    report="services under a memory limit: major faults and stalls although the program itself did not change",
)


def _major(facts: Facts) -> float:
    return max(facts.anatomy.major, facts.profile.value("cgroup:pgmajfault") or 0)


def _refaults(facts: Facts) -> float:
    return sum(facts.profile.value(name) or 0 for name in _REFAULTS)


def _kinds(facts: Facts) -> str:
    return ", ".join(f"{kind.value} {number:,}" for kind, number in facts.anatomy.major_by_memory.items()) or "unknown"
