"""The definition that a change alters, and the line by which it acts on the difference."""

from __future__ import annotations

import pytest

from runner.contract.code_change import ChangedDefinition, ChangedFile, Use
from runner.contract.diagnosis import DiagnosisRequest, Difference
from runner.contract.explanation_text import describe_altered_definition
from runner.contract.profile import Frame, Memory, Profile, StackKind, Touch
from runner.contract.report import Reading
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.profiles import stacks
from tests.service.rules.diagnose.test_calling_lines import profile_stacks
from tests.service.rules.diagnose.test_difference_causes import FRAMES, GROW, MEMSET, READ, new, profiled

FILES = (ChangedFile(file="src/limits.h", bytes_before=10, bytes_after=11),)
RUN = ChangedFile(file="src/run.c", bytes_before=90, bytes_after=99)


def explain(
    before: Profile,
    after: Profile,
    *definitions: ChangedDefinition,
    lines: dict[str, tuple[tuple[int, int], ...]] | None = None,
    files: tuple[ChangedFile, ...] = FILES,
    is_cosmetic: bool = False,
) -> Difference:
    request = DiagnosisRequest(
        profile=after,
        before=before,
        changed_lines={"src/limits.h": ((7, 7),)} if lines is None else lines,
        changed_definitions=definitions,
        changed_files=files,
        is_cosmetic=is_cosmetic,
    )
    difference = diagnose_profile(request).difference
    assert difference is not None
    return difference


def define(name: str, *uses: tuple[str, int, str], file: str = "src/limits.h", line: int = 7) -> ChangedDefinition:
    return ChangedDefinition(
        name=name, file=file, line=line, uses=tuple(Use(file=f, line=n, function=function) for f, n, function in uses)
    )


def describe(difference: Difference) -> str:
    assert difference.altered_definition is not None
    return describe_altered_definition(difference.altered_definition, str)


def grown(stacks: dict[tuple[int, ...], int] | None = None) -> tuple[Profile, Profile]:
    before = profiled(new(100), stacks={(0,): 100})
    return before, profiled(new(900), stacks=stacks or {(0,): 900})


def test_an_altered_macro_is_named_with_the_line_in_the_function_that_faults_more() -> None:
    difference = explain(*grown(), define("LIMIT", ("src/file.c", 41, "read_all"), ("src/table.c", 11, "grow")))
    assert describe(difference) == "The change alters only LIMIT (src/limits.h:7), which grow at src/table.c:11 uses."
    assert not difference.is_indirect


def test_an_altered_macro_is_named_with_its_values() -> None:
    values = {"value_before": "16", "value_after": "4096"}
    limit = define("LIMIT", ("src/table.c", 11, "grow")).model_copy(update=values)
    text = describe(explain(*grown(), limit))
    assert text == "The change alters only LIMIT (src/limits.h:7: 16 → 4096), which grow at src/table.c:11 uses."
    unlinked = define("LIMIT").model_copy(update=values), define("PAUSE")
    assert explain(profiled(new(100)), profiled(new(900)), *unlinked).other_change == (
        "The change alters LIMIT (src/limits.h:7: 16 → 4096) and PAUSE (src/limits.h:7)."
    )


def test_a_line_that_itself_faults_more_comes_before_other_lines_of_its_function_and_before_its_callers() -> None:
    uses = (("src/file.c", 40, "read_all"), ("src/table.c", 3, "grow"), ("src/table.c", 12, "grow"))
    stacks = {(1, 0): 900}
    difference = explain(*grown(stacks), define("entry", *uses))
    assert difference.altered_definition is not None
    assert difference.altered_definition.use == "grow at src/table.c:12"
    caller = explain(*grown(stacks), define("entry", uses[0]))
    assert caller.altered_definition is not None
    assert caller.altered_definition.use == "read_all at src/file.c:40"


def test_a_use_whose_faults_did_not_change_is_no_link_unless_nothing_else_is_altered() -> None:
    use = ("src/file.c", 40, "read_all")
    one = explain(*grown(), define("LIMIT", use))
    assert describe(one) == "The change alters only LIMIT (src/limits.h:7), which read_all at src/file.c:40 uses."
    two = explain(*grown(), define("LIMIT", use), define("OTHER", use))
    assert two.altered_definition is None
    assert two.other_change == "The change alters LIMIT (src/limits.h:7) and OTHER (src/limits.h:7)."
    assert two.conclusion == ""


