"""Recognises threads and processes that get in each other's way."""

from __future__ import annotations

from collections.abc import Mapping

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_amount, format_quantity, format_share
from runner.contract.profile import Touch
from runner.contract.report import Reading
from service.rules.diagnose.heap_remedies import COLLECTING_RUNTIMES
from service.rules.diagnose.process_contents import identify_runtime
from service.rules.diagnose.profile_facts import OWN_MEMORY, Facts
from service.rules.diagnose.rule import Rule

MIN_CALLS = 100
"""With fewer calls that change mappings, the lock is not contended: its holder was merely preempted."""
MIN_WAITS = 20
"""With fewer waits, a single long wait for a preempted holder may account for all of the time."""
MIN_CALL_SHARE = 0.02
"""If calls that change mappings take at least this share of the CPU time, there are many of them."""
MIN_STORM_SHARE = 0.5
"""In a fault storm, at least this share of the CPU time goes into faults, and of the faults into new memory."""
MIN_SCALING_EFFICIENCY = 0.95
"""If the weak-scaling efficiency is lower, processes get in each other's way."""
MAX_SAME_DIFFERENCE = 0.01
"""Two fault counts count as equal if their relative difference is at most this."""
MIN_LARGE_REGION_BYTES = 16 << 20
"""A region of at least this size is large."""
MIN_FIRST_TOUCH_SHARE = 0.9
"""If at least this share of a region's faults are first touches, it is used for the first time."""
_MAPPING_CALLS = ("mmap", "munmap", "madvise", "mremap", "brk")


def _is_lock_contended(facts: Facts) -> bool:
    """Return whether threads wait long for the mmap lock while they map or unmap memory.

    A few waits are no contention, because a loaded host preempts the holder of any lock now and then. Two calls for
    each thread do not count: one maps its stack, the other unmaps it. If calls could not be recorded, the CPU time that
    they take shows whether there are many.
    """
    if not facts.lock_wait or not facts.cpu_seconds:
        return False
    if facts.n_lock_waits is not None and facts.n_lock_waits < MIN_WAITS:
        return False
    if facts.profile.census is None:
        return facts.memory_call_share >= MIN_CALL_SHARE
    return facts.count_calls(*_MAPPING_CALLS) - 2 * facts.anatomy.threads >= MIN_CALLS


def _estimate_lock_saving(facts: Facts) -> float:
    """Return the share of the threads' time that they wait for the lock, limited to the idle share of the processors.

    If all processors are busy, another thread runs while one waits, so the waiting costs nothing. If threads wait for
    the lock longer than they run, contention is what the time goes into. The remedies then also save the calls that
    compete for the lock and the faults on pages that these calls had unmapped, because they make few such calls.
    """
    thread_seconds = facts.lock_wait + facts.cpu_seconds
    if not thread_seconds:
        return 0.0
    wait_share = min(facts.lock_wait / thread_seconds, facts.idle_share)
    if facts.lock_wait <= facts.cpu_seconds:
        return wait_share
    unmapped_faults = facts.anatomy.by_touch.get(Touch.AFTER_MUNMAP, 0)
    mapping_share = min(1.0, facts.memory_call_share + facts.estimate_cost(unmapped_faults))
    return wait_share + (1 - wait_share) * mapping_share


