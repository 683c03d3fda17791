"""The lines that lead to a difference through what they call: callers of allocators, and changed callers."""

from __future__ import annotations

from typing import Literal

import pytest

from runner.contract.code_change import MAX_CHANGED_FILES, LineRange
from runner.contract.diagnosis import ChangedPlace, DiagnosisRequest, Difference
from runner.contract.explanation_text import describe_changed_place, describe_opposite_place
from runner.contract.profile import COMPILED_MODULE, Frame, Memory, Profile, Stack, StackKind, StackProfile, Touch
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.rules.diagnose.test_difference_causes import profiled

MAIN = Frame(function="main", module="prog", file="src/main.c", line=90)
PLAN = Frame(function="plan", module="prog", file="src/plan.c", line=7)
GROW = Frame(function="grow", module="prog", file="src/table.c", line=12)
READ = Frame(function="read_all", module="prog", file="src/file.c", line=40)
STRIPPED = Frame(function="[unknown]", module="prog")
UNWOUND = Frame(function="parse", module="libx.so.1")
XMALLOC = Frame(function="xmalloc", module="prog", file="src/memory.c", line=5)
POOL = Frame(function="Pool::Alloc(unsigned long)", module="prog", file="src/pool.cpp", line=31)
INIT = Frame(function="alloc_decoder", module="prog", file="src/memory.c", line=8)
MALLOC = Frame(function="_int_malloc", module="/usr/lib/libc.so.6", file="malloc.c", line=4000)