def test_a_changed_line_that_explains_the_difference_itself_needs_no_definition() -> None:
    lines = {"src/limits.h": ((7, 7),), "src/table.c": ((12, 12),)}
    difference = explain(*grown(), define("LIMIT", ("src/table.c", 12, "grow")), lines=lines)
    assert difference.altered_definition is None
    assert difference.changed_place is not None


def test_a_changed_line_of_the_other_direction_does_not_stand_beside_a_definition() -> None:
    """The line was changed as well, but the faults grew because of the macro."""
    before = profiled(new(100), new(300, READ), stacks={(0,): 100, (1,): 300})
    after = profiled(new(1_000), new(10, READ), stacks={(0,): 1_000, (1,): 10})
    lines = {"src/limits.h": ((7, 7),), "src/file.c": ((40, 40),)}
    plain = explain(before, after, lines=lines)
    assert plain.changed_place is not None
    assert plain.changed_place.faults == -290
    difference = explain(before, after, define("LIMIT", ("src/table.c", 12, "grow")), lines=lines)
    assert difference.changed_place is None
    assert describe(difference) == "The change alters LIMIT (src/limits.h:7), which grow at src/table.c:12 uses."


def test_a_function_that_faults_at_an_unchanged_line_is_altered_itself() -> None:
    definition = define(
        "grow", ("src/table.c", 10, "grow"), ("src/file.c", 40, "read_all"), file="src/table.c", line=10
    )
    difference = explain(*grown({(1, 0): 900}), definition, lines={"src/table.c": ((10, 10),)})
    assert describe(difference) == "The change alters only grow itself, at src/table.c:10."


def test_a_change_without_source_code_is_described_by_its_files() -> None:
    files = (
        ChangedFile(file="data/words.txt", bytes_before=1024, bytes_after=4096),
        ChangedFile(file="Makefile", bytes_before=90, bytes_after=91),
        ChangedFile(file="README.md", bytes_before=90, bytes_after=91),
    )
    difference = explain(*grown(), lines={"Makefile": ((1, 1),), "README.md": ((1, 1),)}, files=files)
    assert difference.other_change == (
        "The change alters no source code, only data/words.txt (1\N{NO-BREAK SPACE}KiB → 4\N{NO-BREAK SPACE}KiB) and "
        "Makefile, which defines how the program is built."
    )


def test_beside_source_code_other_files_are_named_only_if_no_code_explains_the_difference() -> None:
    files = (*FILES, *(ChangedFile(file=name, bytes_before=9, bytes_after=9) for name in ("a.conf", "Makefile")))
    lines = {"src/limits.h": ((7, 7),), "a.conf": ((1, 1),)}
    unexplained = explain(*grown(), define("A"), define("B"), lines=lines, files=files)
    assert unexplained.other_change == "Besides source code, the change alters a.conf."
    tests = (*FILES, ChangedFile(file="tests/a.txt", bytes_before=9, bytes_after=9))
    assert explain(*grown(), define("A"), define("B"), lines=lines, files=tests).other_change.startswith(
        "The change alters A ("
    )
    explained = explain(*grown(), define("LIMIT", ("src/table.c", 12, "grow")), lines=lines, files=files)
    assert explained.other_change == ""


def test_the_files_of_a_change_are_named_if_none_of_its_lines_is_known_to_take_part() -> None:
    names = ("lib/utils.py", "lib/types.py", "tests/test_utils.py")
    files = tuple(ChangedFile(file=name, bytes_before=9, bytes_after=9) for name in names)
    difference = explain(*grown(), lines=dict.fromkeys(names, ((1, 1),)), files=files)
    assert difference.other_change == (
        "The cause was not found: no changed line of lib/utils.py and lib/types.py is known to take part."
    )
    near = explain(*grown(), lines={"src/table.c": ((99, 99),)}, files=FILES)
    assert near.other_change == "Of the changed lines, src/table.c:99 is the nearest to src/table.c:12."


