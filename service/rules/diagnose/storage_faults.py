"""Recognises pages that are read from storage, at start-up or because memory is short. Pure."""

from __future__ import annotations

from runner.contract.diagnosis import Finding, Remedy
from runner.contract.profile import Memory
from service.rules.diagnose.profile_numbers import Facts

_SHORT = 10
"""The number of major faults from which memory counts as short, if the files were in memory before."""
_REFAULTS = ("cgroup:workingset_refault_anon", "cgroup:workingset_refault_file")


def cold_start(facts: Facts) -> Finding | None:
    """Recognise a start from storage: major faults that disappear when the files are in memory."""
    warm = facts.profile.references.get("warm")
    cold = facts.profile.value("major-faults") or 0
    if warm is None or "major-faults" not in warm:
        return None
    left = warm["major-faults"].value or 0
    if cold <= left:
        return None
    before, after = (
        readings["elapsed"].value if "elapsed" in readings else None for readings in (warm, facts.profile.readings)
    )
    slower = f"; {after * 1000:.3g} ms instead of {before * 1000:.3g} ms" if before and after else ""
    kinds = ", ".join(f"{kind.value} {number}" for kind, number in facts.anatomy.major_by_memory.items())
    return Finding(
        rule="cold-start",
        title="The program starts from storage",
        evidence=(
            f"{cold:,.0f} major faults when its files are not in memory, {left:,.0f} when they are{slower}",
            *([f"kinds of memory: {kinds}"] if kinds else []),
        ),
        remedies=(
            Remedy(text="make the binary smaller (-Os, fewer libraries), or lay it out in the order of its start"),
            Remedy(text="read its files ahead before it starts (posix_fadvise WILLNEED, vmtouch)"),
            Remedy(text="keep them in memory (mlock), if the start must never wait"),
        ),
        report="a program start: 69 major faults from storage, none when it was started again",
        weight=max(0.5, 1 - before / after) if before and after else 0.5,
    )


def memory_limit(facts: Facts) -> Finding | None:
    """Recognise a shortage of memory: pages come from storage although nobody evicted them on purpose."""
    if "warm" in facts.profile.references:
        return None
    major = max(facts.anatomy.major, facts.profile.value("cgroup:pgmajfault") or 0)
    refaults = sum(facts.profile.value(name) or 0 for name in _REFAULTS)
    stalled = facts.profile.value("cgroup:memory-stall-some") or 0
    limit = facts.profile.environment.knobs.get("process.memory_limit", "none")
    if major < _SHORT or not (refaults or stalled or limit != "none" or _from_swap(facts)):
        return None
    return Finding(
        rule="memory-short",
        title="Memory is short: a limit or swap",
        evidence=(
            f"{major:,.0f} major faults; kinds of memory: " + _kinds(facts),
            f"{refaults:,.0f} pages were needed again soon after they were evicted; memory limit: {limit}",
            f"tasks stalled for {stalled:.3g} s waiting for memory",
        ),
        remedies=(
            Remedy(text="raise the limit of the control group, or use less memory at a time"),
            Remedy(text="lock what must not wait in memory (mlock); check vm.swappiness and other tenants"),
        ),
        report="services under a memory limit: major faults and stalls although the program itself did not change",
        weight=min(1.0, 0.3 + stalled / facts.cpu_seconds) if facts.cpu_seconds else 0.3,
    )


def _from_swap(facts: Facts) -> bool:
    return any(facts.anatomy.major_by_memory.get(kind) for kind in (Memory.HEAP, Memory.ANONYMOUS, Memory.STACK))


def _kinds(facts: Facts) -> str:
    return ", ".join(f"{kind.value} {number:,}" for kind, number in facts.anatomy.major_by_memory.items()) or "unknown"
