"""What changed besides the faults: memory populated at once, processes and threads."""

from __future__ import annotations

import pytest

from runner.contract.profile import Census, Frame, Memory, Profile, StackKind, Touch
from tests.service.profiles import stacks
from tests.service.rules.diagnose.test_difference_causes import FRAMES, GROW, explain, profiled

POPULATE = Frame(function="populate_vma_page_range", module="[kernel.kallsyms]")


def made(*, forks: int = 0, threads: int = 0, populated_bytes: int = 0) -> Profile:
    profile = profiled((Memory.HEAP, Touch.FIRST, "", GROW, 100))
    assert profile.anatomy is not None
    anatomy = profile.anatomy.model_copy(update={"forks": forks, "threads": threads})
    census = Census(source="tracepoints", calls={}, populated_bytes=populated_bytes)
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


def test_a_few_threads_more_of_a_runtime_are_not_worth_a_sentence() -> None:
    assert explain(made(threads=20), made(threads=23)).remarks == ()


def test_the_threads_of_a_runtime_that_starts_them_when_it_likes_are_not_said() -> None:
    before, after = made(threads=2), made(threads=4)
    go_frames = (*after.frames, Frame(function="runtime.mallocgc", module="/srv/program"))
    assert explain(before, after).remarks
    assert explain(before, after.model_copy(update={"frames": go_frames})).remarks == ()