def _describe_lock(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: how long threads waited for the mmap lock, and which calls compete for it."""
    times = "" if facts.n_lock_waits is None else f"{facts.n_lock_waits:,} times, "
    calls = ", ".join(f"{facts.count_calls(name):,} {name}" for name in _MAPPING_CALLS if facts.count_calls(name))
    competition = f"calls that compete for the lock: {calls}"
    if not calls:
        competition = f"calls that map and unmap memory take {format_share(facts.memory_call_share)} of the CPU time"
    return (
        f"threads waited for the mmap lock {times}for {format_quantity(facts.lock_wait, 's')} in total, "
        f"and used {format_quantity(facts.cpu_seconds, 's')} of CPU time",
        competition,
        *facts.top_function,
    )


def _suggest_fewer_calls(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that change mappings less often; another malloc helps only if malloc changes them."""
    is_of_malloc = not facts.maps_itself and identify_runtime(facts.profile) not in COLLECTING_RUNTIMES
    return (
        Remedy(text="read into a buffer that each thread keeps, instead of mapping and unmapping files"),
        Remedy(text="map larger pieces less often, and share one mapping between all threads"),
        *([_OTHER_ALLOCATOR] if is_of_malloc else []),
    )


_OTHER_ALLOCATOR = Remedy(text="try an allocator that does not unmap freed memory", settings={"allocator": "tcmalloc"})

LOCK_CONTENTION = Rule(
    name="mmap-lock",
    title="Threads wait for the mmap lock",
    condition=_is_lock_contended,
    max_saving=_estimate_lock_saving,
    evidence=_describe_lock,
    remedies=_suggest_fewer_calls,
    report="a column store: its cores were 50 % idle, and each mmap took 10 to 20 ms; read() doubled the throughput",
)


def _is_fault_storm(facts: Facts) -> bool:
    """Return whether each of several simultaneous processes has as many faults as one alone, but takes longer."""
    profile = facts.profile
    readings_alone = profile.references.get("alone")
    if (
        profile.processes < 2
        or readings_alone is None
        or facts.fault_cost_share < MIN_STORM_SHARE
        or facts.program_share < MIN_STORM_SHARE
    ):
        return False
    faults_together = _find_first_value(profile.readings, *_FAULT_METRICS)
    faults_alone = _find_first_value(readings_alone, *_FAULT_METRICS)
    efficiency = _compute_efficiency(facts)
    if not faults_together or not faults_alone or efficiency is None:
        return False
    return (
        abs(faults_together / profile.processes - faults_alone) <= MAX_SAME_DIFFERENCE * faults_alone
        and efficiency < MIN_SCALING_EFFICIENCY
    )


def _describe_storm(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: simultaneous processes have as many faults as one alone, but take longer."""
    processors = facts.profile.environment.settings.get("cpu.allowed")
    processors_clause = f" on {processors} processor{'s' if processors != '1' else ''}" if processors else ""
    return (
        f"one of {facts.profile.processes} simultaneous processes{processors_clause} has {facts.faults:,} faults, "
        "about as many as a process that runs alone; "
        f"weak-scaling efficiency {_compute_efficiency(facts) or 0:.2f}",
        f"{facts.format_cost(facts.fault_cost_share)} of the CPU time goes into faults; "
        f"the share of system time is {_format_system_share(facts)}",
        *facts.top_function,
    )


FIRST_TOUCH_STORM = Rule(
    name="first-touch-storm",
    title="Processes touch new memory at the same time",
    condition=_is_fault_storm,
    max_saving=lambda facts: facts.program_share * facts.fault_cost_share + facts.memory_call_share,
    evidence=_describe_storm,
    remedies=lambda _: (
        Remedy(text="allocate the memory once, before the loop or statically, and keep it"),
        Remedy(text="use huge pages, for fewer and larger faults", settings={"thp": "always"}),
        Remedy(text="pre-fault with MAP_POPULATE or MADV_POPULATE_WRITE, outside the parallel part"),
        Remedy(text="compare with a newer kernel and distribution: an upgrade solved the problem in a similar case"),
    ),
    report="a molecular-dynamics program: under 1 s alone, 18 s when four run at once, all of it system time",
)


def _has_late_first_touch(facts: Facts) -> bool:
    """Return whether several threads touch a large area for the first time in the middle of the work.

    Only a profile of the region of interest can show this, because a profile of the whole process includes the start.
    """
    area = facts.largest_area
    return (
        facts.profile.scope == "region"
        and area is not None
        and area.threads >= 2
        and area.size >= MIN_LARGE_REGION_BYTES
        and area.memory in OWN_MEMORY
        and 2 * area.faults >= facts.faults  # most of the faults are in it
        and facts.first_touch_share >= MIN_FIRST_TOUCH_SHARE
    )


def _estimate_first_use_saving(facts: Facts) -> float:
    """Return the share of the CPU time that the faults of the largest area take."""
    area = facts.largest_area
    if area is None or not facts.faults:
        return 0.0
    return facts.fault_cost_share * min(1.0, area.faults / facts.faults)


def _describe_first_use(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the region that several threads touch for the first time during the work."""
    area = facts.largest_area
    assert area is not None
    return (
        f"{area.threads} threads touch {area.pages:,} pages of one region of {format_amount(area.size)} for the "
        f"first time, within {format_quantity(area.seconds, 's')}",
        f"{facts.format_cost(facts.fault_cost_share)} of the CPU time goes into faults; this does not include the "
        "start-up",
        *facts.top_function,
    )


CONCURRENT_FIRST_USE = Rule(
    name="concurrent-first-use",
    title="Several threads use a large region for the first time",
    condition=_has_late_first_touch,
    max_saving=_estimate_first_use_saving,
    evidence=_describe_first_use,
    remedies=lambda _: (
        Remedy(text="map the region with MAP_POPULATE, or fill it at start-up, before any thread waits for it"),
        Remedy(text="use huge pages, for fewer and larger faults", settings={"thp": "always"}),
    ),
    report="a biometric matcher with 96 threads and 235 GiB of data: 2.5 million faults, and ten times the latency",
)

_FAULT_METRICS = ("region:page-faults", "page-faults")


def _compute_efficiency(facts: Facts) -> float | None:
    """Return the weak-scaling efficiency: the elapsed time of one process alone over that of simultaneous processes.

    None if one of them was not measured.
    """
    seconds_alone = _find_first_value(facts.profile.references.get("alone", {}), "elapsed")
    seconds_together = facts.profile.find_value("elapsed")
    return seconds_alone / seconds_together if seconds_alone and seconds_together else None


def _find_first_value(readings: Mapping[str, Reading], *names: str) -> float | None:
    """Return the value of the first of ``names`` that has one; None if none has."""
    values = (readings[name].value for name in names if name in readings)
    return next((value for value in values if value is not None), None)


def _format_system_share(facts: Facts) -> str:
    share = facts.profile.find_value("sys-percent")
    return "unknown" if share is None else format_share(share / 100)
