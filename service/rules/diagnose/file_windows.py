"""Recognises mapped files whose pages come and go: a file is mapped in windows, or dropped with madvise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_amount, format_share
from runner.contract.profile import FaultKind, Memory, Site, Touch
from service.rules.diagnose.contention import LOCK_CONTENTION
from service.rules.diagnose.profile_facts import Facts, is_image_file, name_files
from service.rules.diagnose.rule import Rule
from service.rules.diagnose.storage_faults import count_file_refaults

MIN_WINDOWS = 32
"""A file is mapped in windows if munmap is called at least this often; fewer calls may be for files read once each."""
MIN_MORE_WINDOWS, MIN_GROWTH_FACTOR = 8, 2.0
"""If there are this many times more faults on pages that had been unmapped than before a change, this many calls of
munmap are enough."""
MIN_WINDOWS_PER_FILE = 8
"""If munmap is called less often for each of the files, they are small files that are read whole a few times, such as
the objects of git, and no window could be larger."""

MIN_FAULTS_PER_CALL = 0.5
"""Smallest number of faults on pages that had been unmapped, per call of munmap. A window nearly always takes the place
of an earlier one; files that are mapped once each rarely do."""


def _list_kinds(facts: Facts, touch: Touch) -> list[FaultKind | Site]:
    """Return the faults with a given touch on pages of mapped files, except the program's image, by file."""
    return _select_file_data(facts, facts.kinds, touch)


def _select_file_data(facts: Facts, entries: Iterable[FaultKind | Site], touch: Touch) -> list[FaultKind | Site]:
    """Return the entries with a given touch on pages of mapped files, except the program's image."""
    return [
        entry
        for entry in entries
        if entry.memory is Memory.FILE_DATA
        and entry.touch is touch
        and not is_image_file(facts.profile, entry.memory, entry.file)
    ]


def _count_remapped_faults(facts: Facts) -> int:
    """Return the number of faults on pages of files at addresses that had been unmapped."""
    return sum(entry.faults for entry in _list_kinds(facts, Touch.AFTER_MUNMAP))


def _count_minor_remapped_faults(facts: Facts) -> int:
    """Return the number of minor faults on pages of files that fault again only because they had been unmapped.

    A major fault is not due to the unmapping: its page was not in memory. Which touches the major faults had is
    unknown, so each touch is assumed to have the same share of them. Nor is a fault on a page that had been evicted:
    the kernel also removes it from a lasting mapping, and after the read-ahead its fault is minor.
    """
    remapped_faults = _count_remapped_faults(facts)
    faults_in_files = facts.anatomy.by_memory.get(Memory.FILE_DATA, 0)
    major = min(faults_in_files, facts.anatomy.major_by_memory.get(Memory.FILE_DATA, 0))
    minor = round(remapped_faults * (1 - major / faults_in_files)) if faults_in_files else remapped_faults
    return max(0, min(minor, remapped_faults - round(count_file_refaults(facts))))


def _is_mapped_in_windows(facts: Facts) -> bool:
    """Return whether files are mapped again and again: whole or piece by piece, and unmapped each time.

    If threads wait for the mmap lock, this lock is the finding instead.
    """
    n_files, n_calls = _estimate_files(facts), facts.count_calls("munmap")
    min_calls = MIN_MORE_WINDOWS if _has_grown(facts) else MIN_WINDOWS
    return (
        n_calls >= max(min_calls, MIN_WINDOWS_PER_FILE * n_files)
        and _count_minor_remapped_faults(facts) > 0
        and _count_remapped_faults(facts) >= MIN_FAULTS_PER_CALL * n_calls
        and LOCK_CONTENTION.evaluate(facts) is None
    )


def _has_grown(facts: Facts) -> bool:
    """Return whether several times as many faults as before the change are on pages of files that had been unmapped."""
    if facts.before is None:
        return False
    return _count_remapped_faults(facts) >= MIN_GROWTH_FACTOR * max(1, _count_remapped_faults(facts.before))


def _estimate_one_mapping_saving(facts: Facts) -> float:
    """Return the share of the CPU time that a permanent mapping saves: the faults, and a part of the calls.

    This part is the share of the files in all faults at addresses that had been unmapped.
    """
    if not facts.faults:
        return 0.0
    faults_after_unmapping = facts.anatomy.by_touch.get(Touch.AFTER_MUNMAP, 0)
    remapped_faults = _count_minor_remapped_faults(facts)
    cost_of_calls = facts.sum_costs("mmap", "munmap") * min(1.0, remapped_faults / max(1, faults_after_unmapping))
    return facts.estimate_cost(remapped_faults) + cost_of_calls