def profile_stacks(weights: dict[tuple[Frame, ...], int], period: int = 1) -> Profile:
    """Return a profile with new memory that is first touched by some stacks, outermost frame first."""
    frames = tuple(dict.fromkeys(frame for stack in weights for frame in stack))
    touched: dict[Frame, int] = {}
    for stack, weight in weights.items():
        touched[stack[-1]] = touched.get(stack[-1], 0) + weight
    stacks = tuple(
        Stack(frames=tuple(frames.index(frame) for frame in stack), weight=weight) for stack, weight in weights.items()
    )
    total = sum(weights.values())
    faults = StackProfile(
        kind=StackKind.FAULTS,
        samples=max(1, total // period),
        period=period,
        total=total,
        call_graph="fp",
        stacks=stacks,
    )
    rows = [(Memory.HEAP, Touch.FIRST, "", frame, n_faults) for frame, n_faults in touched.items()]
    return profiled(*rows).model_copy(update={"frames": frames, "faults": faults})


def explain(
    before: dict[tuple[Frame, ...], int],
    after: dict[tuple[Frame, ...], int],
    *,
    period: int = 1,
    removed_lines: dict[str, tuple[LineRange, ...]] | None = None,
    **changed_lines: tuple[int, int] | None,
) -> Difference:
    """Return the difference of two profiles, given the changed lines by file; None if lines were only removed."""
    difference = diagnose_profile(
        DiagnosisRequest(
            profile=profile_stacks(after, period),
            before=profile_stacks(before, period),
            removed_lines=removed_lines or {},
            changed_lines={f"src/{name}.c": (lines,) if lines else () for name, lines in changed_lines.items()},
        )
    ).difference
    assert difference is not None
    return difference


@pytest.mark.parametrize("allocators", [(XMALLOC,), (POOL, XMALLOC)])
def test_an_allocator_is_named_with_the_line_that_calls_it_more_often(allocators: tuple[Frame, ...]) -> None:
    before = {(MAIN, GROW, *allocators, MALLOC): 10, (MAIN, READ, *allocators, MALLOC): 30}
    (part,) = explain(before, before | {(MAIN, GROW, *allocators, MALLOC): 90}).parts
    assert part.place == "xmalloc at src/memory.c:5"
    assert part.caller == "grow at src/table.c:12"


def test_an_allocator_that_faults_itself_is_named_with_its_caller() -> None:
    (part,) = explain({(MAIN, GROW, POOL): 10}, {(MAIN, GROW, POOL): 90}).parts
    assert (part.place, part.caller) == ("Pool::Alloc(unsigned long) at src/pool.cpp:31", "grow at src/table.c:12")


def test_an_allocator_that_takes_more_for_all_its_callers_is_named_alone() -> None:
    callers = [Frame(function=f"use_{i}", module="prog", file="src/use.c", line=10 + i) for i in range(4)]
    before = {(MAIN, caller, XMALLOC, MALLOC): 100 for caller in callers}
    (part,) = explain(before, {stack: 2 * weight for stack, weight in before.items()}).parts
    assert (part.place, part.caller) == ("xmalloc at src/memory.c:5", "")


def test_other_lines_are_named_without_their_callers() -> None:
    for frames in ((MAIN, GROW), (MAIN, INIT, MALLOC)):
        (part,) = explain({frames: 10}, {frames: 90}).parts
        assert part.caller == ""


def test_a_changed_line_is_named_by_what_it_calls_if_no_changed_line_faults_more_itself() -> None:
    before = {(MAIN, PLAN, GROW): 100, (MAIN, READ): 50}
    after = {(MAIN, PLAN, GROW): 900, (MAIN, READ): 50}
    place = explain(before, after, plan=(6, 8), main=(80, 99), file=(1, 99)).changed_place
    assert place is not None
    # Of the changed lines that call one another, the innermost.
    assert (place.place, place.faults, place.is_caller) == ("plan at src/plan.c:7", 800, True)
    itself = explain(before, after | {(MAIN, READ): 150}, plan=(6, 8), file=(1, 99)).changed_place
    assert itself is not None
    assert (itself.place, itself.faults, itself.is_caller) == ("read_all at src/file.c:40", 100, False)
    assert explain(before, after, file=(1, 99)).changed_place is None


def test_of_the_changed_lines_the_one_that_lost_most_is_named_if_the_program_faults_less() -> None:
    before = {(MAIN, PLAN, GROW): 900, (MAIN, READ): 50}
    after = {(MAIN, PLAN, GROW): 100, (MAIN, READ): 80}
    difference = explain(before, after, plan=(6, 8), file=(1, 99))
    place = difference.changed_place
    assert place is not None
    assert (place.place, place.faults, place.is_caller) == ("plan at src/plan.c:7", -800, True)
    assert describe_changed_place(place, place.place, place.faults).endswith(
        "plan.c:7 lost the most faults, in the code that it calls: −800."
    )
    rewritten = explain(before | {(MAIN, PLAN): 400}, after, plan=(6, 8)).changed_place
    assert rewritten is not None
    # It has no faults of its own any more, so it is named by those of what it calls.
    assert (rewritten.faults, rewritten.is_caller) == (-1200, True)


def test_a_changed_line_against_the_direction_is_named_if_there_is_none_in_it() -> None:
    before = {(MAIN, GROW): 900, (MAIN, READ): 50}
    after = {(MAIN, GROW): 700, (MAIN, READ): 110}
    difference = explain(before, after, file=(1, 99))
    place = difference.changed_place
    assert place is not None
    assert (place.place, place.faults) == ("read_all at src/file.c:40", 60)
    assert describe_changed_place(place, place.place, place.faults).endswith("file.c:40 gained the most faults: +60.")
    assert not difference.is_indirect, "a changed line takes part, if in the other direction"


def test_a_changed_line_that_took_everything_over_from_others_is_not_called_indirect() -> None:
    difference = explain({(MAIN, GROW): 900, (MAIN, READ): 50}, {(MAIN, GROW): 700, (MAIN, READ): 148}, file=(1, 99))
    assert difference.changed_place is not None
    assert difference.changed_place.faults == 98
    assert not difference.is_indirect


@pytest.mark.parametrize(("more", "named"), [(2_000, True), (5_720, True), (10, False)])
def test_a_regression_that_an_improvement_of_the_same_commit_hides_is_named(more: int, *, named: bool) -> None:
    before = {(MAIN, GROW): 6_000, (MAIN, READ): 100}
    after = {(MAIN, GROW): 280, (MAIN, READ): 100 + more}
    difference = explain(before, after, file=(1, 99), table=(1, 99))
    places = [difference.changed_place, difference.opposite_place]
    assert {place.place: place.faults for place in places if place} == (
        {"grow at src/table.c:12": -5_720} | ({"read_all at src/file.c:40": more} if named else {})
    )
    if difference.opposite_place and difference.changed_place and more < 5_720:
        assert describe_opposite_place(difference.opposite_place, "f") == f"Another, f, gained {more:,} faults."


@pytest.mark.parametrize("faults", [900, 100])
def test_a_single_changed_line_has_no_opposite(faults: int) -> None:
    difference = explain(
        {(MAIN, GROW): 500, (MAIN, READ): 50}, {(MAIN, GROW): faults, (MAIN, READ): 50}, table=(12, 12)
    )
    assert difference.changed_place is not None
    assert difference.opposite_place is None


def test_a_line_that_lost_what_it_calls_and_gained_less_itself_is_named_once() -> None:
    difference = explain({(MAIN, READ, GROW): 507}, {(MAIN, READ): 251}, file=(40, 40))
    assert difference.changed_place is not None
    assert difference.changed_place.place == "read_all at src/file.c:40"
    assert difference.opposite_place is None


def test_a_changed_line_that_only_took_faults_over_within_its_function_is_no_cause() -> None:
    first, second = (GROW.model_copy(update={"line": line}) for line in (30, 31))
    before = {(MAIN, first): 400, (MAIN, second): 100, (MAIN, READ): 100}
    after = {(MAIN, first): 110, (MAIN, second): 400, (MAIN, READ): 200}
    place = explain(before, after, table=(31, 31)).changed_place
    assert place is None or place.faults < 100
    assert (
        describe_changed_place(_make_place(9), "f", 159)
        == "Of the changed lines, f gained the most faults: +9 of +159."
    )


def _make_place(faults: int) -> ChangedPlace:
    return ChangedPlace(place="f", source_file="src/f.c", source_line=1, faults=faults)


def test_a_removed_line_that_explains_more_comes_before_a_changed_one() -> None:
    before, after = {(MAIN, GROW): 100, (MAIN, READ): 50}, {(MAIN, GROW): 60}
    named = explain(before, after, table=(12, 12)).changed_place
    assert named is not None
    assert (named.place, named.faults) == ("grow at src/table.c:12", -40)
    removed = explain(before, after, removed_lines={"src/file.c": ((38, 40),)}, table=(12, 12), file=(38, 38))
    place = removed.changed_place
    assert place is not None
    assert (place.place, place.faults, place.is_removed) == ("read_all at src/file.c:40 (before)", -50, True)
    assert (
        describe_changed_place(place, "f", place.faults) == "The change removed or rewrote f, which had 50 faults more."
    )
    elsewhere = explain(before, after, removed_lines={"src/file.c": ((3, 4),)}, table=(12, 12), file=(3, 3))
    assert elsewhere.changed_place == named


def test_the_removed_line_that_called_what_faulted_is_named() -> None:
    before, after = {(MAIN, INIT, GROW): 100, (MAIN, READ): 50}, {(MAIN, READ): 50}
    removed_lines = {INIT.file: ((INIT.line, INIT.line),)}
    place = explain(before, after, removed_lines=removed_lines, memory=(8, 8)).changed_place
    assert place is not None
    assert (place.is_removed, place.is_caller, place.faults) == (True, True, -100)
    assert describe_changed_place(place, "f", place.faults).endswith("f, which called code that had 100 faults more.")
    again = explain(after, before, removed_lines=removed_lines, memory=(8, 8)).changed_place
    assert again is None or not again.is_removed, "what was removed cannot fault more"


GO_RUNTIME = Frame(function="runtime.madvise", module="prog", file="/usr/lib/go/src/runtime/sys.s", line=5)
GIVE_BACK = Frame(function="give_back", module="prog", file="src/os.c", line=5)
LIBRARY = Frame(function="__madvise", module="/usr/lib/libc.so.6")


@pytest.mark.parametrize(
    ("samples", "call_graph", "give_back", "is_named"),
    [
        (200, "dwarf", GIVE_BACK, True),
        (200, "dwarf", LIBRARY, True),
        (200, "fp", GO_RUNTIME, True),
        (200, "fp", LIBRARY, False),  # it has no frame pointers, so that its caller may be missing
        (5, "dwarf", GIVE_BACK, False),
    ],
)
def test_a_changed_line_that_calls_what_gives_memory_back_is_named(
    samples: int, call_graph: Literal["dwarf", "fp"], give_back: Frame, *, is_named: bool
) -> None:
    purge = Frame(function="purge", module="prog", file="src/arena.c", line=20)
    advise = Frame(function="__x64_sys_madvise", module="[kernel.kallsyms]")
    frames = (MAIN, GROW, purge, give_back, advise)

    def returned(n_again: int) -> Profile:
        rows = [(Memory.HEAP, Touch.FIRST, "", GROW, 100), (Memory.HEAP, Touch.AFTER_MADVISE, "", GROW, n_again)]
        on_cpu = StackProfile(
            kind=StackKind.ON_CPU,
            samples=samples,
            period=1,
            total=100,
            call_graph=call_graph,
            stacks=(Stack(frames=(0, 1), weight=40), Stack(frames=(0, 2, 3, 4), weight=60)),
        )
        known = profiled(*(row for row in rows if row[4]), stacks={(0, 1): 100 + n_again})
        return known.model_copy(update={"frames": frames, "on_cpu": on_cpu})

    def find_place(**changed_lines: tuple[int, int]) -> ChangedPlace | None:
        ranges = {f"src/{name}.c": (lines,) for name, lines in changed_lines.items()}
        request = DiagnosisRequest(profile=returned(5000), before=returned(0), changed_lines=ranges)
        difference = diagnose_profile(request).difference
        assert difference is not None
        assert difference.is_indirect is (is_named and difference.changed_place is None)
        return difference.changed_place

    place = find_place(arena=(18, 22), main=(1, 2))
    assert (place is not None) is is_named
    if place:
        assert (place.place, place.gives_back) == ("purge at src/arena.c:20", True)
        assert describe_changed_place(place, place.place, place.faults) == (
            "Of the changed lines, purge at src/arena.c:20 calls the code that gives back or write-protects this "
            "memory."
        )
    assert find_place(main=(1, 2)) is None, "no line that was changed is on the stacks"
    request = DiagnosisRequest(
        profile=returned(0),
        before=returned(5000),
        changed_lines={"src/arena.c": ((30, 30),)},
        removed_lines={"src/arena.c": ((18, 22),)},
    )
    opposite = diagnose_profile(request).difference
    assert opposite is not None
    assert (opposite.changed_place is not None) is is_named
    if opposite.changed_place:
        assert describe_changed_place(opposite.changed_place, opposite.changed_place.place, -5000) == (
            "The change removed or rewrote purge at src/arena.c:20 (before), which called the code that gave back or "
            "write-protected this memory."
        )


def test_a_recursive_line_counts_each_fault_once() -> None:
    place = explain({(MAIN, PLAN, PLAN, GROW): 100}, {(MAIN, PLAN, PLAN, GROW): 150}, plan=(6, 8)).changed_place
    assert place is not None
    assert place.faults == 50


def test_a_header_of_types_may_act_indirectly_and_the_loader_needs_no_lines() -> None:
    loader = Frame(function="dl_main", module="/usr/lib/ld-linux-x86-64.so.2")
    before = {(loader,): 100, (MAIN, PLAN, GROW): 100}
    after = before | {(MAIN, PLAN, GROW): 150}
    for file, is_indirect in (("include/table.h", True), ("README.md", False)):
        request = DiagnosisRequest(
            profile=profile_stacks(after), before=profile_stacks(before), changed_lines={file: ((1, 9),)}
        )
        difference = diagnose_profile(request).difference
        assert difference is not None
        assert difference.is_indirect is is_indirect


def test_no_change_is_called_indirect_if_many_stacks_were_lost() -> None:
    sides = [profile_stacks({(MAIN, PLAN, GROW): weight, (MAIN, READ): 100}) for weight in (100, 150)]
    for n_lost, is_indirect in ((10, True), (50, False)):
        profiles = [
            side.model_copy(update={"faults": side.faults.model_copy(update={"lost": n_lost})})
            for side in sides
            if side.faults
        ]
        changed_lines = {"src/file.c": ((1, 9),)}
        request = DiagnosisRequest(profile=profiles[1], before=profiles[0], changed_lines=changed_lines)
        difference = diagnose_profile(request).difference
        assert difference is not None
        assert difference.is_indirect is is_indirect


def test_a_change_none_of_whose_lines_faults_more_acts_indirectly() -> None:
    before = {(MAIN, PLAN, GROW): 100, (MAIN, READ): 100}
    after = before | {(MAIN, PLAN, GROW): 150}
    assert explain(before, after, file=(1, 9)).is_indirect
    assert explain(before, after, file=None).is_indirect, "lines were only removed"
    assert not explain(before, after, plan=(6, 8)).is_indirect, "a changed line calls what does"
    assert not explain(before, after).is_indirect, "the changed lines are unknown"
    assert not explain(before, after, manual=(1, 9)).is_indirect, "the program has no code of this file"
    assert explain(after, before, file=(1, 9)).is_indirect, "no changed line faults less either"
    for frame in (STRIPPED, UNWOUND):
        assert not explain({(frame,): 10} | before, {(frame,): 30} | after, file=(1, 9)).is_indirect, (
            "lines are unknown"
        )
    jit = Frame(function="work", module=COMPILED_MODULE, file="src/app.js", line=10)
    assert not explain({(MAIN, jit): 100} | before, {(MAIN, jit): 100} | after, file=(1, 9)).is_indirect
    alone = {(GROW,): 100, (READ,): 100}
    assert not explain(alone, alone | {(GROW,): 150}, file=(1, 9)).is_indirect, "callers are unknown"


def test_a_sample_of_the_faults_is_too_coarse_to_say_that_no_changed_line_has_a_part() -> None:
    before, after = ({(MAIN, PLAN, GROW): 100_000 + more, (MAIN, READ): 900_000} for more in (0, 900))
    assert explain(before, after, file=(1, 9)).is_indirect
    assert not explain(before, after, period=500, file=(1, 9)).is_indirect


def test_the_lines_of_a_large_change_are_not_known_completely() -> None:
    profiles = [profile_stacks({(MAIN, PLAN, GROW): faults, (MAIN, READ): 100}) for faults in (100, 150)]
    many = {f"src/{number}.c": ((1, 1),) for number in range(MAX_CHANGED_FILES - 1)} | {"src/file.c": ((1, 9),)}
    request = DiagnosisRequest(before=profiles[0], profile=profiles[1], changed_lines=many)
    difference = diagnose_profile(request).difference
    assert difference
    assert not difference.is_indirect


def test_an_unchanged_line_does_not_lead_if_other_unchanged_lines_lost_most_of_what_it_gained() -> None:
    before = {(MAIN, GROW): 100, (MAIN, READ): 100}
    after = {(MAIN, GROW): 162, (MAIN, READ): 53}
    (part,) = explain(before, after, plan=(6, 8)).parts
    assert part.place == ""
    assert part.sentence.endswith(" for the first time, and the rest at different lines than before")
    place = "grow at src/table.c:12"
    assert explain(before, {(MAIN, GROW): 220}, plan=(6, 8)).parts[0].place == "", "the other line lost all"
    assert explain(before, {(MAIN, GROW): 220}, file=(1, 2)).parts[0].place == place, "the other line may be gone"
    assert explain(before, after, table=(12, 12)).parts[0].place == place, "it was changed"
    assert explain(before, after, file=(40, 40)).parts[0].place == place, "what the changed line lost is no exchange"
    assert explain(before, after).parts[0].place == place, "the changed lines are unknown"
    assert explain(before, after | {(MAIN, READ): 80}, plan=(6, 8)).parts[0].place == place
    assert explain(before, {(MAIN, GROW): 102, (MAIN, READ): 99}, plan=(6, 8)).parts[0].place == place, "one fault"
