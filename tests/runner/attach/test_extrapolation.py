"""Tables that are scaled and merged, and still add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.attach.extrapolation import merge_anatomies, scale_anatomy
from runner.contract.profile import Access, Anatomy, FaultKind, Frame, Memory, Site, Touch
from runner.profile.stack_folding import divide_total_by_weights


def make_anatomy(touches: dict[Touch, int], pages: int = 1) -> Anatomy:
    total = sum(touches.values())
    frame = Frame(function="f", module="m")
    return Anatomy(
        counted=total,
        recorded=total,
        pages=pages,
        by_memory={Memory.HEAP: total},
        by_touch=touches,
        by_access={Access.WRITE: total},
        kinds=tuple(FaultKind(memory=Memory.HEAP, touch=touch, faults=number) for touch, number in touches.items()),
        sites=tuple(
            Site(frame=frame, memory=Memory.HEAP, touch=touch, faults=number) for touch, number in touches.items()
        ),
    )


TOUCHES = st.dictionaries(st.sampled_from(list(Touch)), st.integers(0, 10**9))


@given(st.dictionaries(st.integers(), st.integers(0, 10**12)), st.integers(0, 10**12))
def test_shares_add_up(weights: dict[int, int], total: int) -> None:
    shares = divide_total_by_weights(weights, total)
    assert sum(shares.values()) == (total if any(weights.values()) else 0)
    assert all(share >= 0 for share in shares.values())


@given(TOUCHES, st.integers(1, 10**12))
def test_a_scaled_anatomy_adds_up(touches: dict[Touch, int], counted: int) -> None:
    anatomy = make_anatomy(touches)
    scaled = Anatomy.model_validate(scale_anatomy(anatomy, counted).model_dump())
    assert scaled.counted == (counted if anatomy.counted else 0)


@given(TOUCHES, TOUCHES)
def test_a_merged_anatomy_adds_up(complete: dict[Touch, int], sampled: dict[Touch, int]) -> None:
    merged = merge_anatomies(make_anatomy(complete), make_anatomy(sampled))
    merged = Anatomy.model_validate(merged.model_dump())
    assert merged.counted == sum(sampled.values())
    assert merged.by_touch.get(Touch.AFTER_MADVISE, 0) == sampled.get(Touch.AFTER_MADVISE, 0)


def test_what_had_been_in_memory_is_taken_from_the_time_with_all_faults() -> None:
    complete = make_anatomy({Touch.FIRST: 25, Touch.AGAIN: 75}, pages=50)
    merged = merge_anatomies(complete, make_anatomy({Touch.FIRST: 400, Touch.AFTER_MADVISE: 100}))
    assert merged.by_touch == {Touch.AGAIN: 300, Touch.FIRST: 100, Touch.AFTER_MADVISE: 100}
    assert (merged.sites[0].touch, merged.sites[0].faults) == (Touch.AGAIN, 300)
    assert merged.pages == 250


def test_pages_that_had_been_in_memory_are_copies_if_the_process_forks() -> None:
    complete = make_anatomy({Touch.FIRST: 25, Touch.AGAIN: 75}, pages=50)
    sampled = make_anatomy({Touch.FIRST: 400}).model_copy(update={"forks": 3})
    merged = merge_anatomies(complete, sampled)
    assert merged.by_touch == {Touch.AFTER_FORK: 300, Touch.FIRST: 100}
    assert merged.forks == 3


def test_the_refault_ratio_survives_scaling() -> None:
    anatomy = make_anatomy({Touch.AGAIN: 100}, pages=10)
    scaled = scale_anatomy(anatomy, 5000)
    assert scaled.refault_ratio == pytest.approx(10)
    assert scaled.is_scaled
    assert not scale_anatomy(anatomy, 100).is_scaled


def test_forks_threads_and_shared_pages_grow_with_the_faults() -> None:
    facts = {"forks": 3, "threads": 5, "shared_pages": 40}
    complete = make_anatomy({Touch.FIRST: 100}, pages=50).model_copy(update=facts)
    scaled = scale_anatomy(complete, 1000)
    assert (scaled.forks, scaled.threads, scaled.shared_pages) == (30, 50, 400)
    assert merge_anatomies(complete, make_anatomy({Touch.FIRST: 500})).shared_pages == 200


def test_major_faults_keep_their_places_when_they_are_scaled_and_merged() -> None:
    major = Site(frame=Frame(function="read", module="m"), memory=Memory.FILE_DATA, touch=Touch.UNKNOWN, faults=10)
    complete = make_anatomy({Touch.FIRST: 10}).model_copy(
        update={"major": 10, "major_by_memory": {Memory.FILE_DATA: 10}, "major_sites": (major,)}
    )
    scaled = scale_anatomy(merge_anatomies(complete, make_anatomy({Touch.FIRST: 40})), 80)
    assert (scaled.major, scaled.major_by_memory, scaled.major_sites[0].faults) == (80, {Memory.FILE_DATA: 80}, 80)


def test_a_merged_anatomy_of_many_files_fits_into_a_profile() -> None:
    kinds = tuple(
        FaultKind(memory=memory, touch=touch, file=f"/srv/{number}", faults=10)
        for number in range(100)
        for memory in (Memory.FILE_TEXT, Memory.FILE_DATA)
        for touch in (Touch.FIRST, Touch.AFTER_MUNMAP, Touch.AFTER_MADVISE)
    )
    faults = sum(kind.faults for kind in kinds)
    sampled = make_anatomy({Touch.FIRST: faults // 3, Touch.AFTER_MUNMAP: faults - faults // 3})
    complete = make_anatomy({Touch.FIRST: 5, Touch.AGAIN: 5, Touch.AFTER_FORK: 5, Touch.AFTER_READ: 5})
    merged = merge_anatomies(complete, sampled.model_copy(update={"kinds": kinds}))
    assert Anatomy.model_validate(merged.model_dump()) == merged