def test_a_difference_scattered_over_unchanged_lines_is_said_to_be_probably_one_of_layout() -> None:
    lines = [Frame(function=f"line_{n}", module="prog", file="src/a.c", line=n) for n in range(8)]
    kinds = (Touch.FIRST, Touch.AFTER_MUNMAP)
    scattered, gathered = (
        tuple(
            profiled(*((Memory.HEAP, touch, "", line, n + more) for touch in kinds for line in at), new(50))
            for n, more in ((20, 0), (20, 9))
        )
        for at in (lines, lines[:1])
    )
    changed = dict.fromkeys(["lib/utils.c"], ((1, 1),))
    files = (ChangedFile(file="lib/utils.c", bytes_before=9, bytes_after=9),)
    sentence = explain(*scattered, lines=changed, files=files).other_change
    assert sentence.startswith("The cause was not found: no changed line of lib/utils.c is known to take part")
    assert sentence.endswith("so memory is probably only laid out differently.")
    assert "laid out" not in explain(*gathered, lines=changed, files=files).other_change


def test_a_change_of_comments_and_names_alone_is_said_to_be_one() -> None:
    difference = explain(*grown(), lines={}, files=(), is_cosmetic=True)
    sentence = "The change alters nothing but comments, spaces and names, so its code does the same as before."
    assert difference.other_change == sentence


def test_a_use_is_linked_through_an_allocator_that_faults_for_its_function() -> None:
    allocate = Frame(function="xmalloc", module="prog", file="src/alloc.c", line=3)
    before, after = (
        profiled(new(number, allocate), stacks={(0, 1): number}).model_copy(update={"frames": (GROW, allocate, MEMSET)})
        for number in (100, 900)
    )
    difference = explain(before, after, define("LIMIT", ("src/table.c", 9, "grow")))
    assert difference.altered_definition is not None
    assert difference.altered_definition.use == "grow at src/table.c:9"


def test_a_use_that_sets_when_memory_is_given_back_explains_that_it_is_touched_again() -> None:
    def touched_again(faults: int) -> Profile:
        return profiled(new(100), (Memory.HEAP, Touch.AFTER_BRK, "", READ, faults), stacks={(0,): 100, (1,): faults})

    use = Use(file="src/heap.c", line=8, function="setup", calls=("mallopt",))
    definition = ChangedDefinition(name="KEPT", file="src/limits.h", line=7, uses=(use,))
    difference = explain(touched_again(1), touched_again(900), definition, define("OTHER", ("src/other.c", 1, "other")))
    assert describe(difference) == "The change alters KEPT (src/limits.h:7), which setup at src/heap.c:8 uses."
    without_call = definition.model_copy(update={"uses": (use.model_copy(update={"calls": ()}),)})
    plain = explain(touched_again(1), touched_again(900), without_call, define("OTHER"))
    assert plain.altered_definition is None


def test_a_changed_allocator_does_not_hide_what_its_caller_requests() -> None:
    """What changed in the allocator, such as a counter, would act on all of its callers."""
    allocate = Frame(function="xmalloc", module="prog", file="src/alloc.c", line=3)
    frames = (GROW, allocate, READ)
    before, after = (
        profiled(new(number + 100, allocate), stacks={(0, 1): number, (2, 1): 100}).model_copy(
            update={"frames": frames}
        )
        for number in (100, 900)
    )
    lines = {"src/limits.h": ((7, 7),), "src/alloc.c": ((3, 3),)}
    difference = explain(before, after, define("entry", ("src/table.c", 9, "grow")), lines=lines)
    assert describe(difference) == "The change alters entry (src/limits.h:7), which grow at src/table.c:9 uses."
    changed_caller = explain(before, after, lines={"src/alloc.c": ((3, 3),), "src/table.c": ((12, 12),)})
    assert changed_caller.changed_place is not None
    assert (changed_caller.changed_place.place, changed_caller.changed_place.faults) == ("grow at src/table.c:12", 800)
    only_allocator = explain(before, after, lines={"src/alloc.c": ((3, 3),)})
    assert only_allocator.changed_place is not None
    assert only_allocator.changed_place.place == "xmalloc at src/alloc.c:3"


