"""Changed lines that may decide when memory is collected, kept or given back."""

from __future__ import annotations

import pytest

from runner.contract.code_change import ChangedCode, ChangedFile
from runner.contract.diagnosis import ChangedPlace, DiagnosisRequest, Difference, DifferencePart, FaultCause
from runner.contract.explanation_text import describe_change
from runner.contract.profile import Memory, Profile, Touch
from service.rules.diagnose.diagnosis import diagnose_profile
from service.rules.diagnose.memory_policy import relate_to_policy
from tests.service.rules.diagnose.test_difference_causes import GROW, READ, new, profiled

FILE = "src/heap.c"


def code(before: str, after: str, function: str = "heap_step", line: int = 7, file: str = FILE) -> ChangedCode:
    return ChangedCode(
        file=file,
        line=line,
        line_before=line if before else 0,
        function=function,
        text_before=before,
        text_after=after,
    )


DELAY = code("{ 25, OPTION(purge_delay) },", "{ 10, OPTION(purge_delay) },", "options")
LIMIT = code("#define MAX_RETIRE_SIZE MEDIUM", "#define MAX_RETIRE_SIZE LARGE", "MAX_RETIRE_SIZE", line=3)
TEST = code("if (size <= limit && page_can_retire(page)) {", "if (page_can_retire(page)) {", line=20)
COUNT = code("", "g->gc_debt++;", line=30)


def explain(
    *changed_code: ChangedCode,
    profiles: tuple[Profile, Profile] | None = None,
    lines: dict[str, tuple[tuple[int, int], ...]] | None = None,
) -> Difference:
    before, after = profiles or (profiled(new(100), stacks={(0,): 100}), profiled(new(900), stacks={(0,): 900}))
    difference = diagnose_profile(
        DiagnosisRequest(
            profile=after,
            before=before,
            changed_lines=lines or {FILE: ((3, 30),)},
            changed_code=changed_code,
            changed_files=(ChangedFile(file=FILE, bytes_before=10, bytes_after=11),),
        )
    ).difference
    assert difference is not None
    return difference


def test_a_changed_limit_is_told_instead_of_a_cause_that_was_not_found() -> None:
    difference = explain(DELAY)
    assert difference.policy_changes == (DELAY,)
    assert describe_change(difference, str) == [
        "Judging by their names, these changed lines may decide when memory is collected, kept or given back:",
        "options at src/heap.c:7: `{ 25, OPTION(purge_delay) },` became `{ 10, OPTION(purge_delay) },`.",
    ]
    assert not difference.is_indirect
    assert describe_change(explain(), str)[0].startswith("The cause was not found")


def test_what_is_counted_comes_first_then_other_numbers_and_constants_and_conditions_only_without_them() -> None:
    removal = code("#define SWEEP_MAX LARGE", "", "SWEEP_MAX", line=2)
    assert explain(TEST, LIMIT, removal, DELAY, COUNT).policy_changes == (COUNT, DELAY, LIMIT, removal)
    assert explain(TEST).policy_changes == (TEST,)


def test_other_numbers_of_macros_in_the_same_file_are_limits_as_well() -> None:
    step = code("#define MINOR_STEP 100", "#define MINOR_STEP 70", "MINOR_STEP", line=2)
    assert set(explain(step, LIMIT).policy_changes) == {step, LIMIT}
    assert explain(step).policy_changes == ()


def test_all_entries_of_a_table_are_told() -> None:
    entries = [
        code(f"{{ {n}, OPTION(purge_{n}) }},", f"{{ 1{n}, OPTION(purge_{n}) }},", "options", n) for n in (2, 3, 4)
    ]
    assert explain(*entries).policy_changes == tuple(entries)


def test_a_line_that_only_counts_is_told() -> None:
    for text in ("++heap->gc_counter;", "state.gc_debt -= size;"):
        assert explain(code("", text, "alloc_object")).policy_changes


def test_the_text_of_a_line_is_told_once() -> None:
    difference = explain(DELAY).model_copy(update={"changed_code": DELAY})
    assert sum("purge_delay" in sentence for sentence in describe_change(difference, str)) == 1


def test_a_function_with_many_such_lines_does_not_hide_the_others() -> None:
    many = [code(f"if (pause > {n})", f"if (pause > {n + 1})", "set_pause", line=n) for n in range(2, 9)]
    assert explain(*many, DELAY).policy_changes == (*many[:4], DELAY)


def test_in_the_gate_one_line_is_enough() -> None:
    sentences = describe_change(explain(DELAY, LIMIT), str, max_policy_changes=1)
    assert [sentence.split(" ")[0] for sentence in sentences] == ["Judging", "options"]


@pytest.mark.parametrize(
    "change",
    [
        code("n = 25;", "n = 10;", "count_words"),
        code("", '"Gcirc": {Name: "Gcirc", Points: []int{284}},', "entities"),
        code("#define GCC_VERSION 9", "#define GCC_VERSION 10", "GCC_VERSION"),
        code("assert(purge_delay > 1);", "assert(purge_delay > 2);"),
        code("purge_all(heap->next);", "purge_all(heap->next, true, 20);"),
        code("int n = 0;", "int n = 0, n_pages = 0;", "purge_pages"),
        code("#define PURGE_DELAY 1", "#define PURGE_DELAY 2", file="tests/purge.c"),
        code("purge_delay = 1", "purge_delay = 2", file="docs/purge.md"),
    ],
    ids=["other-names", "entity", "compiler", "assertion", "call", "start-at-zero", "test", "document"],
)
def test_other_changed_lines_are_no_policy(change: ChangedCode) -> None:
    assert explain(change).policy_changes == ()


def test_a_changed_line_that_faults_itself_needs_no_policy() -> None:
    difference = explain(DELAY, lines={"src/table.c": ((12, 12),), FILE: ((7, 7),)})
    assert difference.changed_place is not None
    assert difference.policy_changes == ()


def test_a_line_that_is_named_because_it_gives_memory_back_is_told_once() -> None:
    place = ChangedPlace(place="f at src/heap.c:7", source_file=FILE, source_line=7, faults=0, gives_back=True)
    part = DifferencePart(cause=FaultCause.AFTER_MADVISE, before=0, after=90, place="g at a.c:1", sentence="touches")
    difference = Difference(before=0, after=90, parts=(part,), changed_place=place)
    request = DiagnosisRequest(profile=profiled(new(90)), changed_code=(DELAY, TEST))
    assert relate_to_policy(difference, request).policy_changes == (TEST,)


def test_pages_of_files_and_scattered_faults_need_no_policy() -> None:
    files = tuple(profiled((Memory.FILE_DATA, Touch.FIRST, "/srv/table", GROW, n)) for n in (100, 900))
    assert explain(DELAY, profiles=(files[0], files[1])).policy_changes == ()
    heap = [
        profiled(new(n), (Memory.HEAP, Touch.AFTER_BRK, "", READ, 2 * n), stacks={(0,): n, (1,): 2 * n})
        for n in (100, 140)
    ]
    assert explain(DELAY, profiles=(heap[0], heap[1])).policy_changes == ()
