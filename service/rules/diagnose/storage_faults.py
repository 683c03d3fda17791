"""Recognises pages that are read from storage, at start-up or because memory is short."""

from __future__ import annotations

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_quantity
from runner.contract.profile import Memory
from service.rules.diagnose.profile_facts import Facts, is_image_file, name_files
from service.rules.diagnose.rule import Rule

_ADVICE = "MADV_RANDOM"
MIN_SINGLE_READS = 64
"""A file is read page by page if there are at least this many major faults in mapped files."""
MIN_READ_GROWTH = 4
"""Read-ahead was lost if the major faults grew by at least this factor; it reads up to 32 pages at once."""
_SWAP_REFAULTS, _FILE_REFAULTS = "cgroup:workingset_refault_anon", "cgroup:workingset_refault_file"
_SWAPPED_MEMORY = (Memory.HEAP, Memory.ARENA, Memory.ANONYMOUS, Memory.STATIC, Memory.STACK)
"""Memory whose pages come from storage only if they were swapped out."""


def _read_warm(facts: Facts, name: str) -> float | None:
    """Return a metric of the execution with the files in memory; None if it was not measured."""
    reading = facts.profile.references.get("warm", {}).get(name)
    return None if reading is None else reading.value


def _is_start_cold(facts: Facts) -> bool:
    """Return whether most major faults disappear when the files are in memory; false if this was not measured.

    It is also false if read-ahead is off, which is another finding, or if threads wait no longer than before a change.
    """
    if _is_read_ahead_off(facts) or (facts.before is not None and facts.storage_wait <= facts.before.storage_wait):
        return False
    cold_faults = facts.profile.find_value("major-faults")
    warm_faults = _read_warm(facts, "major-faults")
    if not cold_faults or warm_faults is None:
        return False
    return 2 * warm_faults <= cold_faults


def _estimate_warm_start_saving(facts: Facts) -> float | None:
    """Return the share of the elapsed time that a warm start saves; None if it was not measured.

    This is the smaller of the measured saving and the share spent waiting for storage. Each comes from a single
    execution, so each on its own may be due to chance: another program's work, or a wait for a processor.
    """
    warm_seconds = _read_warm(facts, "elapsed")
    cold_seconds = facts.profile.find_value("elapsed")
    if not warm_seconds or not cold_seconds:
        return None
    return min(1 - warm_seconds / cold_seconds, facts.storage_wait / cold_seconds)