def test_a_difference_that_can_be_chance_is_not_due_to_one_of_several_definitions() -> None:
    before, after = grown()
    varying = after.model_copy(update={"readings": {"page-faults": Reading(value=100)}})
    definitions = (define("LIMIT", ("src/table.c", 12, "grow")), define("OTHER"))
    assert explain(before, after, *definitions).altered_definition is not None
    assert explain(before, varying, *definitions).altered_definition is None
    assert explain(before, varying, definitions[0]).altered_definition is not None


def test_a_changed_line_that_faults_itself_comes_before_a_definition_that_its_function_uses() -> None:
    other = GROW.model_copy(update={"line": 13})
    frames = (GROW, READ, other)
    before, after = (
        profiled(new(number), new(number, other), stacks={(0,): number, (2,): number}).model_copy(
            update={"frames": frames}
        )
        for number in (100, 900)
    )
    lines = {"src/limits.h": ((7, 7),), "src/table.c": ((12, 12),)}
    difference = explain(before, after, define("entry", ("src/table.c", 9, "grow")), define("OTHER"), lines=lines)
    assert difference.altered_definition is None
    assert difference.changed_place is not None
    assert difference.changed_place.faults == 800


def test_a_function_that_calls_what_faults_is_altered_itself_whichever_of_its_lines_calls() -> None:
    uses = (("src/file.c", 38, "read_all"), ("src/main.c", 5, "main"))
    stacks = {(2, 1, 0): 900}
    main = Frame(function="main", module="prog", file="src/main.c", line=5)
    before, after = (side.model_copy(update={"frames": (GROW, READ, main)}) for side in grown(stacks))
    definition = define("read_all", *uses, file="src/file.c", line=38)
    difference = explain(before, after, definition, lines={"src/file.c": ((38, 38),)})
    assert describe(difference) == "The change alters only read_all itself, at src/file.c:38."


@pytest.mark.parametrize(
    ("function", "is_linked"),
    [
        ("grow", True),
        ("Table::grow(int, char (*)[4]) const", True),
        ("Table<int>::grow<long>(long)", True),
        ("main.(*table[...]).grow", True),
        ("main.grow.func1", True),
        ("words::grow::{{closure}}", True),
        ("grow.constprop.0", True),
        ("grow::insert(int)", False),
        ("regrow", False),
    ],
)
def test_a_use_is_in_a_function_if_it_has_its_own_name(function: str, is_linked: bool) -> None:
    frames = (GROW.model_copy(update={"function": function}), READ, MEMSET)
    before, after = (
        profiled(new(number, frames[0]), stacks={(0,): number}).model_copy(update={"frames": frames})
        for number in (100, 900)
    )
    difference = explain(before, after, define("LIMIT", ("src/table.c", 9, "grow")), define("OTHER"))
    assert (difference.altered_definition is not None) is is_linked


def test_of_several_altered_functions_one_that_only_calls_what_faults_is_no_cause() -> None:
    main = Frame(function="main", module="prog", file="src/main.c", line=5)
    before, after = (side.model_copy(update={"frames": (GROW, READ, main)}) for side in grown({(2, 1, 0): 900}))
    outer = define("main", ("src/main.c", 9, "main"), file="src/main.c", line=9)
    assert explain(before, after, outer, define("OTHER")).altered_definition is None


def test_of_definitions_without_a_link_those_whose_code_was_seen_to_run_are_named() -> None:
    before, after = profiled(new(100)), profiled(new(900))
    after = after.model_copy(update={"frames": (*after.frames, Frame(function="init", file="src/start.c", line=3))})
    difference = explain(
        before, after, define("check", ("src/check.c", 41, "check")), define("LIMIT", ("src/start.c", 4, "init"))
    )
    assert difference.other_change == "The change alters LIMIT (src/limits.h:7)."


