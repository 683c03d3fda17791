"""Each pathology by its evidence, and none without it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Memory, Profile, Touch
from service.rules.diagnose.diagnosis import diagnose
from tests.service.profiles import anatomy, area, profile

AGAIN = {Touch.FIRST: 100, Touch.AFTER_MADVISE: 9_900}
UNMAPPED = {Touch.FIRST: 100, Touch.AFTER_MUNMAP: 9_900}
NEW = {Touch.FIRST: 65_536}


def rules(profile: Profile, before: Profile | None = None) -> list[str]:
    return [finding.rule for finding in diagnose(DiagnosisRequest(profile=profile, before=before)).findings]


def test_a_program_that_is_well_gets_no_finding_but_the_evidence() -> None:
    diagnosis = diagnose(DiagnosisRequest(profile=profile(anatomy({Touch.FIRST: 300}), cost=0.02)))
    assert not diagnosis.findings
    assert diagnosis.evidence[0].startswith("300 faults on 100 pages")


def test_pages_that_madvise_took_and_the_program_needs_again() -> None:
    (finding,) = diagnose(DiagnosisRequest(profile=profile(anatomy(AGAIN), cost=0.5, calls={"madvise": 99}))).findings
    assert finding.rule == "returned-memory"
    assert "99% of the faults" in finding.evidence[0]
    assert "99 calls of madvise" in finding.evidence[1]
    assert {"allocator": "tcmalloc"} in [remedy.settings for remedy in finding.remedies]
    assert "TensorFlow" in finding.report


def test_what_costs_nothing_is_no_finding() -> None:
    assert rules(profile(anatomy(AGAIN), cost=0.05, calls={"madvise": 99})) == []
    assert rules(profile(anatomy(UNMAPPED), cost=0.05, calls={"mmap": 99})) == []


def test_buffers_that_each_operation_takes_several_of() -> None:
    assert rules(profile(anatomy(UNMAPPED), cost=0.3, calls={"mmap": 50})) == ["temporary-buffers"]


def test_one_buffer_an_operation_can_be_its_result_unless_it_costs_most_of_the_time() -> None:
    assert rules(profile(anatomy(UNMAPPED), cost=0.4, calls={"mmap": 10})) == []
    assert rules(profile(anatomy(UNMAPPED), cost=0.8, calls={"mmap": 10})) == ["temporary-buffers"]


def test_files_that_are_mapped_anew_are_no_buffers() -> None:
    assert rules(profile(anatomy(UNMAPPED, Memory.FILE_DATA), cost=0.8, calls={"mmap": 50})) == []


def test_threads_that_wait_for_the_lock() -> None:
    names = rules(profile(anatomy(UNMAPPED, Memory.FILE_DATA), waited=2.0, calls={"mmap": 500, "munmap": 500}))
    assert names == ["mmap-lock"]


def test_a_few_calls_do_not_fight_over_the_lock() -> None:
    assert rules(profile(anatomy(NEW), waited=2.0, calls={"mmap": 16})) == []


@pytest.mark.parametrize(
    ("alone", "elapsed", "expected"),
    [
        ({"page-faults": 10_000, "elapsed": 1.0}, 4.0, ["first-touch-storm", "temporary-buffers"]),
        ({"page-faults": 10_000, "elapsed": 1.0}, 1.01, ["temporary-buffers"]),  # it scales
        ({"page-faults": 2_500, "elapsed": 1.0}, 4.0, ["temporary-buffers"]),  # they fault more together
    ],
)
def test_processes_that_fault_as_one_alone_does_but_take_longer(
    alone: dict[str, float], elapsed: float, expected: list[str]
) -> None:
    made = profile(
        anatomy(UNMAPPED),
        cost=0.8,
        calls={"brk": 60},
        processes=4,
        operations=40,
        readings={"page-faults": 40_000, "elapsed": elapsed, "task-clock": 4.0},
        references={"alone": alone},
    )
    assert rules(made) == expected


def test_many_threads_that_use_a_large_region_first() -> None:
    assert rules(profile(anatomy(NEW, areas=(area(),)), cost=0.4)) == ["concurrent-first-use"]


@pytest.mark.parametrize("change", [{"threads": 1}, {"size": 1 << 20}, {"memory": Memory.FILE_DATA}])
def test_one_thread_or_a_small_region_or_a_file_is_none(change: dict[str, Any]) -> None:
    assert rules(profile(anatomy(NEW, areas=(area(**change),)), cost=0.4)) == []


def test_a_start_from_storage() -> None:
    made = profile(
        anatomy({Touch.FIRST: 200}, Memory.FILE_TEXT, major=69, major_by_memory={Memory.FILE_TEXT: 69}),
        readings={"major-faults": 69, "elapsed": 0.3},
        references={"warm": {"major-faults": 0, "elapsed": 0.1}},
    )
    (finding,) = diagnose(DiagnosisRequest(profile=made)).findings
    assert finding.rule == "cold-start"
    assert "69 major faults" in finding.evidence[0]
    assert "300 ms instead of 100 ms" in finding.evidence[0]


def test_a_start_that_is_as_cold_when_warm_is_none() -> None:
    references = {"warm": {"major-faults": 5, "elapsed": 0.1}}
    assert rules(profile(anatomy({Touch.FIRST: 9}), readings={"major-faults": 5}, references=references)) == []


def test_memory_that_is_short() -> None:
    readings = {"cgroup:pgmajfault": 500, "cgroup:workingset_refault_file": 400, "cgroup:memory-stall-some": 0.5}
    assert rules(profile(anatomy({Touch.FIRST: 500}), readings=readings)) == ["memory-short"]
    assert rules(profile(anatomy({Touch.FIRST: 500}), readings={"cgroup:pgmajfault": 500})) == []


def test_huge_pages_that_were_lost_or_gained() -> None:
    few = profile(anatomy({Touch.FIRST: 100}), knobs={"process.huge_pages": "always"})
    many = profile(anatomy({Touch.FIRST: 51_200}), knobs={"process.huge_pages": "never"})
    assert diagnose(DiagnosisRequest(profile=many, before=few)).findings[0].title == "Huge pages were lost"
    assert diagnose(DiagnosisRequest(profile=few, before=many)).findings[0].title == "Huge pages were gained"
    same = profile(anatomy({Touch.FIRST: 51_200}), knobs={"process.huge_pages": "always"})
    assert rules(same, few) == []


def test_a_start_that_changed_while_the_region_did_not() -> None:
    before = profile(anatomy(NEW), readings={"region:page-faults": 500, "page-faults": 900})
    after = profile(anatomy(NEW), readings={"region:page-faults": 500, "page-faults": 950})
    assert rules(after, before) == ["loader"]
    moved = profile(anatomy(NEW), readings={"region:page-faults": 550, "page-faults": 950})
    assert rules(moved, before) == []


def test_what_explains_most_of_the_time_comes_first() -> None:
    touch = {Touch.AFTER_MADVISE: 6_000, Touch.FIRST: 4_000}
    made = profile(anatomy(touch), cost=0.2, waited=9.0, calls={"madvise": 900})
    assert rules(made) == ["mmap-lock", "returned-memory"]


def test_without_recorded_cpu_time_the_system_share_speaks() -> None:
    made = profile(anatomy(AGAIN), on_cpu=None, readings={"sys-percent": 60.0}, calls={"madvise": 9})
    assert rules(made) == ["returned-memory"]


@given(
    st.dictionaries(st.sampled_from(list(Touch)), st.integers(1, 10**6), max_size=4),
    st.sampled_from(list(Memory)),
    st.floats(0, 1),
    st.floats(0, 100),
    st.integers(1, 64),
    st.dictionaries(st.sampled_from(["mmap", "munmap", "madvise", "brk"]), st.integers(0, 10**6)),
)
def test_any_profile_is_answered_with_evidence_in_the_order_of_weight(
    touch: dict[Touch, int], memory: Memory, cost: float, waited: float, processes: int, calls: dict[str, int]
) -> None:
    made = profile(anatomy(touch, memory), cost=cost, waited=waited, processes=processes, calls=calls)
    diagnosis = diagnose(DiagnosisRequest(profile=made))
    weights = [finding.weight for finding in diagnosis.findings]
    assert weights == sorted(weights, reverse=True)
    assert diagnosis.evidence
    assert all(finding.evidence and finding.remedies and finding.report for finding in diagnosis.findings)