def _describe_cold_start(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the major faults and the elapsed time with and without the files in memory."""
    cold_faults = facts.profile.find_value("major-faults") or 0
    warm_faults = _read_warm(facts, "major-faults") or 0
    cold_seconds = facts.profile.find_value("elapsed") or 0
    warm_seconds = _read_warm(facts, "elapsed") or 0
    return (
        f"{cold_faults:,.0f} major faults if the program's files are not in memory, {warm_faults:,.0f} if they are; "
        f"the program takes {format_quantity(cold_seconds, 's')} instead of {format_quantity(warm_seconds, 's')}",
        f"all threads together waited {format_quantity(facts.storage_wait, 's')} for storage",
        *([f"kinds of memory: {_list_memory_kinds(facts)}"] if facts.anatomy.major_by_memory else []),
    )


def _suggest_warm_start(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that shorten a cold start, for the program's image or for the files that it reads."""
    image_faults = _count_major_file_faults(facts, is_image=True)
    data_faults = _count_major_file_faults(facts, is_image=False)
    smaller_binary = Remedy(
        text="make the binary smaller (-Os, fewer libraries), or put its functions in the order of their first use"
    )
    return (
        *([smaller_binary] if image_faults >= data_faults else []),
        Remedy(text="read the program's files into memory before it starts (posix_fadvise WILLNEED, vmtouch)"),
        Remedy(text="keep the files in memory (mlock) if the program must never wait for storage when it starts"),
    )


COLD_START = Rule(
    name="cold-start",
    title="The program waits for storage at start-up",
    condition=_is_start_cold,
    max_saving=_estimate_warm_start_saving,
    evidence=_describe_cold_start,
    remedies=_suggest_warm_start,
    report="one program: 69 major faults at its first start, none when it was started again",
    count=lambda facts: facts.profile.find_value("major-faults") or 0.0,
)


def _is_memory_short(facts: Facts) -> bool:
    """Return whether pages came back from storage after the kernel had evicted them for lack of memory.

    A memory limit is not enough evidence, because it can be far from being reached.
    """
    return _count_major_faults(facts) > 0 and _count_evicted_pages(facts) > 0


def _count_evicted_pages(facts: Facts) -> float:
    """Return how many pages were swapped in, or were needed again after they had been evicted for lack of memory."""
    swapped_in = sum(facts.anatomy.major_by_memory.get(kind, 0) for kind in _SWAPPED_MEMORY)
    return swapped_in + _count_refaults(facts)


def _estimate_memory_saving(facts: Facts) -> float:
    """Return the share of the time that enough memory saves: the stalls that the kernel counted, or storage waits."""
    stall_seconds = facts.profile.find_value("cgroup:memory-stall-some")
    wait_seconds = facts.fault_storage_wait if stall_seconds is None else stall_seconds
    return wait_seconds / (wait_seconds + facts.cpu_seconds) if wait_seconds and facts.cpu_seconds else 0.0


def _describe_shortage(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the major faults, the pages evicted too early, and the time waited for memory."""
    stall_seconds = facts.profile.find_value("cgroup:memory-stall-some")
    limit = facts.profile.environment.settings.get("process.memory_limit", "none")
    wait_sentence = (
        f"all threads together waited {format_quantity(facts.fault_storage_wait, 's')} for storage in faults"
        if stall_seconds is None
        else f"tasks stalled for {format_quantity(stall_seconds, 's')} waiting for memory"
    )
    n_evicted = _count_refaults(facts)  # zero if the kernel did not count these pages
    return (
        f"{_count_major_faults(facts):,.0f} major faults; kinds of memory: {_list_memory_kinds(facts)}",
        *([f"pages that had been evicted were needed again {n_evicted:,.0f} times"] if n_evicted else []),
        f"memory limit: {limit}",
        wait_sentence,
    )


def _count_major_file_faults(facts: Facts, *, is_image: bool) -> int:
    """Return the number of major faults in the program's image, or in the other files that it maps."""
    return sum(
        site.faults
        for site in facts.anatomy.major_sites
        if site.file and is_image_file(facts.profile, site.memory, site.file) == is_image
    )


def _is_read_ahead_off(facts: Facts) -> bool:
    """Return whether a mapped file is read page by page, for a known reason: the program's advice, or a change.

    After a change, there must be several times as many of these major faults as before.
    """
    major = _count_major_file_faults(facts, is_image=False)
    # Few major faults, or most of them elsewhere: read-ahead is not what matters.
    if major < MIN_SINGLE_READS or 2 * major < sum(site.faults for site in facts.anatomy.major_sites):
        return False
    if facts.before is not None and MIN_READ_GROWTH * _count_major_file_faults(facts.before, is_image=False) > major:
        return False
    return facts.count_advice(_ADVICE) > 0 or facts.before is not None


def _estimate_read_ahead_saving(facts: Facts) -> float | None:
    """Return the share of the elapsed time in which faults wait for storage; None if that time is unknown."""
    elapsed = facts.profile.find_value("elapsed")
    return min(1.0, facts.fault_storage_wait / elapsed) if elapsed else None


def _describe_read_ahead(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the major faults before and after, the advice, and the line that reads."""
    major = _count_major_file_faults(facts, is_image=False)
    before = "" if facts.before is None else f"{_count_major_file_faults(facts.before, is_image=False):,} → "
    files = sorted(
        {
            site.file
            for site in facts.anatomy.major_sites
            if site.file and not is_image_file(facts.profile, site.memory, site.file)
        }
    )
    advice = facts.count_advice(_ADVICE)
    return (
        f"{before}{major:,} major faults in {name_files(files)}",
        *([f"calls to madvise with MADV_RANDOM, which switches read-ahead off: {advice:,}"] if advice else []),
        f"all threads together waited {format_quantity(facts.fault_storage_wait, 's')} for storage in faults",
        *facts.describe_top_major_site(),
    )


READ_AHEAD_OFF = Rule(
    name="read-ahead-off",
    title="A mapped file is read page by page, without read-ahead",
    condition=_is_read_ahead_off,
    max_saving=_estimate_read_ahead_saving,
    evidence=_describe_read_ahead,
    remedies=lambda _: (
        Remedy(text="remove MADV_RANDOM (or POSIX_FADV_RANDOM) where pages are read in order; advise MADV_SEQUENTIAL"),
        Remedy(text="read ahead what is needed soon (MADV_WILLNEED, MAP_POPULATE), or read() larger pieces"),
        Remedy(text="check the device's read-ahead: /sys/block/DEVICE/queue/read_ahead_kb"),
    ),
    report="a mapped database: one call to madvise turned one read of 128 KiB into 32 of 4 KiB",
)


MEMORY_LIMIT = Rule(
    name="memory-short",
    title="Memory is short: pages that were evicted are needed again",
    condition=_is_memory_short,
    max_saving=_estimate_memory_saving,
    evidence=_describe_shortage,
    remedies=lambda _: (
        Remedy(text="raise the control group's limit, or use less memory at once"),
        Remedy(text="lock the memory that must not be evicted (mlock); check vm.swappiness and the host's other load"),
    ),
    report="services under a memory limit: major faults and stalls although the program itself did not change",
    count=_count_evicted_pages,
)


def _count_major_faults(facts: Facts) -> float:
    """Return the number of major faults of the process or of its control group, whichever is larger."""
    return max(facts.anatomy.major, facts.profile.find_value("cgroup:pgmajfault") or 0)


def _count_refaults(facts: Facts) -> float:
    """Return how many pages were needed again after they had been evicted, however long after."""
    return (facts.profile.find_value(_SWAP_REFAULTS) or 0) + count_file_refaults(facts)


def count_file_refaults(facts: Facts) -> float:
    """Return how many pages of files were needed again after they had been evicted; zero if this was not counted.

    The files of a cold case are evicted before it starts, so its refaults of files say nothing. Those of the execution
    with the files in memory count instead.
    """
    is_cold = "warm" in facts.profile.references
    return (_read_warm(facts, _FILE_REFAULTS) if is_cold else facts.profile.find_value(_FILE_REFAULTS)) or 0.0


def _list_memory_kinds(facts: Facts) -> str:
    """Return in words the number of major faults in each kind of memory."""
    return ", ".join(f"{kind.value} {number:,}" for kind, number in facts.anatomy.major_by_memory.items()) or "unknown"
