"""Recognises threads and processes that get in each other's way. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from runner.contract.diagnosis import Finding, Remedy
from runner.contract.profile import Memory, Touch
from runner.contract.report import Reading
from service.rules.diagnose.profile_numbers import Facts

LEAST_CALLS = 100
"""With fewer calls that change mappings the lock is not contended: its holder was merely preempted."""
LEAST_WAIT = 0.2
"""The time spent waiting for the lock, relative to CPU time, from which it matters."""
STORMING = 0.5
"""The share of the CPU time in faults from which several processes are a storm."""
SCALING = 0.95
"""The weak-scaling efficiency below which processes get in each other's way."""
SAME = 0.01
"""The relative difference up to which two fault counts are the same."""
LARGE = 16 << 20
"""The size in bytes from which a region is large."""
LEAST_COST = 0.10
"""The share of the CPU time in faults from which they matter."""


def lock_contention(facts: Facts) -> Finding | None:
    """Recognise threads that sleep while they wait for the lock of their address space."""
    if facts.lock_wait < LEAST_WAIT * facts.cpu_seconds or not facts.lock_wait:
        return None
    if facts.profile.census is not None and facts.calls("mmap", "munmap", "madvise", "mremap", "brk") < LEAST_CALLS:
        return None
    calls = ", ".join(f"{facts.calls(name):,} {name}" for name in ("mmap", "munmap", "madvise") if facts.calls(name))
    return Finding(
        rule="mmap-lock",
        title="Threads wait for the lock of the address space",
        evidence=(
            f"threads waited {facts.lock_wait:.3g} s for the mmap lock, in {facts.cpu_seconds:.3g} s of CPU time",
            f"competing for it: {calls or 'faults'}",
            *([facts.where] if facts.where else []),
        ),
        remedies=(
            Remedy(text="read into a buffer that each thread keeps, instead of mapping and unmapping files"),
            Remedy(text="map larger pieces less often: one mapping for all threads"),
            Remedy(text="try an allocator that does not unmap", settings={"allocator": "tcmalloc"}),
        ),
        report="a column store: cores 50 % idle, each mmap took 10 to 20 ms; read() doubled the throughput",
        weight=facts.lock_wait / (facts.lock_wait + facts.cpu_seconds),
    )


def first_touch_storm(facts: Facts) -> Finding | None:
    """Recognise processes that fault as often as one alone does, but take longer to do so."""
    profile = facts.profile
    if profile.processes < 2 or facts.fault_cost < STORMING or facts.of_program < STORMING:
        return None
    alone = profile.references.get("alone", {})
    constant = _read(alone, "region:page-faults", "page-faults")
    if constant and abs(_whole(facts) / profile.processes - constant) > SAME * constant:
        return None
    before, after = _read(alone, "elapsed"), profile.value("elapsed")
    efficiency = before / after if before and after else None
    if efficiency is not None and efficiency >= SCALING:
        return None
    scaling = f"weak-scaling efficiency {efficiency:.2f}" if efficiency else "scaling was not measured"
    return Finding(
        rule="first-touch-storm",
        title="Processes touch new memory all at once",
        evidence=(
            f"each of {profile.processes} processes has {facts.faults:,} faults, as one process alone has; {scaling}",
            f"{facts.fault_cost:.0%} of the CPU time goes into faults; the system share is {_system(facts)}",
            *([facts.where] if facts.where else []),
        ),
        remedies=(
            Remedy(text="set the memory up once and keep it: allocate before the loop, or statically"),
            Remedy(text="use huge pages, for fewer and larger faults", settings={"thp": "always"}),
            Remedy(text="pre-fault with MAP_POPULATE or MADV_POPULATE_WRITE, outside the parallel part"),
            Remedy(text="compare with a newer kernel and distribution: an upgrade ended the reported storm"),
        ),
        report="a molecular-dynamics program: under 1 s alone, 18 s with four in parallel, all of it system time",
        weight=facts.fault_cost + facts.call_cost,
    )


def concurrent_first_use(facts: Facts) -> Finding | None:
    """Recognise a large region whose pages several threads touch for the first time while they work."""
    area = facts.largest
    if area is None or area.threads < 2 or area.size < LARGE or facts.fault_cost < LEAST_COST:
        return None
    if area.memory not in {Memory.HEAP, Memory.ANONYMOUS, Memory.SHARED}:
        return None
    if facts.share(Touch.FIRST) < 0.9 or area.faults < facts.faults / 2:
        return None
    return Finding(
        rule="concurrent-first-use",
        title="Several threads use a large region for the first time",
        evidence=(
            f"{area.threads} threads touch {area.pages:,} pages of one region of {area.size / 2**20:,.0f} MiB for the "
            f"first time, within {area.seconds:.2g} s",
            f"{facts.fault_cost:.0%} of the CPU time goes into these faults, in the middle of the work",
            *([facts.where] if facts.where else []),
        ),
        remedies=(
            Remedy(text="map the region with MAP_POPULATE, or fill it at start-up, before anybody waits for it"),
            Remedy(text="use huge pages, for fewer and larger faults", settings={"thp": "always"}),
        ),
        report="a biometric matcher: 96 threads over 235 GiB, ten times the usual latency, 2.5 million faults",
        weight=facts.fault_cost,
    )


def _whole(facts: Facts) -> float:
    names = ("region:page-faults", "page-faults")
    return next((value for name in names if (value := facts.profile.value(name)) is not None), 0.0)


def _read(readings: Mapping[str, Reading], *names: str) -> float | None:
    values = (readings[name].value for name in names if name in readings)
    return next((value for value in values if value is not None), None)


def _system(facts: Facts) -> str:
    share = facts.profile.value("sys-percent")
    return "unknown" if share is None else f"{share:.0f} %"