def _list_files(facts: Facts, touch: Touch) -> list[str]:
    """Return the names of the files whose pages faulted with a given touch.

    The kinds of faults name the files with the most faults, and the places may name others.
    """
    entries: list[FaultKind | Site] = [*facts.anatomy.kinds, *facts.anatomy.sites]
    return sorted({entry.file for entry in _select_file_data(facts, entries, touch) if entry.file})


def _estimate_files(facts: Facts) -> float:
    """Return how many files at least have faults on pages that had been unmapped.

    A profile names the files with the most faults. Each of the others has at most as many as the last of these.
    """
    faults_by_file: Counter[str] = Counter()
    unnamed_faults = 0
    for kind in facts.anatomy.kinds:
        if kind.file:
            faults_by_file[kind.file] += kind.faults
        elif kind.memory is Memory.FILE_DATA and kind.touch is Touch.AFTER_MUNMAP:
            unnamed_faults += kind.faults
    n_unnamed = unnamed_faults / max(1, min(faults_by_file.values())) if faults_by_file else 0.0
    return len(_list_files(facts, Touch.AFTER_MUNMAP)) + n_unnamed


def _format_files(facts: Facts, touch: Touch) -> str:
    """Return the names of the files whose pages faulted with a given touch."""
    return name_files(_list_files(facts, touch)) or "mapped files"


def _describe_windows(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the files, the faults after unmapping, and the number and mean size of the windows."""
    windows = facts.count_calls("munmap")
    files = _format_files(facts, Touch.AFTER_MUNMAP)
    faults = _count_remapped_faults(facts)
    return (
        f"{faults:,} faults on pages of {files} that had been mapped before and then unmapped",
        f"{windows:,} calls to munmap, on average one for {format_amount(faults * facts.page_size / windows)} of pages "
        "that faulted again; a lasting mapping of each file would save up to "
        f"{format_share(_estimate_one_mapping_saving(facts))} of the CPU time",
        *_describe_unmapping_line(facts),
        *facts.describe_top_site("of these faults are", (Touch.AFTER_MUNMAP,), (Memory.FILE_DATA,)),
    )


def _describe_unmapping_line(facts: Facts) -> tuple[str, ...]:
    """Return as evidence the line that unmaps what faults again; empty if it is unknown, or only estimated."""
    line = facts.find_returning_line("munmap") if facts.profile.returned else ""
    return (f"most of the pages that fault again were unmapped by {line}",) if line else ()


FILE_WINDOWS = Rule(
    name="file-windows",
    title="A file is mapped and unmapped repeatedly",
    condition=_is_mapped_in_windows,
    max_saving=_estimate_one_mapping_saving,
    evidence=_describe_windows,
    remedies=lambda _: (
        Remedy(text="map the whole file once and keep the mapping; the address space is large enough"),
        Remedy(text="if you cannot keep it, map larger pieces with MAP_POPULATE, or read() into one buffer"),
    ),
    report="linkers and databases that map a file in pieces; each piece faults again, page by page",
    count=_count_minor_remapped_faults,
)


def _count_faults_on_dropped_pages(facts: Facts) -> int:
    """Return the number of faults on pages of files that madvise had dropped."""
    return sum(entry.faults for entry in _list_kinds(facts, Touch.AFTER_MADVISE))


def _estimate_kept_mapping_saving(facts: Facts) -> float:
    """Return the share of the CPU time that keeping the pages saves: their faults, and calls up to the same share."""
    faults = facts.estimate_cost(_count_faults_on_dropped_pages(facts))
    return faults + min(faults, facts.sum_costs("madvise"))


def _describe_dropped_pages(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the files, the faults after madvise, the calls, and what keeping the pages would save."""
    return (
        f"{_count_faults_on_dropped_pages(facts):,} faults on pages of {_format_files(facts, Touch.AFTER_MADVISE)} "
        "that madvise had dropped from the mapping",
        f"{facts.count_calls('madvise'):,} calls to madvise; keeping the pages would save up to "
        f"{format_share(_estimate_kept_mapping_saving(facts))} of the CPU time",
        *facts.describe_top_site("of these faults are", (Touch.AFTER_MADVISE,), (Memory.FILE_DATA,)),
    )


DROPPED_FILE = Rule(
    name="dropped-file",
    title="Pages of a mapped file are dropped and touched again",
    condition=lambda facts: facts.count_calls("madvise") > 0 and _count_faults_on_dropped_pages(facts) > 0,
    max_saving=_estimate_kept_mapping_saving,
    evidence=_describe_dropped_pages,
    remedies=lambda _: (
        Remedy(text="do not drop (MADV_DONTNEED) what you will read again: the kernel evicts file pages when it must"),
        Remedy(text="drop a part only after its last use, or advise MADV_COLD, which leaves its pages mapped"),
    ),
    report="readers that drop each part of a mapped file after reading it, to keep their resident memory small",
    count=_count_faults_on_dropped_pages,
)
