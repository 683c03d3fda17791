"""Each pathology by its evidence; none where its condition is false or its remedy wins nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.contract.diagnosis import DiagnosisRequest, Finding
from runner.contract.profile import (
    UNKNOWN_FUNCTION,
    AllocatingLine,
    Call,
    Census,
    FaultKind,
    Frame,
    Memory,
    Profile,
    Site,
    StackKind,
    StackProfile,
    Touch,
)
from runner.contract.report import Environment
from service.rules.diagnose.added_cost import compute_time_ratio
from service.rules.diagnose.contention import LOCK_CONTENTION
from service.rules.diagnose.diagnosis import RULES, diagnose_profile
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import MIN_SAVING
from tests.service.profiles import FAULTING, FRAMES, MAIN, STORAGE, UNMAPPING, anatomy, area, profile, stacks

AGAIN = {Touch.FIRST: 100, Touch.AFTER_MADVISE: 9_900}
UNMAPPED = {Touch.FIRST: 100, Touch.AFTER_MUNMAP: 9_900}
NEW = {Touch.FIRST: 65_536}
PAIRS = {"mmap": 500, "munmap": 500}
PERCENT = "\N{NARROW NO-BREAK SPACE}%"
GROWTH = "void std::vector<long, std::allocator<long> >::_M_realloc_insert<long>(long&&)"


def findings(profile: Profile, before: Profile | None = None) -> list[Finding]:
    return list(diagnose_profile(DiagnosisRequest(profile=profile, before=before)).findings)


def rules(profile: Profile, before: Profile | None = None) -> list[str]:
    return [finding.rule for finding in findings(profile, before)]


def test_a_program_that_is_well_gets_no_finding_but_the_evidence() -> None:
    diagnosis = diagnose_profile(DiagnosisRequest(profile=profile(anatomy({Touch.FIRST: 300}), cost=0.02)))
    assert not diagnosis.findings
    assert diagnosis.evidence[0].startswith("300 faults on 100 pages")


def test_a_single_fault_is_written_in_the_singular() -> None:
    single = anatomy({Touch.FIRST: 1}).model_copy(update={"pages": 1})
    diagnosis = diagnose_profile(DiagnosisRequest(profile=profile(single)))
    assert diagnosis.evidence[0].startswith("1 fault on 1 page")


def test_pages_that_madvise_took_and_the_program_needs_again() -> None:
    (finding,) = findings(profile(anatomy(AGAIN, Memory.HEAP), cost=0.5, calls={"madvise": 99}))
    assert finding.rule == "returned-memory"
    assert finding.price == pytest.approx(0.495)
    assert f"99{PERCENT} of the faults" in finding.evidence[0]
    assert finding.evidence[1] == f"calls: 99 madvise; keeping the pages would save up to 50{PERCENT} of the CPU time"
    assert {"allocator": "tcmalloc"} in [remedy.settings for remedy in finding.remedies]
    assert "TensorFlow" in finding.report


def test_what_costs_less_than_one_percent_is_no_finding() -> None:
    assert rules(profile(anatomy(AGAIN), cost=0.009, calls={"madvise": 99})) == []
    assert rules(profile(anatomy(AGAIN), cost=0.03, calls={"madvise": 99})) == ["returned-memory"]
    assert rules(profile(anatomy(UNMAPPED), cost=0.009, calls={"mmap": 99, "munmap": 99})) == []


def test_two_faults_in_a_program_that_spends_its_time_in_the_kernel_are_no_buffers() -> None:
    two = anatomy({Touch.AFTER_MUNMAP: 2}, pages=1)
    assert rules(profile(two, on_cpu=None, readings={"sys-percent": 90.0}, calls=PAIRS)) == []


def test_a_few_recorded_stacks_are_no_measurement() -> None:
    few = stacks(StackKind.ON_CPU, {(MAIN,): 1, (MAIN, FAULTING): 2}, samples=3)
    made = profile(anatomy(AGAIN), on_cpu=few, calls={"madvise": 99})
    assert rules(made) == []
    assert "too little CPU time" in "\n".join(diagnose_profile(DiagnosisRequest(profile=made)).evidence)


def test_buffers_that_each_operation_takes_several_of() -> None:
    (finding,) = findings(profile(anatomy(UNMAPPED), cost=0.3, calls={"mmap": 50, "munmap": 50}))
    assert finding.rule == "temporary-buffers"
    # One of five can be the result, which has to be stored.
    assert finding.price == pytest.approx(0.3 * 0.99 * 0.8)


@pytest.mark.parametrize(
    ("settings", "mib"), [({}, 3.91), ({"memory.page_size": "4096"}, 3.91), ({"memory.page_size": "65536"}, 62.5)]
)
def test_the_memory_of_the_buffers_follows_the_page_size(settings: dict[str, str], mib: float) -> None:
    calls = {"mmap": 50, "munmap": 50}
    (finding,) = findings(profile(anatomy(UNMAPPED), cost=0.3, calls=calls, settings=settings, operations=10))
    sentence = f"1,000 faults per operation on average: {mib}\N{NO-BREAK SPACE}MiB of pages"
    assert sentence in finding.evidence


def test_one_buffer_an_operation_can_be_its_result_unless_it_costs_most_of_the_time() -> None:
    assert rules(profile(anatomy(UNMAPPED), cost=0.4, calls={"mmap": 10, "munmap": 10})) == []
    assert rules(profile(anatomy(UNMAPPED), cost=0.8, calls={"mmap": 10, "munmap": 10})) == ["temporary-buffers"]


def test_what_an_interpreter_maps_at_its_start_is_no_buffer_of_an_operation() -> None:
    """The libraries stay mapped: an operation that keeps its buffer has as many calls of mmap, and few of munmap."""
    assert rules(profile(anatomy(UNMAPPED), cost=0.3, calls={"mmap": 361, "munmap": 3})) == []


def test_a_heap_that_grows_and_shrinks_takes_once_in_two_calls() -> None:
    shrunk = anatomy({Touch.FIRST: 100, Touch.AFTER_BRK: 9_900}, Memory.HEAP)
    assert rules(profile(shrunk, cost=0.4, calls={"brk": 20})) == []
    assert rules(profile(shrunk, cost=0.4, calls={"brk": 60})) == ["temporary-buffers"]


def mapped_again(windows: int, waited: float = 0.0, files: int = 1, **readings: float) -> Profile:
    """Return a profile of a program that maps parts of files again and again, and waits for the lock."""
    frame = Frame(function="read_part", file="/srv/read.c", line=7)
    names = ["/srv/data.db", *(f"/srv/{number}" for number in range(1, files))]
    sites = tuple(
        Site(frame=frame, memory=Memory.FILE_DATA, touch=touch, file=name, faults=faults // files)
        for touch, faults in UNMAPPED.items()
        for name in names
    )
    made = anatomy(UNMAPPED, Memory.FILE_DATA, sites=sites)
    return profile(made, cost=0.8, waited=waited, calls={"mmap": windows, "munmap": windows}, readings=readings)


def test_pages_of_a_file_that_madvise_dropped_are_no_returned_memory() -> None:
    frame = Frame(function="scan", file="/srv/read.c", line=7)

    def dropped(file: str) -> Profile:
        sites = (Site(frame=frame, memory=Memory.FILE_DATA, touch=Touch.AFTER_MADVISE, file=file, faults=9_900),)
        return profile(
            anatomy(AGAIN, Memory.FILE_DATA, sites=sites, faults_at_other_sites=100), cost=0.3, calls={"madvise": 9}
        )

    (finding,) = findings(dropped("/srv/index.db"))
    assert finding.rule == "dropped-file"
    assert finding.price == pytest.approx(0.3 * 0.99)
    assert "9,900 faults on pages of /srv/index.db" in finding.evidence[0]
    assert finding.evidence[1] == f"9 calls to madvise; keeping the pages would save up to 30{PERCENT} of the CPU time"
    assert rules(dropped("/usr/lib/libc.so.6")) == []


def test_a_few_long_waits_are_a_host_that_preempts_and_no_contention() -> None:
    made = profile(anatomy(NEW), waited=2.0, calls=PAIRS)
    assert made.off_cpu is not None
    waiting, *others = made.off_cpu.stacks

    def waited(times: int | None) -> Profile:
        counted = (waiting.model_copy(update={"waits": times}), *others)
        return made.model_copy(update={"off_cpu": made.off_cpu.model_copy(update={"stacks": counted})})

    assert rules(waited(3)) == []
    (finding,) = findings(waited(300))
    assert finding.rule == "mmap-lock"
    assert finding.evidence[0].startswith("threads waited for the mmap lock 300 times, for ")


def test_threads_that_wait_because_a_file_is_mapped_in_windows_wait_for_the_lock() -> None:
    assert rules(mapped_again(500, waited=2.0)) == ["mmap-lock"]


def test_where_only_a_part_of_the_faults_was_recorded_no_number_of_pages_is_named() -> None:
    """The same pages may have faulted before and after the recording."""
    scaled = profile(anatomy(UNMAPPED, is_scaled=True), cost=0.8, calls=PAIRS)
    (finding,) = findings(scaled)
    assert finding.evidence[0].endswith(" of the faults are on pages that had been unmapped")
    assert diagnose_profile(DiagnosisRequest(profile=scaled)).evidence[0] == "10,000 faults, 0 major"


def test_a_file_that_is_mapped_in_windows_is_no_buffer() -> None:
    (finding,) = findings(mapped_again(50))
    assert finding.rule == "file-windows"
    assert finding.price == pytest.approx(0.8 * 0.99)
    assert "9,900 faults on pages of /srv/data.db" in finding.evidence[0]
    assert "50 calls to munmap" in finding.evidence[1]
    assert finding.evidence[1].endswith(f"a lasting mapping of each file would save up to 79{PERCENT} of the CPU time")


def test_a_file_that_a_change_maps_again_twenty_times_is_mapped_repeatedly() -> None:
    once = profile(anatomy({Touch.FIRST: 99}), cost=0.8, calls={"mmap": 1, "munmap": 1})
    assert rules(mapped_again(20), once) == ["file-windows"]
    assert "file-windows" not in rules(mapped_again(20), mapped_again(20))


def test_a_few_files_that_are_each_read_once_are_no_windows() -> None:
    assert rules(mapped_again(20)) == []


def test_many_small_files_that_are_each_read_a_few_times_are_no_windows() -> None:
    assert rules(mapped_again(100, files=20)) == []
    assert rules(mapped_again(400, files=20)) == ["file-windows"]


@pytest.mark.parametrize(
    ("evicted", "expected"), [(100, ["file-windows", "memory-short"]), (400_000, ["memory-short"])]
)
def test_pages_that_a_memory_limit_evicts_fault_again_in_a_lasting_mapping_too(
    evicted: int, expected: list[str]
) -> None:
    short = {**SHORT, "cgroup:workingset_refault_file": float(evicted)}
    assert rules(mapped_again(50, **short)) == expected


@pytest.mark.parametrize(("again", "expected"), [(20, []), (200, ["file-windows"])])
def test_files_that_are_mapped_once_each_are_no_windows_although_some_take_the_place_of_others(
    again: int, expected: list[str]
) -> None:
    """As git does with its objects: of the files that are only touched for the first time, nothing was unmapped."""
    touches = {Touch.FIRST: 500, Touch.AFTER_MUNMAP: again}
    kinds = tuple(
        FaultKind(memory=Memory.FILE_DATA, touch=touch, file="/srv/one", faults=number)
        for touch, number in touches.items()
    )
    made = anatomy(touches, Memory.FILE_DATA, kinds=kinds)
    assert rules(profile(made, cost=0.8, calls={"mmap": 300, "munmap": 300})) == expected


@pytest.mark.parametrize(("unnamed", "expected"), [(5_000, []), (100, ["file-windows"])])
def test_small_files_without_names_are_counted_by_their_faults(unnamed: int, expected: list[str]) -> None:
    """A profile names only the files with the most faults: here three, the last with ten faults."""
    faults = {"/srv/1": 9_880 - unnamed, "/srv/2": 10, "/srv/3": 10, "": unnamed}
    kinds = tuple(
        FaultKind(memory=Memory.FILE_DATA, touch=Touch.AFTER_MUNMAP, file=file, faults=number)
        for file, number in faults.items()
    )
    made = anatomy({Touch.AFTER_MUNMAP: 9_900}, Memory.FILE_DATA, kinds=kinds)
    assert rules(profile(made, cost=0.8, calls={"mmap": 600, "munmap": 600})) == expected


@pytest.mark.parametrize(("share", "expected"), [(0.1, ["mmap-lock"]), (0.0, [])])
def test_threads_that_wait_for_the_lock_where_calls_could_not_be_recorded(share: float, expected: list[str]) -> None:
    weights = {(MAIN, UNMAPPING): round(share * 1e9), (MAIN,): round((1 - share) * 1e9)}
    made = profile(anatomy({}), waited=2.0, census=None, on_cpu=stacks(StackKind.ON_CPU, weights))
    assert rules(made) == expected


def test_threads_that_wait_for_the_lock() -> None:
    (finding,) = findings(profile(anatomy(UNMAPPED, Memory.FILE_DATA), waited=2.0, calls=PAIRS))
    assert finding.rule == "mmap-lock"
    assert finding.price == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("waited", "first"), [(2.0, "mmap-lock"), (0.5, "temporary-buffers")], ids=["longer than it runs", "shorter"]
)
def test_buffers_whose_threads_wait_longer_than_they_run_contend_for_the_lock(waited: float, first: str) -> None:
    """All processors are busy, so that the waiting alone costs nothing."""
    busy = {"elapsed": 0.5, "task-clock": 1.0}
    made = profile(
        anatomy(UNMAPPED), cost=0.8, waited=waited, readings=busy, calls=PAIRS, settings={"cpu.allowed": "2"}
    )
    assert rules(made)[0] == first


def test_a_few_calls_do_not_compete_for_the_lock() -> None:
    assert rules(profile(anatomy(NEW), waited=2.0, calls={"mmap": 16})) == []


@pytest.mark.parametrize("cpu", [0.0, 1.0])
def test_a_nanosecond_of_waiting_for_the_lock_is_nothing(cpu: float) -> None:
    assert rules(profile(anatomy(NEW), waited=1e-9, readings={"task-clock": cpu}, calls=PAIRS)) == []


def test_waiting_for_the_lock_costs_nothing_while_all_processors_are_busy() -> None:
    busy = {"task-clock": 1.0, "elapsed": 0.5}
    made = profile(
        anatomy(UNMAPPED, Memory.FILE_DATA), waited=9.0, readings=busy, calls=PAIRS, settings={"cpu.allowed": "2"}
    )
    assert rules(made) == []


@pytest.mark.parametrize(
    ("alone", "elapsed", "expected"),
    [
        ({"page-faults": 10_000, "elapsed": 1.0}, 4.0, ["first-touch-storm", "temporary-buffers"]),
        ({"page-faults": 10_000, "elapsed": 1.0}, 1.01, ["temporary-buffers"]),  # it scales
        ({"page-faults": 2_500, "elapsed": 1.0}, 4.0, ["temporary-buffers"]),  # they fault more together
        ({"page-faults": 10_000}, 4.0, ["temporary-buffers"]),  # the time alone was not measured
        (None, 4.0, ["temporary-buffers"]),  # alone was not measured
    ],
)
def test_processes_that_fault_as_one_alone_does_but_take_longer(
    alone: dict[str, float] | None, elapsed: float, expected: list[str]
) -> None:
    made = profile(
        anatomy(UNMAPPED),
        cost=0.8,
        calls={"brk": 60},
        processes=4,
        operations=40,
        readings={"page-faults": 40_000, "elapsed": elapsed, "task-clock": 4.0},
        references={} if alone is None else {"alone": alone},
    )
    assert rules(made) == expected


def test_many_threads_that_use_a_large_region_first() -> None:
    made = profile(anatomy(NEW, areas=(area(),)), cost=0.4, scope="region")
    assert rules(made) == ["concurrent-first-use"]


@pytest.mark.parametrize("change", [{"threads": 1}, {"size": 1 << 20}, {"memory": Memory.FILE_DATA}])
def test_one_thread_or_a_small_region_or_a_file_is_none(change: dict[str, Any]) -> None:
    assert rules(profile(anatomy(NEW, areas=(area(**change),)), cost=0.4, scope="region")) == []


def test_without_a_region_of_interest_first_touches_can_be_the_start() -> None:
    assert rules(profile(anatomy(NEW, areas=(area(),)), cost=0.4)) == []


def cold(major: int = 69, left: int = 0, storage: float = 0.2, warm: float = 0.1, **changes: Any) -> Profile:
    text = anatomy({Touch.FIRST: 200}, Memory.FILE_TEXT, major=major, major_by_memory={Memory.FILE_TEXT: major})
    return profile(
        changes.pop("anatomy", text),
        readings={"major-faults": major, "elapsed": 0.3},
        references={"warm": {"major-faults": left, "elapsed": warm}},
        off_cpu=stacks(StackKind.OFF_CPU, {(MAIN, FAULTING, STORAGE): round(storage * 1e9)}),
        **changes,
    )


def test_a_start_from_storage() -> None:
    (finding,) = findings(cold())
    assert finding.rule == "cold-start"
    assert finding.price == pytest.approx(2 / 3)
    assert "69 major faults" in finding.evidence[0]
    assert "300\N{NO-BREAK SPACE}ms instead of 100\N{NO-BREAK SPACE}ms" in finding.evidence[0]
    assert finding.evidence[1] == "all threads together waited 200\N{NO-BREAK SPACE}ms for storage"


def test_a_start_that_is_as_cold_when_warm_is_none() -> None:
    assert rules(cold(major=5, left=5)) == []
    assert rules(cold(major=69, left=60)) == []


def test_a_single_major_fault_does_not_outrank_buffers_that_cost_almost_half() -> None:
    buffers = anatomy(UNMAPPED, major=1, major_by_memory={Memory.FILE_TEXT: 1})
    calls = {"mmap": 500, "munmap": 500}
    made = cold(major=1, storage=0.01, warm=0.15, anatomy=buffers, cost=0.45, calls=calls)
    assert rules(made) == ["temporary-buffers", "cold-start"]


def test_a_longer_start_without_waiting_for_storage_is_chance() -> None:
    assert rules(cold(storage=0.0)) == []


SHORT = {"cgroup:pgmajfault": 500, "cgroup:workingset_refault_file": 400, "cgroup:memory-stall-some": 0.5}


def test_memory_that_is_short() -> None:
    (finding,) = findings(profile(anatomy({Touch.FIRST: 500}), readings=SHORT))
    assert finding.rule == "memory-short"
    assert finding.price == pytest.approx(1 / 3)
    assert rules(profile(anatomy({Touch.FIRST: 500}), readings={"cgroup:pgmajfault": 500})) == []


@pytest.mark.parametrize(
    ("warm", "short"), [({}, False), ({"cgroup:workingset_refault_file": 0}, False), (SHORT, True)]
)
def test_memory_is_short_in_a_cold_case_if_the_warm_start_reads_its_files_again(
    warm: dict[str, float], short: bool
) -> None:
    made = profile(anatomy({Touch.FIRST: 500}), readings=SHORT, references={"warm": warm})
    assert rules(made) == (["memory-short"] if short else [])


def test_memory_is_short_in_a_cold_case_if_its_own_memory_was_swapped_out() -> None:
    swapped = anatomy({Touch.FIRST: 500}, major=12, major_by_memory={Memory.HEAP: 12})
    assert rules(profile(swapped, readings=SHORT, references={"warm": {"major-faults": 12}})) == ["memory-short"]


def test_a_limit_that_is_far_away_does_not_make_memory_short() -> None:
    few = anatomy({Touch.FIRST: 500}, major=12, major_by_memory={Memory.FILE_TEXT: 12})
    waited = stacks(StackKind.OFF_CPU, {(MAIN, FAULTING, STORAGE): 10**9})
    assert rules(profile(few, settings={"process.memory_limit": str(64 << 30)}, off_cpu=waited)) == []


def test_where_stalls_are_not_counted_the_faults_that_wait_for_storage_are() -> None:
    swapped = anatomy({Touch.FIRST: 500}, major=12, major_by_memory={Memory.HEAP: 12})
    waited = stacks(StackKind.OFF_CPU, {(MAIN, FAULTING, STORAGE): 10**9})
    (finding,) = findings(profile(swapped, off_cpu=waited))
    assert (finding.rule, finding.price) == ("memory-short", 0.5)
    assert not any("evicted" in line for line in finding.evidence), "the kernel did not count evicted pages"
    assert rules(profile(swapped)) == []


def test_a_limit_that_evicts_files_is_not_a_start_that_waits_although_it_waited_for_storage_before() -> None:
    def cold(major: int, evicted: int, stored: float, limit: str) -> Profile:
        warm = {"elapsed": 1.0, "major-faults": 1.0, "cgroup:workingset_refault_file": float(evicted)}
        return profile(
            anatomy({Touch.FIRST: 500}, major=major, major_by_memory={Memory.FILE_DATA: major}),
            stored=stored,
            readings={"major-faults": float(major), "elapsed": 2.0},
            references={"warm": warm},
            settings={"process.memory_limit": limit},
        )

    before = cold(2, 0, 0.33, "none")
    assert rules(before) == ["cold-start"]
    (finding,) = findings(cold(5, 1_500, 0.3, "67108864"), before)
    assert finding.rule == "memory-short"
    assert "pages that had been evicted were needed again 1,500 times" in finding.evidence
    assert rules(cold(5, 0, 0.3, "67108864"), before) == []
    assert rules(cold(5, 0, 0.9, "67108864"), before) == ["cold-start"]
    assert rules(cold(2, 0, 0.9, "67108864"), before) == []  # The same reads, on a slower disk.


def huge(faults: int, cost: float, policy: str = "host", **readings: float) -> Profile:
    counted = {f"cgroup:{name}": value for name, value in readings.items()}
    return profile(anatomy({Touch.FIRST: faults}), cost=cost, readings=counted, settings={"process.huge_pages": policy})


def test_huge_pages_that_were_lost_or_gained() -> None:
    few, many = huge(100, 0.1, "always"), huge(51_200, 0.4, "never")
    (lost,), (gained,) = findings(many, few), findings(few, many)
    assert (lost.title, gained.title) == ("Huge pages were lost", "Huge pages were gained")
    assert lost.price == pytest.approx(0.3)
    assert rules(huge(51_200, 0.4, "always"), few) == []
    assert rules(huge(51_200, 0.1, "never"), few) == []  # no time was lost


def test_a_policy_of_the_host_that_the_process_refuses_gives_no_huge_pages() -> None:
    few, many = (
        made.model_copy(
            update={"environment": Environment(settings={"process.huge_pages": "never", "thp.enabled": policy})}
        )
        for made, policy in ((huge(100, 0.1), "always"), (huge(51_200, 0.4), "never"))
    )
    assert rules(many, few) == []
    unset, refusing = (
        huge(faults, cost).model_copy(update={"environment": Environment(settings=settings)})
        for faults, cost, settings in (
            (100, 0.1, {"thp.enabled": "always"}),
            (51_200, 0.4, {"thp.enabled": "always", "process.huge_pages": "never"}),
        )
    )
    assert rules(refusing, unset) == ["huge-pages"]


@pytest.mark.parametrize(
    ("memory", "touch", "file", "call", "rule", "evidence"),
    [
        (Memory.ANONYMOUS, Touch.AFTER_MADVISE, "", "madvise", "returned-memory", f"100{PERCENT} of the faults"),
        (Memory.ANONYMOUS, Touch.AFTER_MUNMAP, "", "munmap", "temporary-buffers", f"100{PERCENT} of the faults"),
        (Memory.FILE_DATA, Touch.AFTER_MUNMAP, "data/table", "munmap", "file-windows", "10,000 faults on pages"),
        (Memory.FILE_DATA, Touch.AFTER_MADVISE, "data/table", "madvise", "dropped-file", "10,000 faults on pages"),
    ],
)
def test_faults_at_places_that_are_not_listed_count_as_well(
    memory: Memory, touch: Touch, file: str, call: str, rule: str, evidence: str
) -> None:
    site = Site(frame=Frame(function="copy"), memory=memory, touch=touch, file=file, faults=100)
    kind = FaultKind(memory=memory, touch=touch, file=file, faults=10_000)
    many_places = anatomy({touch: 10_000}, memory, sites=(site,), faults_at_other_sites=9_900, kinds=(kind,))
    (finding,) = findings(profile(many_places, cost=0.6, calls={call: 500}))
    assert finding.rule == rule
    assert evidence in finding.evidence[0]


@pytest.mark.parametrize(
    ("faulting", "unmapping"),
    [
        ("asm_exc_page_fault", "__x64_sys_munmap"),
        ("do_mem_abort", "__arm64_sys_munmap"),
        ("do_page_fault", "__riscv_sys_munmap"),
        ("___do_page_fault", "sys_munmap"),
        ("do_dat_exception", "__s390x_sys_munmap"),
        ("exc_page_fault", "__ia32_sys_munmap"),
    ],
)
def test_the_kernels_functions_are_known_on_each_architecture(faulting: str, unmapping: str) -> None:
    frames = tuple(Frame(function=name) for name in ("main", faulting, unmapping))
    on_cpu = stacks(StackKind.ON_CPU, {(0,): 500, (0, 1): 300, (0, 2): 200})
    facts = Facts.from_profile(profile(anatomy({Touch.FIRST: 100}), frames=frames, on_cpu=on_cpu, off_cpu=None))
    assert (facts.fault_cost_share, facts.call_costs) == (0.3, {"munmap": 0.2})


@pytest.mark.parametrize("value", ["0", "9" * 400, "9" * 4_000])
def test_impossible_settings_break_no_diagnosis(value: str) -> None:
    kinds = (FaultKind(memory=Memory.ANONYMOUS, touch=Touch.FIRST, faults=100),)
    lines = (AllocatingLine(file="A.java", function="A.f", line=1, bytes=10),)
    before, after = (
        profile(
            anatomy({Touch.FIRST: 100 * number}, kinds=(kinds[0].model_copy(update={"faults": 100 * number}),)),
            waited=1,
            calls={"mmap": 1_000},
            readings={"elapsed": 1.0},
            settings={"memory.page_size": value, "cpu.allowed": value},
            java_lines=lines,
        )
        for number in (1, 2)
    )
    assert diagnose_profile(DiagnosisRequest(profile=after, before=before)).difference is not None


def touched_by_pages(faults: int, size: int = 1 << 26, advice: int = 0, cost: float = 0.4) -> Profile:
    """Return a profile of a program that touches one area for the first time."""
    census = Census(source="tracepoints", calls={}, advice={"MADV_HUGEPAGE": advice} if advice else {})
    areas = (area(size=size, faults=faults, pages=faults),)
    return profile(anatomy({Touch.FIRST: faults}, pages=faults, areas=areas), cost=cost, census=census)


def test_huge_pages_are_lost_without_a_counter_where_an_area_of_the_same_size_faults_512_times_as_often() -> None:
    few, many = touched_by_pages(32, cost=0.1), touched_by_pages(16_384)
    (finding,) = findings(many, few)
    assert finding.rule == "huge-pages"
    assert {"thp": "always"} in [remedy.settings for remedy in finding.remedies]
    assert rules(touched_by_pages(16_384, size=1 << 27), few) == []


@pytest.mark.parametrize("policy", ["madvise", "never"])
def test_a_reserve_that_was_hardly_used_before_had_no_huge_pages_where_none_were_allowed(policy: str) -> None:
    hardly_used, used = (
        touched_by_pages(faults, cost=cost).model_copy(
            update={"environment": Environment(settings={"process.huge_pages": "host", "thp.enabled": policy})}
        )
        for faults, cost in ((32, 0.1), (16_384, 0.4))
    )
    assert rules(used, hardly_used) == []


def test_advice_without_effect_loses_huge_pages_where_faults_on_them_took_time() -> None:
    """One region was advised before, and many small ones after, none of which can hold a huge page."""
    frames = (*FRAMES, Frame(function="do_huge_pmd_anonymous_page"))
    on_huge_page = (MAIN, FAULTING, len(FRAMES))
    seconds = {(MAIN,): 8 * 10**8, on_huge_page: 2 * 10**8}
    before = profile(
        anatomy({Touch.FIRST: 100}),
        frames=frames,
        on_cpu=stacks(StackKind.ON_CPU, seconds),
        census=Census(source="tracepoints", calls={}, advice={"MADV_HUGEPAGE": 1}),
    )
    advised = Census(source="tracepoints", calls={}, advice={"MADV_HUGEPAGE": 1_536})
    after = profile(anatomy({Touch.FIRST: 16_000}), cost=0.5, frames=frames, census=advised)
    (finding,) = findings(after, before)
    assert finding.title == "Huge pages were lost"
    assert f"CPU time in faults on huge pages: 20{PERCENT} → 0{PERCENT}" in finding.evidence
    assert "as one region, aligned to 2\N{NO-BREAK SPACE}MiB" in finding.remedies[0].text
    few_stacks = before.model_copy(update={"on_cpu": stacks(StackKind.ON_CPU, seconds, samples=20)})
    assert rules(after, few_stacks) == []


def test_huge_pages_that_save_hardly_a_fault_cost_their_clearing() -> None:
    """A program touches one byte of each of some huge pages."""
    frames = (*FRAMES, Frame(function="clear_huge_page"))
    seconds = {(MAIN,): 10**8, (MAIN, FAULTING, len(FRAMES)): 9 * 10**8}

    def sparse(faults: int = 150, *, advice: int = 0, on_cpu: StackProfile | None = None) -> Profile:
        census = Census(source="tracepoints", calls={}, advice={"MADV_HUGEPAGE": advice} if advice else {})
        on_cpu = on_cpu or stacks(StackKind.ON_CPU, {(MAIN,): 10**7}, samples=10)  # too short to be sampled
        seconds = {"task-clock": on_cpu.total / 1e9}
        return profile(anatomy({Touch.FIRST: faults}), frames=frames, on_cpu=on_cpu, census=census, readings=seconds)

    cleared = sparse(advice=1, on_cpu=stacks(StackKind.ON_CPU, seconds))
    (finding,) = findings(cleared, sparse())
    assert finding.title == "Huge pages are cleared, and hardly save a fault"
    assert finding.price == pytest.approx(0.89)
    assert finding.remedies[0].settings == {"thp": "never"}
    assert rules(cleared, cleared) == []
    assert rules(cleared, sparse(faults=9_000)) == [], "they save most faults, and cost more than these did"


def test_advice_that_is_gone_loses_huge_pages() -> None:
    (finding,) = findings(touched_by_pages(16_384, size=1 << 27), touched_by_pages(32, advice=1, cost=0.1))
    assert finding.rule == "huge-pages"
    assert "calls to madvise with MADV_HUGEPAGE: 1 → 0" in finding.evidence


def test_more_huge_pages_are_not_lost_even_if_the_faults_grew() -> None:
    before, after = huge(100, 0.1, thp_fault_alloc=0), huge(51_200, 0.4, thp_fault_alloc=3)
    assert rules(after, before) == []
    assert rules(before, after) == []


def test_a_start_that_changed_while_the_region_did_not() -> None:
    def side(region: int, whole: int, cost: float = 0.5) -> Profile:
        counts = {"region:page-faults": region, "page-faults": whole}
        return profile(anatomy({Touch.FIRST: 500}), cost=cost, readings=counts)

    (finding,) = findings(side(500, 950), side(500, 900))
    assert finding.rule == "loader"
    assert finding.price == pytest.approx(0.05)  # 50 faults of 1 ms each
    assert rules(side(550, 950), side(500, 900)) == []
    assert rules(side(500, 905), side(500, 900)) == []  # 5 ms in a second
    assert rules(side(500, 950, cost=0), side(500, 900, cost=0)) == []  # the cost of a fault is unknown


def test_what_can_win_most_comes_first() -> None:
    touch = {Touch.AFTER_MADVISE: 6_000, Touch.FIRST: 4_000}
    made = profile(anatomy(touch), cost=0.2, waited=9.0, calls={"madvise": 900})
    assert rules(made) == ["mmap-lock", "returned-memory"]


def test_a_summary_that_was_stored_with_weights_is_still_read() -> None:
    stored = {"rule": "loader", "title": "t", "evidence": [], "remedies": [], "report": "r", "weight": 0.2}
    assert Finding.model_validate(stored).price == 0.2


READINGS = (
    *("page-faults", "region:page-faults", "major-faults", "elapsed", "task-clock", "region:task-clock"),
    *("sys-percent", "cgroup:pgmajfault", "cgroup:workingset_refault_file", "cgroup:memory-stall-some"),
    "cgroup:thp_fault_alloc",
)
amounts = st.one_of(st.sampled_from([0, 1, 100]), st.floats(0, 10), st.integers(0, 10**6))
readings = st.dictionaries(st.sampled_from(READINGS), amounts)


@pytest.mark.parametrize("late", [(), (Frame(function=UNKNOWN_FUNCTION, module="[kernel]"),)])
def test_where_the_kernel_cannot_be_recorded_faults_cost_at_most_the_system_time(late: tuple[Frame, ...]) -> None:
    in_user_space = (Frame(function="main", module="prog"), *late)
    made = profile(
        anatomy(AGAIN),
        calls={"madvise": 99},
        frames=in_user_space,
        on_cpu=stacks(StackKind.ON_CPU, {(0,): 10**9}),
        off_cpu=None,
        readings={"sys-time": 0.3, "user-time": 0.7},
    )
    (finding,) = findings(made)
    assert finding.rule == "returned-memory"
    assert finding.price == pytest.approx(0.99 * 0.3)


PYTHON = (
    *FRAMES,
    Frame(function="PyGC_Collect", module="/usr/bin/python3.11"),
    Frame(function="do_syscall_64", module="[kernel]"),
)


def forked(copied: int, forks: int, cost: float = 0.5, **changes: Any) -> Profile:
    """Return a profile in which pages were copied after some forks."""
    kinds = (
        FaultKind(memory=Memory.ANONYMOUS, touch=Touch.FIRST, faults=100),
        FaultKind(memory=Memory.ANONYMOUS, touch=Touch.AFTER_FORK, faults=copied),
    )
    touches = {Touch.FIRST: 100, Touch.AFTER_FORK: copied}
    return profile(anatomy(touches, kinds=kinds, forks=forks), cost=cost, **changes)


def test_data_that_is_copied_after_a_fork_is_named_with_who_writes_it() -> None:
    (finding,) = findings(forked(9_900, 1))
    assert finding.rule == "copies-after-fork"
    assert "9,900 pages were copied after a fork" in finding.evidence[0]
    assert any("of these faults are in copy" in line for line in finding.evidence)
    assert finding.price == pytest.approx(0.495)


def test_the_few_pages_that_any_fork_copies_are_no_finding() -> None:
    assert rules(forked(2_000, 100)) == []
    assert rules(forked(9_900, 0)) == []


def test_reference_counts_of_a_python_interpreter_are_no_data() -> None:
    assert rules(forked(2_600, 2, frames=PYTHON)) == []
    assert rules(forked(9_900, 2, frames=PYTHON)) == ["copies-after-fork"]
    assert rules(forked(2_600, 2)) == ["copies-after-fork"]


def read_by_page(major: int, advice: dict[str, int], file: str = "data.db") -> Profile:
    """Return a profile with major faults in one mapped file, for which it waits."""
    site = Site(
        frame=Frame(function="scan", file="scan.c", line=3),
        memory=Memory.FILE_DATA,
        touch=Touch.UNKNOWN,
        file=file,
        faults=major,
    )
    kinds = (FaultKind(memory=Memory.FILE_DATA, touch=Touch.FIRST, file=file, faults=9_000),)
    made = anatomy({Touch.FIRST: 9_000}, Memory.FILE_DATA, kinds=kinds, major=major, major_sites=(site,))
    census = Census(source="tracepoints", calls={}, advice=advice)
    warm = {"warm": {"major-faults": 0.0, "elapsed": 1.0}}
    readings = {"major-faults": float(major), "elapsed": 4.0}
    return profile(made, stored=3, readings=readings, references=warm, census=census)


def test_advice_against_read_ahead_is_named_and_not_the_cold_start() -> None:
    (finding,) = findings(read_by_page(8_192, {"MADV_RANDOM": 1}), read_by_page(1, {}))
    assert finding.rule == "read-ahead-off"
    assert "1 → 8,192 major faults in data.db" in finding.evidence[0]
    assert "MADV_RANDOM" in finding.evidence[1]
    assert any("scan" in line for line in finding.evidence)


@pytest.mark.parametrize(("major", "expected"), [(10_000, ["read-ahead-off"]), (100, ["file-windows"])])
def test_pages_that_had_left_the_memory_fault_whatever_the_mapping(major: int, expected: list[str]) -> None:
    site = Site(
        frame=Frame(function="scan"), memory=Memory.FILE_DATA, touch=Touch.UNKNOWN, file="/srv/data.db", faults=major
    )
    kinds = tuple(
        FaultKind(memory=Memory.FILE_DATA, touch=touch, file="/srv/data.db", faults=faults)
        for touch, faults in UNMAPPED.items()
    )
    by_memory = {Memory.FILE_DATA: major}
    made = anatomy(UNMAPPED, Memory.FILE_DATA, kinds=kinds, major=major, major_sites=(site,), major_by_memory=by_memory)
    calls = {"mmap": 500, "munmap": 500, "madvise": 500}
    made_calls = Census(
        source="tracepoints",
        calls={name: Call(calls=n) for name, n in calls.items()},
        advice={"MADV_RANDOM": 500} if major > 1_000 else {},
    )
    waiting = {"elapsed": 4.0}
    assert rules(profile(made, cost=0.8, stored=3, readings=waiting, census=made_calls)) == expected


def test_the_evidence_of_windows_counts_no_fewer_faults_than_their_leading_place_has() -> None:
    """A part of the faults is major: they do not count as a cost of the windows, but are faults there."""
    place = {"memory": Memory.FILE_DATA, "touch": Touch.AFTER_MUNMAP, "file": "/srv/data.db", "faults": 10_000}
    made = anatomy(
        {Touch.AFTER_MUNMAP: 10_000},
        Memory.FILE_DATA,
        kinds=(FaultKind.model_validate(place),),
        sites=(Site.model_validate(place | {"frame": Frame(function="scan")}),),
        major=4_000,
        major_by_memory={Memory.FILE_DATA: 4_000},
    )
    evidence = (
        diagnose_profile(DiagnosisRequest(profile=profile(made, cost=0.8, calls={"mmap": 500, "munmap": 500})))
        .findings[0]
        .evidence
    )
    counts = [line.partition(" ")[0] for line in evidence if "faults on pages" in line or "of these faults" in line]
    assert counts == ["10,000", "10,000"]


def test_a_cold_start_without_such_advice_stays_a_cold_start() -> None:
    assert rules(read_by_page(200, {})) == ["cold-start"]
    assert rules(read_by_page(8, {"MADV_RANDOM": 1})) == ["cold-start"]
    # As many as before the change: that is not why anything changed.
    assert rules(read_by_page(200, {}), read_by_page(200, {})) == []


def test_what_costs_as_much_before_the_change_is_not_why_it_changed() -> None:
    same = profile(anatomy(AGAIN), cost=0.5, calls={"madvise": 99})
    twice = {touch: 2 * faults for touch, faults in AGAIN.items()}
    more = profile(anatomy(twice), cost=0.8, calls={"madvise": 99})
    assert rules(same, same) == []
    assert rules(more, same) == ["returned-memory"]


def test_twice_as_much_of_what_already_took_half_of_the_time_is_why_it_takes_longer() -> None:
    def given_back(times: int, seconds: float) -> Profile:
        touches = {touch: times * faults for touch, faults in AGAIN.items()}
        return profile(anatomy(touches), cost=0.5, calls={"madvise": times * 99}, readings={"task-clock": seconds})

    assert rules(given_back(2, seconds=2.0), given_back(1, seconds=1.0)) == ["returned-memory"]
    assert rules(given_back(2, seconds=1.0), given_back(1, seconds=1.0)) == [], "it takes as long as before"
    twice_the_work = given_back(2, seconds=2.0).model_copy(update={"operations": None})
    assert rules(twice_the_work, given_back(1, seconds=1.0)) == [], "it can be more work"


def test_times_of_a_few_milliseconds_do_not_overrule_what_is_counted() -> None:
    def given_back(times: int, samples: int) -> Profile:
        touches = {touch: times * faults for touch, faults in AGAIN.items()}
        made = profile(anatomy(touches), cost=0.5, calls={"madvise": times * 99}, readings={"task-clock": 1.0})
        assert made.on_cpu
        return made.model_copy(update={"on_cpu": made.on_cpu.model_copy(update={"samples": samples})})

    assert rules(given_back(2, samples=1_000), given_back(1, samples=1_000)) == []
    assert rules(given_back(2, samples=90), given_back(1, samples=140)) == ["returned-memory"]
    assert rules(given_back(1, samples=90), given_back(1, samples=140)) == []
    more_work = given_back(2, samples=90).model_copy(update={"operations": None})
    assert rules(more_work, given_back(1, samples=140)) == [], "the operations are unknown"


def test_a_share_of_the_time_that_grew_while_the_faults_are_the_same_is_not_why_anything_changed() -> None:
    before, faster = (profile(anatomy(AGAIN), cost=cost, calls={"madvise": 99}) for cost in (0.3, 0.5))
    a_few_more = {**AGAIN, Touch.AFTER_MADVISE: 10_000}
    assert rules(faster, before) == []
    assert rules(profile(anatomy(a_few_more), cost=0.5, calls={"madvise": 99}), before) == []


def test_more_faults_of_the_same_share_are_more_work_also_where_they_were_too_few_before() -> None:
    before, after = forked(3_000, 1, frames=PYTHON), forked(6_000, 1, frames=PYTHON)
    assert rules(after) == ["copies-after-fork"]
    assert rules(after, before) == []


def test_of_what_an_interpreter_copies_at_each_fork_only_what_is_added_counts() -> None:
    before = forked(1_000, 2, frames=PYTHON, cost=0.3)
    assert rules(forked(2_600, 2, frames=PYTHON), before) == ["copies-after-fork"]
    assert rules(forked(1_500, 2, frames=PYTHON), before) == []
    never_forked = profile(anatomy({Touch.FIRST: 10_000}), cost=0.5, frames=PYTHON)
    assert rules(forked(2_600, 2, frames=PYTHON), never_forked) == []


def test_what_is_a_small_part_of_the_additional_faults_is_no_finding() -> None:
    before = profile(anatomy({Touch.FIRST: 1_000}), calls=PAIRS, operations=None)
    for n_new, expected in ((500, ["temporary-buffers"]), (50_000, [])):
        touches = {Touch.FIRST: 1_000 + n_new, Touch.AFTER_MUNMAP: 9_000}
        assert rules(profile(anatomy(touches), cost=0.4, calls=PAIRS, operations=None), before) == expected


@pytest.mark.parametrize("memory", [Memory.ANONYMOUS, Memory.ARENA])
def test_a_heap_that_the_jvm_gives_back_is_returned_memory_however_it_does_so(memory: Memory) -> None:
    kinds = (
        FaultKind(memory=memory, touch=Touch.AFTER_MUNMAP, faults=10_000),
        FaultKind(memory=Memory.FILE_TEXT, touch=Touch.FIRST, file="/opt/jdk/lib/server/libjvm.so", faults=0),
    )
    jvm = profile(anatomy(UNMAPPED, memory, kinds=kinds), cost=0.3, calls={"mmap": 99}, operations=None)
    (finding,) = findings(jvm)
    assert finding.rule == "returned-memory"
    assert "the JVM had given back" in finding.evidence[0]
    assert any("env._JAVA_OPTIONS" in remedy.settings for remedy in finding.remedies)


def test_what_malloc_gives_back_beside_a_collector_is_cured_by_settings_of_malloc() -> None:
    """Node takes its Buffers from malloc, whose heap grows and shrinks by brk; the collector has none of it."""
    touches = {Touch.FIRST: 100, Touch.AFTER_BRK: 9_900}
    files = [("/usr/bin/node", Memory.FILE_TEXT), ("/usr/lib/libc.so.6", Memory.FILE_TEXT)]
    of_files = tuple(FaultKind(memory=memory, touch=Touch.FIRST, file=file, faults=50) for file, memory in files)

    def node(brk: int, memory: Memory = Memory.HEAP) -> Profile:
        kinds = (FaultKind(memory=memory, touch=Touch.AFTER_BRK, faults=9_900), *of_files)
        return profile(anatomy(touches, memory, kinds=kinds), cost=0.3, calls={"brk": brk, **PAIRS})

    (finding,) = findings(node(60))
    assert finding.rule == "temporary-buffers"
    variables = {name for remedy in finding.remedies for name in remedy.settings}
    assert "env.MALLOC_TRIM_THRESHOLD_" in variables
    assert "env.NODE_OPTIONS" not in variables
    assert rules(node(20)) == []  # A heap that each operation takes once can be its result.
    assert rules(node(60, Memory.ANONYMOUS)) == ["returned-memory"]


def test_buffers_are_recognised_without_operations_where_pages_come_and_go_or_more_do_than_before() -> None:
    again = profile(anatomy(UNMAPPED, pages=1_000), cost=0.16, calls=PAIRS, operations=None)
    once = profile(anatomy(UNMAPPED, pages=9_000), cost=0.16, calls=PAIRS, operations=None)
    assert rules(again) == ["temporary-buffers"]
    assert rules(once) == []
    assert rules(once, profile(anatomy({Touch.FIRST: 100}), calls=PAIRS, operations=None)) == ["temporary-buffers"]


def of_kinds(*rows: tuple[Memory, Touch, int], cost: float = 0.4, **changes: Any) -> Profile:
    """Return a profile with some faults of each kind of memory and of touch."""
    libc = FaultKind(memory=Memory.FILE_TEXT, touch=Touch.FIRST, file="/usr/lib/libc.so.6", faults=0)
    kinds = (*(FaultKind(memory=memory, touch=touch, faults=faults) for memory, touch, faults in rows), libc)
    frame = Frame(function="copy", file="/srv/copy.c", line=7)
    sites = tuple(Site(frame=frame, memory=memory, touch=touch, faults=faults) for memory, touch, faults in rows)
    touches: dict[Touch, int] = {}
    for _, touch, faults in rows:
        touches[touch] = touches.get(touch, 0) + faults
    facts = {name: changes.pop(name) for name in ("threads", "shared_pages", "period", "forks") if name in changes}
    memory = dict.fromkeys((Memory.OTHER,), sum(touches.values()))
    return profile(anatomy(touches, kinds=kinds, sites=sites, by_memory=memory, **facts), cost=cost, **changes)


def with_threads(threads: int, refaults: int, *, cpu: float = 1.0, **changes: Any) -> Profile:
    """Return a profile of threads that come and go, on stacks that are emptied between them."""
    times = {"sys-time": 0.8 * cpu, "user-time": 0.2 * cpu, "task-clock": cpu}
    rows = ((Memory.STACK, Touch.FIRST, 100), (Memory.STACK, Touch.AFTER_MADVISE, refaults))
    return of_kinds(*rows, threads=threads, cost=0.003, readings=times, calls={"madvise": threads}, **changes)


def test_threads_that_come_and_go_are_named_with_the_system_time_that_samples_do_not_see() -> None:
    (finding,) = findings(with_threads(1_000, 9_900))
    assert finding.rule == "thread-per-task"
    assert finding.price == pytest.approx(1_000 * 5e-5 + 9_900 * 1e-6)  # of one second of CPU time
    assert "1,000 threads were started; 9,900 faults (about 10 for each thread)" in finding.evidence[0]
    assert "9,900 of these faults are in copy" in finding.evidence[2]


def test_few_threads_of_a_program_that_works_for_long_are_no_finding() -> None:
    assert rules(with_threads(1_000, 1_000, cpu=30.0)) == []
    # A server that answers 120 short connections a second, each in its own thread.
    assert rules(with_threads(3_600, 3_600, cpu=30.0)) == []


def test_a_pool_of_threads_and_stacks_that_stay_are_no_finding() -> None:
    assert rules(with_threads(16, 9_900)) == []
    assert rules(with_threads(1_000, 900)) == []
    assert rules(of_kinds((Memory.STACK, Touch.FIRST, 9_900), threads=1_000)) == []


def test_threads_that_wait_while_stacks_come_and_go_do_not_wait_for_mapping_calls() -> None:
    assert rules(with_threads(1_000, 9_900, waited=2.0)) == ["thread-per-task"]
    assert rules(profile(anatomy(UNMAPPED, Memory.FILE_DATA, threads=16), waited=2.0, calls=PAIRS)) == ["mmap-lock"]


def with_arenas(threads: int, pages: int, heap: int = 100, **changes: Any) -> Profile:
    rows = ((Memory.ARENA, Touch.FIRST, pages), (Memory.HEAP, Touch.FIRST, heap))
    return of_kinds(*rows, threads=threads, **changes)


def test_more_threads_with_an_arena_each_can_share_some() -> None:
    few, many = with_arenas(2, 1_000, cost=0.1), with_arenas(16, 8_000)
    (finding,) = findings(many, few)
    assert finding.rule == "malloc-arenas"
    assert finding.price == pytest.approx(0.4 * 7_000 / 8_100)
    assert "2 → 16 threads" in finding.evidence[0]
    assert finding.remedies[0].settings == {"env.MALLOC_ARENA_MAX": "2"}


def test_arenas_are_no_cause_alone_or_where_the_memory_only_moved_or_something_else_grew() -> None:
    few = with_arenas(2, 1_000)
    assert rules(with_arenas(16, 8_000)) == []
    assert rules(with_arenas(2, 8_000), few) == []
    assert rules(with_arenas(16, 1_200), few) == []
    assert rules(with_arenas(16, 8_000), with_arenas(2, 1_000, heap=7_000)) == []
    assert rules(with_arenas(16, 2_000, heap=5_000), few) == []


def grown(copied: int, growing: str = GROWTH, *between: str) -> Profile:
    """Return a profile of which some faults, and as much of the CPU time, are in copying a vector that grows."""
    names = ("main", growing, *between, "__memmove_avx_unaligned_erms")
    frames = tuple(Frame(function=name, module="program", file="src/grow.cc", line=5) for name in names)
    within, share = tuple(range(len(frames))), copied / 10_000
    made = anatomy({Touch.FIRST: 10_000}, pages=10_000)
    faults = stacks(StackKind.FAULTS, {(0,): 10_000 - copied, within: copied})
    on_cpu = stacks(StackKind.ON_CPU, {(0,): round((1 - share) * 1e9), within: round(share * 1e9)})
    return profile(made, frames=frames, faults=faults, on_cpu=on_cpu, off_cpu=None)


@pytest.mark.parametrize(
    "growing",
    [
        "void std::vector<long, std::allocator<long> >::_M_realloc_insert<long>(__gnu_cxx::__normal_iterator<long*>)",
        "std::vector<Row>::_M_default_append(unsigned long)",
        "std::__cxx11::basic_string<char, std::char_traits<char> >::_M_mutate(unsigned long, unsigned long)",
        "void std::__1::vector<int>::__push_back_slow_path<int>(int&&)",
    ],
)
def test_a_container_that_grows_by_copying_is_named_with_its_line(growing: str) -> None:
    (finding,) = findings(grown(5_000, growing))
    assert finding.rule == "growing-buffer"
    assert finding.price == pytest.approx(0.5)
    assert "5,000 of 10,000 faults" in finding.evidence[0]
    assert "src/grow.cc:5" in finding.evidence[2]


def test_what_a_growing_container_allocates_is_needed_and_other_functions_do_not_grow() -> None:
    assert rules(grown(5_000, GROWTH, "operator new(unsigned long)")) == []
    assert rules(grown(5_000, "std::vector<long>::operator=(std::vector<long> const&)")) == []
    assert rules(grown(1_900)) == []


def test_processes_that_each_map_the_same_shared_pages() -> None:
    (finding,) = findings(of_kinds((Memory.SHARED, Touch.FIRST, 10_000), shared_pages=4_000, forks=8))
    assert finding.rule == "shared-memory"
    assert finding.price == pytest.approx(0.4 * 0.6)
    assert "10,000 first touches of shared memory on 4,000 pages" in finding.evidence[0]


def test_what_a_child_touches_of_shared_memory_after_its_fork_it_maps_for_the_first_time() -> None:
    rows = (Memory.SHARED, Touch.FIRST, 2_000), (Memory.SHARED, Touch.AFTER_FORK, 8_000)
    assert rules(of_kinds(*rows, shared_pages=4_000)) == ["shared-memory"]


def test_shared_memory_that_one_process_fills_is_new_memory() -> None:
    assert rules(of_kinds((Memory.SHARED, Touch.FIRST, 10_000), shared_pages=10_000)) == []
    assert rules(of_kinds((Memory.SHARED, Touch.FIRST, 10_000), shared_pages=8_500)) == []
    # One fault in ten was recorded, so more pages were touched than are known.
    assert rules(of_kinds((Memory.SHARED, Touch.FIRST, 10_000), shared_pages=1_000, period=10)) == []


def test_new_memory_that_is_read_first_faults_twice() -> None:
    (finding,) = findings(of_kinds((Memory.ANONYMOUS, Touch.FIRST, 5_000), (Memory.ANONYMOUS, Touch.AFTER_READ, 5_000)))
    assert finding.rule == "read-before-write"
    assert finding.price == pytest.approx(0.2)
    assert "5,000 pages of new memory were read before" in finding.evidence[0]
    assert {"thp": "always"} in [remedy.settings for remedy in finding.remedies]


def test_a_few_pages_that_are_read_first_are_no_finding() -> None:
    assert rules(of_kinds((Memory.HEAP, Touch.FIRST, 9_000), (Memory.HEAP, Touch.AFTER_READ, 1_000))) == []
    assert rules(of_kinds((Memory.HEAP, Touch.FIRST, 200), (Memory.HEAP, Touch.AFTER_READ, 200))) == []


def test_pages_that_fault_twice_are_no_finding_where_only_their_huge_pages_were_lost() -> None:
    def made(policy: str, first: int, second: int) -> Profile:
        profile = of_kinds((Memory.ANONYMOUS, Touch.FIRST, first), (Memory.ANONYMOUS, Touch.AFTER_READ, second))
        return profile.model_copy(update={"environment": Environment(settings={"process.huge_pages": policy})})

    after = made("never", 8_200, 8_000)
    assert "read-before-write" not in rules(after, made("always", 16, 16))
    assert "read-before-write" in rules(after, made("always", 16, 0))


LINKER = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"


def relocated(
    pages: int,
    module: str = LINKER,
    memory: Memory = Memory.FILE_DATA,
    file: str = "bin/large",
    files: int = 1,
) -> Profile:
    """Return a profile of a start at which the dynamic linker touches pages of data of some files."""
    frame = Frame(function="elf_dynamic_do_Rela", module=module)
    names = (file, *(f"{file}-{number}" for number in range(1, files)))
    sites = tuple(
        Site(frame=frame, memory=memory, touch=Touch.FIRST, file=name, faults=pages // files) for name in names
    )
    return profile(anatomy({Touch.FIRST: pages}, memory, sites=sites), cost=0.4)


@pytest.mark.parametrize("module", [LINKER, "/lib/ld-musl-x86_64.so.1", "/lib64/ld64.so.2", "/lib/ld-2.31.so"])
def test_a_start_that_writes_many_addresses(module: str) -> None:
    (finding,) = findings(relocated(1_000, module))
    assert finding.rule == "relocations"
    assert finding.price == pytest.approx(0.4)
    assert "1,000 data pages (3.91 MiB)" in finding.evidence[0]
    assert "large 1,000" in finding.evidence[1]
    assert finding.evidence[2] == f"touching and copying these pages takes 40{PERCENT} of the CPU time"


@pytest.mark.parametrize(("file", "remedy"), [("bin/large", "without -pie"), ("/usr/lib/libLLVM-14.so.1", "dlopen")])
def test_remedies_for_relocations_fit_the_program_or_the_library(file: str, remedy: str) -> None:
    (finding,) = findings(relocated(1_000, file=file))
    assert remedy in finding.remedies[0].text


def test_a_library_that_the_program_loads_again_and_again_is_to_stay_loaded() -> None:
    plugin = relocated(1_000, file="plugin.so")
    relocating, loading = (Frame(function=name, module=LINKER) for name in ("_dl_relocate_object", "_dl_open"))
    made = plugin.model_copy(
        update={
            "frames": (*FRAMES, loading, relocating, Frame(function="schedule", module="[kernel]")),
            "faults": stacks(StackKind.FAULTS, {(MAIN, len(FRAMES), len(FRAMES) + 1): 1_000}),
        }
    )
    assert "keep it loaded" in findings(made)[0].remedies[0].text


def test_a_program_that_starts_more_processes_is_to_keep_one_running() -> None:
    made = relocated(1_000)
    assert made.anatomy is not None
    forking = made.model_copy(update={"anatomy": made.anatomy.model_copy(update={"forks": 20})})
    assert "one process that keeps running" in findings(forking, relocated(300))[0].remedies[0].text


@pytest.mark.parametrize(("call", "advice"), [("prctl", "PR_SET_THP_DISABLE"), ("advise against", "MADV_NOHUGEPAGE")])
def test_a_program_that_forbids_huge_pages_is_not_to_do_so(call: str, advice: str) -> None:
    forbidding = touched_by_pages(16_384).model_copy(
        update={"census": Census(source="tracepoints", calls={}, advice={advice: 1})}
    )
    (finding,) = findings(forbidding, touched_by_pages(32, cost=0.1))
    assert call in finding.remedies[0].text
    assert any(f"with {advice}: 0 → 1" in line for line in finding.evidence)
    assert len(finding.remedies) == 1


def test_of_a_change_only_the_additional_relocations_are_its_cause() -> None:
    (finding,) = findings(relocated(400), relocated(300))
    assert finding.price == pytest.approx(0.1)
    assert "300 → 400 data pages" in finding.evidence[0]
    assert finding.evidence[2] == f"touching and copying the additional pages takes 10{PERCENT} of the CPU time"
    assert rules(relocated(1_000), relocated(950)) == []


def test_relocations_that_grow_are_a_cause_even_if_there_were_many_before() -> None:
    (finding,) = findings(relocated(1_200), relocated(1_000))
    assert finding.rule == "relocations"
    assert finding.price == pytest.approx(0.4 / 6)


def test_a_usual_start_and_what_the_program_itself_touches_are_no_relocations() -> None:
    assert rules(relocated(300)) == []
    assert rules(relocated(1_000, files=4)) == []
    assert rules(relocated(5_400, files=9)) == []
    assert rules(relocated(1_000, "/srv/bin/program")) == []
    assert rules(relocated(1_000, "/usr/lib/libgold.so.1")) == []
    assert rules(relocated(1_000, memory=Memory.FILE_TEXT)) == []


def test_calls_that_return_what_nobody_touches_again_cost_no_more_than_the_faults() -> None:
    few = anatomy({Touch.FIRST: 9_900, Touch.AFTER_MADVISE: 100})
    frames = (Frame(function="main"), Frame(function="exc_page_fault"), Frame(function="__x64_sys_madvise"))
    weights = {(0,): 60 * 10**7, (0, 1): 10 * 10**7, (0, 2): 30 * 10**7}
    calls = {"madvise": 99}
    told: dict[str, Any] = {"frames": frames, "on_cpu": stacks(StackKind.ON_CPU, weights), "off_cpu": None}
    assert rules(profile(few, calls=calls, **told)) == []
    (finding,) = findings(profile(anatomy(AGAIN), calls=calls, **told))
    assert finding.price == pytest.approx(0.198)


@st.composite
def random_profiles(draw: st.DrawFn) -> Profile:
    """Draw any profile: of few or many faults, with or without what was recorded, with contradictions."""
    touch = draw(st.dictionaries(st.sampled_from(list(Touch)), st.integers(1, 10**6), max_size=4))
    memory = draw(st.sampled_from(list(Memory)))
    areas = draw(st.lists(st.builds(area, memory=st.just(memory), threads=st.integers(0, 9)), max_size=1))
    major = draw(st.dictionaries(st.sampled_from(list(Memory)), st.integers(1, 99), max_size=2))
    made = anatomy(
        touch,
        memory,
        areas=tuple(areas),
        major=sum(major.values()),
        major_by_memory=major,
        kinds=tuple(FaultKind(memory=memory, touch=kind, faults=faults) for kind, faults in touch.items()),
        threads=draw(st.sampled_from([0, 16, 1000])),
        shared_pages=draw(st.integers(0, 10**5)),
    )
    unrecorded: dict[str, Any] = draw(st.fixed_dictionaries({}, optional={"on_cpu": st.none(), "census": st.none()}))
    return profile(
        made,
        cost=draw(st.sampled_from([0, 0.005, 0.02, 0.45, 0.9]) | st.floats(0, 1)),
        waited=draw(st.sampled_from([0, 1e-9, 1]) | st.floats(0, 100)),
        stored=draw(st.sampled_from([0, 1e-9, 1]) | st.floats(0, 10)),
        calls=draw(st.dictionaries(st.sampled_from(["mmap", "munmap", "madvise", "brk"]), st.integers(0, 10**6))),
        readings=draw(readings),
        references=draw(st.dictionaries(st.sampled_from(["alone", "warm"]), readings)),
        settings=draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "process.huge_pages": st.sampled_from(["never", "madvise", "always", "host"]),
                    "process.memory_limit": st.sampled_from(["none", str(64 << 30)]),
                    "cpu.allowed": st.sampled_from(["2", "64", "unknown"]),
                },
            )
        ),
        processes=draw(st.integers(1, 8)),
        operations=draw(st.none() | st.floats(0.5, 1e6)),
        scope=draw(st.sampled_from(["region", "process"])),
        **unrecorded,
    )


@st.composite
def almost_profiles(draw: st.DrawFn) -> Profile:
    """Draw a profile to which one story almost fits: each fact that it demands is there, or missing, or otherwise."""
    processes, faults = draw(st.integers(1, 4)), draw(st.sampled_from([100, 10_000]))
    touch = {draw(st.sampled_from(list(Touch))): faults}
    memory = draw(st.sampled_from([Memory.HEAP, Memory.ANONYMOUS, Memory.FILE_DATA]))
    major = draw(st.sampled_from([0, 1, 69]))
    present = {"page-faults": faults * processes, "elapsed": 4.0, "task-clock": 1.0 * processes, "major-faults": major}
    alone = draw(
        st.none() | st.fixed_dictionaries({}, optional={"page-faults": st.just(faults), "elapsed": st.just(1)})
    )
    warm = draw(st.none() | st.fixed_dictionaries({"major-faults": st.sampled_from([0, 1, 60]), "elapsed": st.just(1)}))
    return profile(
        anatomy(touch, memory, areas=(area(threads=draw(st.integers(1, 2)), faults=faults),)),
        cost=draw(st.sampled_from([0.005, 0.45, 0.9])),
        waited=draw(st.sampled_from([0, 1])),
        stored=draw(st.sampled_from([0, 1])),
        calls=draw(st.dictionaries(st.sampled_from(["munmap", "madvise", "brk"]), st.sampled_from([0, 1, 500]))),
        readings=present,
        references={name: found for name, found in (("alone", alone), ("warm", warm)) if found is not None},
        processes=processes,
        scope=draw(st.sampled_from(["region", "process"])),
    )


def test_waiting_saves_nothing_where_no_time_was_measured() -> None:
    made = profile(anatomy({Touch.FIRST: 10}), waited=0)
    facts = Facts.from_profile(made.model_copy(update={"readings": {}}))
    assert LOCK_CONTENTION.max_saving(facts) == 0


@settings(max_examples=120)
@given(random_profiles() | almost_profiles(), st.none() | random_profiles())
def test_no_rule_speaks_without_its_condition_and_its_price(made: Profile, before: Profile | None) -> None:
    diagnosis = diagnose_profile(DiagnosisRequest(profile=made, before=before))
    facts = Facts.from_profile(made, before)
    true = [rule for rule in RULES if rule.condition(facts) and rule.evaluate(facts)]
    assert all((rule.max_saving(facts) or 0) >= MIN_SAVING for rule in true)
    # What cost as much before the change, or was as much, is not why anything changed.
    if facts.before:
        time_ratio = compute_time_ratio(facts.before, facts)
        old = {rule: rule.evaluate(facts.before) for rule in true}
        true = [
            rule
            for rule in true
            if rule.is_comparison
            or not (was := old[rule])
            or (rule.max_saving(facts) or 0) - was.price * time_ratio >= MIN_SAVING
        ]
    titles = sorted(finding.title for finding in diagnosis.findings)
    assert set(titles) <= {rule.title for rule in true}
    grown = [
        rule
        for rule in true
        if not facts.before
        or not rule.count
        or (not rule.count(facts.before) and rule.count(facts) >= 0.2 * (facts.faults - facts.before.faults))
    ]
    assert {rule.title for rule in grown if not (facts.before and rule.max_saving(facts.before))} <= set(titles)
    assert facts.before or titles == sorted(rule.title for rule in true)
    prices = [finding.price for finding in diagnosis.findings]
    assert prices == sorted(prices, reverse=True)
    assert all(MIN_SAVING <= price <= 1 for price in prices)
    assert diagnosis.evidence
    assert all(finding.evidence and finding.remedies and finding.report for finding in diagnosis.findings)
    _check_stories(made, before, diagnosis.findings)


def _check_stories(made: Profile, before: Profile | None, found: Sequence[Finding]) -> None:
    """The conditions once more, from the profile alone: what a reader would check before believing the story."""
    sites = made.anatomy.sites if made.anatomy else ()
    own = {Memory.HEAP, Memory.ARENA, Memory.ANONYMOUS, Memory.STATIC, Memory.SHARED}
    touches = {site.touch for site in sites if site.memory in own}
    kinds = {(kind.memory, kind.touch) for kind in made.anatomy.kinds} if made.anatomy else set()
    calls = {name for name, call in made.census.calls.items() if call.calls} if made.census else set()
    for finding in found:
        match finding.rule:
            case "returned-memory":
                assert Touch.AFTER_MADVISE in touches
                assert "madvise" in calls
            case "temporary-buffers":
                assert touches & {Touch.AFTER_MUNMAP, Touch.AFTER_BRK}
                assert calls & {"munmap", "brk"}
            case "mmap-lock":
                assert made.off_cpu is not None
                assert made.off_cpu.total > 0
                assert calls or made.census is None
            case "first-touch-storm":
                assert made.processes > 1
                assert made.references["alone"]["elapsed"].value
            case "concurrent-first-use":
                assert made.anatomy is not None
                assert made.anatomy.areas[0].threads > 1
                assert made.scope == "region"
            case "cold-start":
                left, major = made.references["warm"]["major-faults"].value, made.find_value("major-faults")
                assert left is not None
                assert major is not None
                assert major >= 2 * left
                assert major > 0
            case "memory-short":
                names = ("cgroup:workingset_refault_file", "cgroup:workingset_refault_anon")
                warm = made.references.get("warm", {})
                refaults = [made.find_value(name) or (name in warm and warm[name].value) for name in names]
                assert any(refaults) or (made.anatomy and made.anatomy.major_by_memory)
            case "huge-pages" | "loader":
                assert before is not None
            case "malloc-arenas":
                assert before is not None
                assert (Memory.ARENA, Touch.FIRST) in kinds
            case "thread-per-task":
                assert made.anatomy is not None
                assert made.anatomy.threads
                assert kinds & {(Memory.STACK, Touch.AFTER_MADVISE), (Memory.STACK, Touch.AFTER_MUNMAP)}
            case "shared-memory":
                assert kinds & {(Memory.SHARED, Touch.FIRST), (Memory.SHARED, Touch.AFTER_FORK)}
            case "read-before-write":
                assert kinds & {(kind, Touch.AFTER_READ) for kind in own}
            case _:
                raise AssertionError(finding.rule)


def test_the_evidence_names_the_line_of_the_project_that_the_faults_came_through() -> None:
    template = "std::vector<std::basic_string<char, std::char_traits<char>, std::allocator<char> > >::_M_realloc_insert"
    frames = (
        Frame(function="main", module="/builds/a/program", file="src/main.cc", line=3),
        Frame(function="Index::Add", module="/builds/a/program", file="src/index.cc", line=7),
        Frame(function=template, module="/builds/a/program", file="/usr/include/c++/12/bits/vector.tcc", line=449),
        Frame(function="copy", module="/usr/lib/libc.so.6"),
    )

    def evidence(*stack: int) -> str:
        # Heavier, but of another function, as where the faults of one come in several ways.
        made = stacks(StackKind.FAULTS, {(0,): 400, stack: 300})
        told = profile(anatomy({Touch.FIRST: 300})).model_copy(update={"frames": frames, "faults": made})
        return Facts.from_profile(told).top_function[0]

    assert evidence(0, 1, 2, 3) == (
        "300 of the faults are in copy, called in Index::Add at src/index.cc:7 "
        "(copy ← std::vector<std::basic_string<…> >::_M_realloc_insert ← Index::Add ← main)"
    )
    own = frames[1].model_copy(update={"function": "copy"})
    frames = (frames[0], own)
    assert evidence(0, 1) == "300 of the faults are in copy, at src/index.cc:7 (copy ← main)"
