"""Changed calls that end their function, and that a compiler therefore replaces by a jump."""

from __future__ import annotations

from runner.contract.code_change import CallSite, ChangedCall
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from runner.contract.profile import Call, Census, Frame, Memory, Profile, Stack, StackKind, StackProfile, Touch
from service.rules.diagnose.diagnosis import diagnose_profile
from service.rules.diagnose.tail_calls import insert_tail_callers
from tests.service.rules.diagnose.test_difference_causes import profiled

LOOP = Frame(function="run_loop", module="prog", file="src/vm.c", line=72)
COLLECT = Frame(function="collect.part.0", module="prog", file="src/gc.c", line=590)
SWEEP = Frame(function="sweep", module="prog", file="src/gc.c", line=420)
TRIM = Frame(function="__malloc_trim", module="/usr/lib/libc.so.6", file="malloc.c", line=5106)
ADVISE = Frame(function="__x64_sys_madvise", module="[kernel.kallsyms]")
FAULT = Frame(function="asm_exc_page_fault", module="[kernel.kallsyms]")
FRAMES = (LOOP, COLLECT, SWEEP, TRIM, ADVISE, FAULT)
CALL = ChangedCall(callee="malloc_trim", caller="collect", file="src/gc.c", line=608)
INSERTED = Frame(function="collect", module="prog", file="src/gc.c", line=608)
SWEEPING, TRIMMING, FAULTING = (0, 1, 2), (0, 3, 4), (0, 5)


def profile_stacks(*stacks: tuple[int, ...], frames: tuple[Frame, ...] = FRAMES) -> Profile:
    """Return a profile in which these stacks take the CPU time, and all memory is touched by the loop."""
    on_cpu = StackProfile(
        kind=StackKind.ON_CPU,
        samples=100 * len(stacks),
        period=1,
        total=100 * len(stacks),
        call_graph="dwarf",
        stacks=tuple(Stack(frames=stack, weight=100) for stack in stacks),
    )
    n_again = 9000 if TRIMMING in stacks else 0
    rows = [(Memory.HEAP, Touch.FIRST, "", LOOP, 100), (Memory.HEAP, Touch.AFTER_MADVISE, "", LOOP, n_again)]
    census = Census(source="tracepoints", calls={"madvise": Call(calls=90)})
    changes = {"frames": frames, "on_cpu": on_cpu, "census": census}
    return profiled(*rows, stacks={(0,): 100 + n_again}).model_copy(update=changes)


BEFORE, AFTER = profile_stacks(SWEEPING, FAULTING), profile_stacks(SWEEPING, TRIMMING, FAULTING)


def list_stacks(profile: Profile) -> list[list[Frame]]:
    assert profile.on_cpu is not None
    return [[profile.frames[index] for index in stack.frames] for stack in profile.on_cpu.stacks]


def diagnose(*calls: ChangedCall) -> Diagnosis:
    changed_lines = {"src/gc.c": ((608, 608),)}
    return diagnose_profile(
        DiagnosisRequest(profile=AFTER, before=BEFORE, changed_lines=changed_lines, changed_calls=calls)
    )


def test_a_changed_line_that_ends_its_function_with_the_call_that_gives_memory_back_is_named() -> None:
    difference, without_calls = diagnose(CALL).difference, diagnose().difference
    assert difference is not None
    assert without_calls is not None
    assert without_calls.changed_place is None
    assert difference.changed_place is not None
    assert difference.changed_place.place == "collect at src/gc.c:608"
    assert difference.changed_place.gives_back


def test_what_malloc_trim_gives_back_is_not_cured_by_a_setting_of_the_c_library() -> None:
    (finding,) = diagnose(CALL).findings
    assert finding.remedies[0].text == "call malloc_trim less often, or not at all"
    assert not any("env.MALLOC_TRIM_THRESHOLD_" in remedy.settings for remedy in finding.remedies)


def test_the_missing_function_stands_between_its_caller_and_what_it_calls() -> None:
    assert list_stacks(insert_tail_callers(AFTER, BEFORE, [CALL])) == [
        [LOOP, COLLECT, SWEEP],
        [LOOP, INSERTED, TRIM, ADVISE],
        [LOOP, FAULT],
    ]


def test_a_caller_that_called_the_same_function_before_is_left_alone() -> None:
    assert insert_tail_callers(AFTER, profile_stacks(TRIMMING), [CALL]) is AFTER


def test_a_caller_that_is_not_seen_to_call_the_changed_function_is_left_alone() -> None:
    after = profile_stacks(TRIMMING)
    assert insert_tail_callers(after, BEFORE, [CALL]) is after
    elsewhere = LOOP.model_copy(update={"line": 80})  # it calls the changed function from another line
    other_line = profile_stacks((6, 1, 2), TRIMMING, frames=(*FRAMES, elsewhere))
    assert insert_tail_callers(other_line, BEFORE, [CALL]) is other_line


def test_a_call_within_the_changed_function_needs_no_further_frame() -> None:
    direct = profile_stacks(SWEEPING, (0, 1, 3, 4))
    assert insert_tail_callers(direct, BEFORE, [CALL]) is direct


def test_functions_are_recognised_by_the_name_in_the_source() -> None:
    names = {
        "free": "cfree@GLIBC_2.2.5",
        "memset": "__memset_avx512_unaligned_erms",
        "realloc": "__GI___libc_realloc",
        "_release": "_release",
        "drop": "pool::Buffer::drop(unsigned long)",
    }
    for callee, symbol in names.items():
        frames = (*FRAMES[:3], TRIM.model_copy(update={"function": symbol}), ADVISE)
        call = CALL.model_copy(update={"callee": callee})
        after = profile_stacks(SWEEPING, TRIMMING, frames=frames)
        assert list_stacks(insert_tail_callers(after, BEFORE, [call]))[1][1] == INSERTED, symbol


def test_a_function_that_stands_on_no_stack_is_found_by_the_lines_that_call_it() -> None:
    before, after = profile_stacks(FAULTING), profile_stacks(TRIMMING, FAULTING)
    assert insert_tail_callers(after, before, [CALL]) == after
    site = CallSite(file=LOOP.file, line=LOOP.line)
    completed = insert_tail_callers(after, before, [CALL.model_copy(update={"caller_sites": (site,)})])
    assert [LOOP, INSERTED, TRIM, ADVISE] in list_stacks(completed)
    other_site = CallSite(file=LOOP.file, line=LOOP.line + 1)
    assert insert_tail_callers(after, before, [CALL.model_copy(update={"caller_sites": (other_site,)})]) == after
