"""What changed besides the faults: memory populated at once, processes and threads."""

from __future__ import annotations

import pytest

from runner.contract.profile import Call, Census, Frame, Memory, Profile, StackKind, Touch
from tests.service.profiles import stacks
from tests.service.rules.diagnose.test_difference_causes import FRAMES, GROW, explain, profiled

POPULATE = Frame(function="populate_vma_page_range", module="[kernel.kallsyms]")


def made(*, forks: int = 0, threads: int = 0, populated_bytes: int = 0, **calls: int) -> Profile:
    profile = profiled((Memory.HEAP, Touch.FIRST, "", GROW, 100))
    assert profile.anatomy is not None
    anatomy = profile.anatomy.model_copy(update={"forks": forks, "threads": threads})
    counts = {name: Call(calls=n, bytes=0) for name, n in calls.items()}
    census = Census(source="tracepoints", calls=counts, populated_bytes=populated_bytes)
    on_cpu = stacks(StackKind.ON_CPU, {(0, 3): 100}, samples=100, call_graph="dwarf")
    update = {"anatomy": anatomy, "census": census, "frames": (*FRAMES, POPULATE), "on_cpu": on_cpu}
    return profile.model_copy(update=update)


def test_memory_that_is_populated_without_faults_is_said_with_its_line() -> None:
    (remark,) = explain(made(), made(populated_bytes=96 << 20)).remarks
    assert "0\xa0bytes before, 96\xa0MiB after, mostly by " in remark
    assert GROW.function in remark or FRAMES[0].function in remark


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (made(), made(forks=1), "The program starts 1 process (0 before), each with its own faults."),
        (made(forks=1), made(forks=21), "The program starts 21 processes (1 before), each with its own faults."),
        (
            made(threads=4),
            made(threads=40),
            "The program starts 40 threads (4 before), each with a stack and perhaps with an arena of malloc.",
        ),
    ],
)
def test_more_processes_or_threads_are_said(before: Profile, after: Profile, sentence: str) -> None:
    assert explain(before, after).remarks == (sentence,)


@pytest.mark.parametrize(
    ("before", "after", "remarks"),
    [
        ({"madvise": 900}, {}, ("The program calls madvise 0 times (900 before).",)),
        (
            {"brk": 20},
            {"brk": 90, "munmap": 30},
            ("The program calls brk 90 times (20 before) and munmap 30 times (0 before).",),
        ),
        ({"brk": 60, "mmap": 3}, {"brk": 90, "mmap": 9}, ()),
        ({}, {"read": 500}, ()),
    ],
    ids=["no-longer", "two", "hardly", "of-no-memory"],
)
def test_calls_that_are_made_much_more_or_less_often_are_said(
    before: dict[str, int], after: dict[str, int], remarks: tuple[str, ...]
) -> None:
    assert explain(made(**before), made(**after)).remarks == remarks


def test_a_few_threads_more_of_a_runtime_are_not_worth_a_sentence() -> None:
    assert explain(made(threads=20), made(threads=23)).remarks == ()


def test_the_threads_of_a_runtime_that_starts_them_when_it_likes_are_not_said() -> None:
    before, after = made(threads=2), made(threads=4)
    go_frames = (*after.frames, Frame(function="runtime.mallocgc", module="/srv/program"))
    assert explain(before, after).remarks
    assert explain(before, after.model_copy(update={"frames": go_frames})).remarks == ()