def test_of_many_definitions_the_first_are_named_and_the_others_counted_macros_before_functions() -> None:
    lines = [(f"run_{n}", 10 + n) for n in range(3)]
    functions = [define(name, ("src/run.c", line, name), file="src/run.c", line=line) for name, line in lines]
    macros = [define(name) for name in ("PAUSE", "STEP", "LIMIT")]
    difference = explain(profiled(new(100)), profiled(new(900)), *functions, *macros, files=(*FILES, RUN))
    assert difference.other_change == (
        "The change alters PAUSE (src/limits.h:7), STEP (src/limits.h:7), LIMIT (src/limits.h:7), "
        "run_0 (src/run.c:10) and 2 other definitions."
    )
    many = [define(f"LIMIT_{n}") for n in range(40)]
    assert "LIMIT_0" not in explain(profiled(new(100)), profiled(new(900)), *many).other_change


def test_a_definition_on_the_way_to_a_call_that_gives_memory_back_comes_first() -> None:
    frames = (*FRAMES, Frame(function="purge", module="prog", file="src/os.c", line=9), Frame(function="madvise"))
    returned = stacks(StackKind.RETURNED, {(len(FRAMES), len(FRAMES) + 1): 90}, samples=90, call_graph="dwarf")
    before = profiled(new(100)).model_copy(update={"frames": frames, "returned": returned})
    purge = define("purge", ("src/os.c", 7, "purge"), file="src/os.c", line=7)
    limit = define("LIMIT", ("src/os.c", 8, "purge_all"))
    frames_after = (*FRAMES, frames[-2], Frame(function="purge_all", module="prog", file="src/os.c", line=8))
    after = profiled(new(90)).model_copy(update={"frames": frames_after})
    difference = explain(before, after, limit, purge, files=(*FILES, RUN))
    assert difference.other_change == "The change alters purge (src/os.c:7) and LIMIT (src/limits.h:7)."


def test_where_other_lines_only_reach_the_same_pages_first_no_definition_is_to_blame() -> None:
    lines = [Frame(function=f"line_{n}", module="prog", file="src/a.c", line=n) for n in (1, 2)]
    before, after = (
        profiled(
            *((Memory.HEAP, Touch.FIRST, "", line, n) for line, n in zip(lines, firsts, strict=True)),
            (Memory.HEAP, Touch.AFTER_READ, "", lines[0], second),
        )
        for firsts, second in (((100, 300), 10), ((300, 101), 210))
    )
    difference = explain(before, after, define("LIMIT"), define("PAUSE"))
    assert [part.is_moved for part in difference.parts] == [True, True]
    assert (difference.other_change, difference.altered_definition, difference.changed_place) == ("", None, None)
    assert difference.conclusion.startswith("About the same pages are touched, but other lines reach them first")


@pytest.mark.parametrize(("faults", "is_named"), [(65, False), (95, True)])
def test_a_line_that_only_calls_what_faults_explains_no_small_difference(faults: int, *, is_named: bool) -> None:
    definitions = define("LIMIT", ("src/file.c", 40, "read_all")), define("PAUSE")
    before, after = (profiled(new(n), stacks={(1, 0): n}) for n in (60, faults))  # read_all calls grow.
    assert (explain(before, after, *definitions).altered_definition is not None) == is_named


def test_where_code_has_only_moved_no_definition_is_to_blame() -> None:
    code = (Memory.FILE_TEXT, Touch.FIRST, "/src/prog")
    before, after = (profiled(new(50), (*code, READ, 30), (*code, GROW, 20 + more)) for more in (0, 1))
    difference = explain(before, after, define("LIMIT"), define("PAUSE"))
    assert [part.is_moved for part in difference.parts] == [True]
    assert (difference.other_change, difference.altered_definition) == ("", None)
    assert difference.conclusion == (
        "The program's code and data only lie elsewhere, as after any change: this needs no other cause."
    )


def test_what_the_change_alters_replaces_the_list_of_ways_in_which_a_change_can_act() -> None:
    caller = Frame(function="main", module="prog", file="src/main.c", line=3)
    before, after = (profile_stacks({(caller, GROW): n}) for n in (100, 900))
    lines = {"src/limits.h": ((7, 7),)}
    assert explain(before, after, lines=lines).is_indirect
    difference = explain(before, after, define("STEP"), define("PAUSE"), lines=lines)
    assert not difference.is_indirect
    assert difference.other_change == (
        "The change alters STEP (src/limits.h:7) and PAUSE (src/limits.h:7); neither the changed lines nor the "
        "code that they call have notably more faults."
    )
