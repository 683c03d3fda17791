"""The causes of a difference: they add up to it, and each names the line that leads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.contract.diagnosis import DiagnosisRequest, Difference, DifferencePart, FaultCause
from runner.contract.profile import (
    COMPILED_MODULE,
    Access,
    AllocatingLine,
    Anatomy,
    Call,
    Census,
    FaultKind,
    Frame,
    Memory,
    Profile,
    PythonLine,
    Site,
    Stack,
    StackKind,
    StackProfile,
    Touch,
)
from runner.contract.report import Reading
from service.rules.diagnose.cause_sums import classify_cause
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.profiles import profile, stacks

GROW = Frame(function="grow", module="prog", file="src/table.c", line=12)
READ = Frame(function="read_all", module="prog", file="src/file.c", line=40)
MEMSET = Frame(function="__memset_avx2", module="/usr/lib/x86_64-linux-gnu/libc.so.6", file="memset.S", line=336)
FRAMES = (GROW, READ, MEMSET)
Row = tuple[Memory, Touch, str, Frame, int]


def profiled(*rows: Row, stacks: dict[tuple[int, ...], int] | None = None, unrecorded: int = 0) -> Profile:
    """Return a profile whose faults are those of some rows: memory, touch, file, place and number."""
    counted = sum(row[4] for row in rows) + unrecorded
    kinds = [FaultKind(memory=m, touch=t, file=f, faults=n) for m, t, f, _, n in rows]
    if unrecorded:
        kinds.append(FaultKind(memory=Memory.OTHER, touch=Touch.UNKNOWN, faults=unrecorded))
    by_memory: dict[Memory, int] = {}
    by_touch: dict[Touch, int] = {}
    for kind in kinds:
        by_memory[kind.memory] = by_memory.get(kind.memory, 0) + kind.faults
        by_touch[kind.touch] = by_touch.get(kind.touch, 0) + kind.faults
    anatomy = Anatomy(
        counted=counted,
        recorded=counted - unrecorded,
        pages=max(1, counted),
        by_memory=by_memory,
        by_touch=by_touch,
        by_access={Access.WRITE: counted},
        kinds=tuple(kinds),
        sites=tuple(Site(frame=p, memory=m, touch=t, file=f, faults=n) for m, t, f, p, n in rows),
        faults_at_other_sites=unrecorded,
    )
    weights = stacks or {}
    faults = StackProfile(
        kind=StackKind.FAULTS,
        samples=max(1, len(weights)),
        period=1,
        total=sum(weights.values()),
        call_graph="fp",
        stacks=tuple(Stack(frames=frames, weight=weight) for frames, weight in weights.items()),
    )
    return profile(anatomy, frames=FRAMES, faults=faults, on_cpu=None, off_cpu=None)


def explain(before: Profile, after: Profile) -> Difference:
    difference = diagnose_profile(DiagnosisRequest(profile=after, before=before)).difference
    assert difference is not None
    return difference


def new(faults: int, frame: Frame = GROW) -> Row:
    return Memory.HEAP, Touch.FIRST, "", frame, faults


def test_more_memory_touched_once_is_said_in_one_sentence() -> None:
    (part,) = explain(profiled(new(100)), profiled(new(3_172))).parts
    assert (part.cause, part.faults) == (FaultCause.NEW_MEMORY, 3_072)
    assert (part.place, part.source_file, part.source_line) == ("grow at src/table.c:12", "src/table.c", 12)
    assert part.sentence == "touches 12\N{NO-BREAK SPACE}MiB more memory for the first time"


def test_a_difference_from_or_to_no_fault_at_all_is_explained() -> None:
    (more,) = explain(profiled(), profiled(new(6_000))).parts
    assert (more.cause, more.before, more.after) == (FaultCause.NEW_MEMORY, 0, 6_000)
    assert more.place == "grow at src/table.c:12"
    (fewer,) = explain(profiled(new(6_000)), profiled()).parts
    assert (fewer.cause, fewer.before, fewer.after) == (FaultCause.NEW_MEMORY, 6_000, 0)


def test_of_the_changed_lines_the_one_that_grew_most_is_named_beside_the_line_that_leads() -> None:
    """What a change allocates can move the faults to lines that it did not touch."""
    changed = Frame(function="plan", module="prog", file="src/plan.c", line=7)
    before, after = profiled(new(100)), profiled(new(900), new(120, changed))
    request = DiagnosisRequest(profile=after, before=before, changed_lines={"src/plan.c": ((6, 8),)})
    difference = diagnose_profile(request).difference
    assert difference is not None
    assert difference.parts[0].place == "grow at src/table.c:12"
    assert difference.changed_place is not None
    assert (difference.changed_place.place, difference.changed_place.faults) == ("plan at src/plan.c:7", 120)
    elsewhere = request.model_copy(update={"changed_lines": {"src/plan.c": ((8, 9),)}})
    unchanged = diagnose_profile(elsewhere).difference
    assert unchanged is not None
    assert unchanged.changed_place is None


def test_code_of_a_jit_without_names_is_called_so_and_not_by_the_file_that_would_name_it() -> None:
    compiled = Frame(function="[unknown]", module=COMPILED_MODULE)
    difference = explain(profiled(new(10, compiled)), profiled(new(90, compiled)))
    assert difference.parts[0].place == "code compiled at run time"


def test_a_fault_in_the_c_library_belongs_to_the_line_that_called_it() -> None:
    before, after = (profiled(new(number, MEMSET), stacks={(0, 2): number, (1, 2): 10}) for number in (100, 900))
    (part,) = explain(before, after).parts
    assert part.place == "grow at src/table.c:12"
    assert part.faults == 800


def test_a_new_fault_in_the_c_library_belongs_to_the_line_that_calls_it_more_often() -> None:
    text = (Memory.FILE_TEXT, Touch.FIRST, "/usr/lib/x86_64-linux-gnu/libc.so.6", MEMSET, 1)
    before = profiled(new(421, MEMSET), stacks={(0, 2): 421})
    after = profiled(new(421, MEMSET), text, stacks={(0, 2): 421, (1, 2): 1})
    (part,) = explain(before, after).parts
    assert (part.faults, part.place) == (1, "read_all at src/file.c:40")


def test_faults_of_the_c_library_that_have_another_cause_than_before_belong_to_all_its_callers() -> None:
    before = profiled(new(400, MEMSET), stacks={(0, 2): 300, (1, 2): 100})
    after = profiled((Memory.HEAP, Touch.AFTER_BRK, "", MEMSET, 400), stacks={(0, 2): 300, (1, 2): 100})
    assert [(part.faults, part.place, part.place_faults) for part in explain(before, after).parts] == [
        (400, "grow at src/table.c:12", 300),
        (-400, "grow at src/table.c:12 (before)", -300),
    ]


def test_faults_that_only_moved_to_another_cause_do_not_lead() -> None:
    """An address is used again: the same 64 pages of one line are "new" before, and "unmapped" after."""
    before = profiled(new(64, READ), new(100))
    after = profiled((Memory.HEAP, Touch.AFTER_MUNMAP, "", READ, 64), new(182))
    assert [(part.cause, part.faults, part.place, part.place_faults) for part in explain(before, after).parts] == [
        (FaultCause.NEW_MEMORY, 18, "grow at src/table.c:12", 82),
        (FaultCause.AFTER_MUNMAP, 64, "read_all at src/file.c:40", 64),
    ]


def test_faults_that_moved_to_another_line_of_the_same_cause_do_not_make_the_cause_smaller() -> None:
    """Two lines of a function change places: nothing moves between causes."""
    first, second = (Frame(function="fill", module="prog", file="src/fill.c", line=line) for line in (10, 20))
    brk = Memory.HEAP, Touch.AFTER_BRK, ""
    before = profiled(new(50, first), new(100, second), new(100), (*brk, READ, 10))
    after = profiled(new(100, first), new(50, second), new(160), (*brk, READ, 30))
    assert [(part.cause, part.faults) for part in explain(before, after).parts] == [
        (FaultCause.NEW_MEMORY, 60),
        (FaultCause.AFTER_BRK, 20),
    ]


def test_a_line_leads_by_what_it_faults_more_in_all() -> None:
    """Most of what one line faults more as new memory, it faults less as memory that was given back."""
    brk = Memory.HEAP, Touch.AFTER_BRK, ""
    before = profiled((*brk, READ, 15), new(100), new(50, READ))
    after = profiled(new(110), new(65, READ))
    leading, *_ = explain(before, after).parts
    assert (leading.place, leading.place_faults) == ("grow at src/table.c:12", 10)


@pytest.mark.parametrize(
    ("faults_before", "faults_after", "sentence"),
    [
        ({"libc.so.6": 11, "libm.so.6": 12}, {"libc.so.6": 12}, "no longer loads libm.so.6"),
        (
            {"libc.so.6": 11},
            {"libc.so.6": 11, "libm.so.6": 7},
            "touches pages of libm.so.6, which it did not load before",
        ),
        ({"libc.so.6": 11}, {"libc.so.6": 14}, "touches more pages of libc.so.6"),
        (
            {"libc.so.6": 11, "libm.so.6": 3, "libz.so.1": 3},
            {"libc.so.6": 9, "libm.so.6": 1, "libz.so.1": 1},
            "touches fewer pages of the program and its libraries",
        ),
    ],
)
def test_the_library_whose_pages_make_the_difference_is_named(
    faults_before: dict[str, int], faults_after: dict[str, int], sentence: str
) -> None:
    loader = Frame(function="do_lookup_x", module="/lib64/ld-linux-x86-64.so.2")
    before, after = (
        profiled(
            *(
                (Memory.FILE_DATA, Touch.FIRST, f"/usr/lib/{name}", loader, faults)
                for name, faults in library_faults.items()
            )
        )
        for library_faults in (faults_before, faults_after)
    )
    (part,) = explain(before, after).parts
    assert (part.sentence, part.place) == (sentence, "")


@pytest.mark.parametrize(
    ("file", "memory", "pages", "changed_line", "place"),
    [
        ("/src/prog", Memory.FILE_TEXT, 1, 99, ""),
        ("/src/prog", Memory.FILE_TEXT, 40, 99, ""),
        ("/src/prog", Memory.FILE_TEXT, 2, 12, ""),  # the line itself was changed, but any line can reach a moved page
        ("/src/prog", Memory.FILE_TEXT, 3, 12, "grow at src/table.c:12"),
        ("/src/prog", Memory.FILE_DATA, 1, 99, ""),
        ("/src/prog", Memory.FILE_DATA, 40, 99, "grow at src/table.c:12"),  # a larger table
        ("/usr/lib/libc.so.6", Memory.FILE_TEXT, 1, 99, "grow at src/table.c:12"),  # another function of the library
        ("", Memory.STATIC, 1, 99, ""),
        ("", Memory.STATIC, 1, 12, "grow at src/table.c:12"),
        ("", Memory.STATIC, 2, 99, "grow at src/table.c:12"),  # a larger array
    ],
)
def test_a_line_that_reaches_another_page_of_its_program_does_not_lead(
    file: str, memory: Memory, pages: int, changed_line: int, place: str
) -> None:
    text = (Memory.FILE_TEXT, Touch.FIRST, file, READ, 30)
    before, after = (profiled(new(50), text, (memory, Touch.FIRST, file, GROW, 20 + more)) for more in (0, pages))
    request = DiagnosisRequest(
        profile=after, before=before, changed_lines={"src/table.c": ((changed_line, changed_line),)}
    )
    difference = diagnose_profile(request).difference
    assert difference is not None
    (part,) = difference.parts
    assert part.place == place
    assert (difference.changed_place is not None) == (bool(place) and changed_line == 12)
    assert ("laid out differently" in part.sentence) == (not place)


def test_static_data_is_laid_out_differently_if_unchanged_lines_touch_single_pages_of_it() -> None:
    lines = [Frame(function="start", module="prog", file="src/start.c", line=line) for line in (1, 2, 3)]
    static_data = [(Memory.STATIC, Touch.FIRST, "", line, 1) for line in lines]
    request = DiagnosisRequest(
        profile=profiled(new(50), *static_data), before=profiled(new(50)), changed_lines={"src/table.c": ((99, 99),)}
    )
    difference = diagnose_profile(request).difference
    assert difference is not None
    (part,) = difference.parts
    assert (part.cause, part.faults, part.place) == (FaultCause.STATIC_DATA, 3, "")
    assert part.sentence.startswith("touches 12\N{NO-BREAK SPACE}KiB more of its static data for the first time")
    assert "laid out differently" in part.sentence
    assert (difference.changed_place, difference.is_indirect) == (None, False)


@pytest.mark.parametrize(("pages", "place"), [(1, ""), (40, "grow at src/table.c:12")])
def test_a_line_that_no_longer_reaches_a_page_of_its_program_does_not_lead(pages: int, place: str) -> None:
    text = (Memory.FILE_TEXT, Touch.FIRST, "/src/prog", READ, 30)
    before = profiled(new(50), text, (Memory.FILE_TEXT, Touch.FIRST, "/src/prog", GROW, pages))
    request = DiagnosisRequest(
        profile=profiled(new(50), text), before=before, changed_lines={"src/table.c": ((99, 99),)}
    )
    difference = diagnose_profile(request).difference
    assert difference is not None
    (part,) = difference.parts
    assert part.place == place
    assert part.sentence.startswith("touches fewer pages of prog")
    assert ("laid out differently" in part.sentence) == (not place)


def test_of_pages_that_another_line_now_touches_first_it_is_said_that_no_code_runs_more_often() -> None:
    """A line that reads before it writes makes two faults of a page that others only write."""

    def side(moved: int) -> Profile:
        read_first = (Memory.HEAP, Touch.AFTER_READ, "", GROW, 100 + moved)
        return profiled(new(100 + moved, GROW), new(300 - moved, READ), read_first)

    changed_lines = {"src/plan.c": ((1, 9),)}
    for before, after, reason in (
        (side(0), side(130), "because it is now the first to touch pages that other lines used to touch first"),
        (side(130), side(0), "because other lines are now the first to touch these pages"),
    ):
        difference = diagnose_profile(
            DiagnosisRequest(profile=after, before=before, changed_lines=changed_lines)
        ).difference
        assert difference is not None
        assert difference.parts[0].cause is FaultCause.AFTER_READ
        assert difference.parts[0].sentence.endswith(reason)
    more = profiled(new(230, GROW), new(300, READ), (Memory.HEAP, Touch.AFTER_READ, "", GROW, 230))
    difference = diagnose_profile(
        DiagnosisRequest(profile=more, before=side(0), changed_lines=changed_lines)
    ).difference
    assert difference is not None
    assert not any("because" in part.sentence for part in difference.parts), "it touches more pages itself"


def test_each_file_is_a_cause_of_its_own_but_ids_in_names_are_not() -> None:
    def side(data: int, process: str) -> Profile:
        return profiled(
            (Memory.FILE_DATA, Touch.FIRST, "data.db", READ, data),
            (Memory.FILE_DATA, Touch.FIRST, f"/tmp/run_{process}", READ, 8),
        )

    (part,) = explain(side(10, "4711"), side(60, "4822")).parts
    assert (part.cause, part.file, part.faults) == (FaultCause.FILE_PAGES, "data.db", 50)
    assert "pages of data.db" in part.sentence


@pytest.mark.parametrize(
    ("memory", "touch", "is_image", "cause"),
    [
        (Memory.ANONYMOUS, Touch.AFTER_FORK, False, FaultCause.COPIED),
        (Memory.FILE_DATA, Touch.AFTER_FORK, True, FaultCause.COPIED),
        (Memory.FILE_TEXT, Touch.AFTER_FORK, True, FaultCause.IMAGE),
        (Memory.FILE_DATA, Touch.FIRST, True, FaultCause.IMAGE),
        (Memory.FILE_DATA, Touch.AFTER_MUNMAP, False, FaultCause.FILE_PAGES),
        (Memory.HEAP, Touch.AFTER_BRK, False, FaultCause.AFTER_BRK),
        (Memory.STACK, Touch.FIRST, False, FaultCause.STACK),
        (Memory.STACK, Touch.AFTER_FORK, False, FaultCause.COPIED),
        (Memory.STATIC, Touch.FIRST, False, FaultCause.STATIC_DATA),
        (Memory.STATIC, Touch.AFTER_READ, False, FaultCause.AFTER_READ),
        (Memory.ARENA, Touch.FIRST, False, FaultCause.NEW_MEMORY),
        (Memory.ANONYMOUS, Touch.AFTER_READ, False, FaultCause.AFTER_READ),
        (Memory.SHARED, Touch.AGAIN, False, FaultCause.AGAIN),
        (Memory.ANONYMOUS, Touch.UNKNOWN, False, FaultCause.UNKNOWN_TOUCH),
        (Memory.OTHER, Touch.FIRST, False, FaultCause.OTHER),
    ],
)
def test_a_cause_follows_from_what_was_there_before(
    memory: Memory, touch: Touch, is_image: bool, cause: FaultCause
) -> None:
    assert classify_cause(memory, touch, is_image=is_image) is cause


def test_without_the_kinds_of_both_sides_nothing_is_explained() -> None:
    bare = profiled(new(5))
    assert bare.anatomy is not None
    old = bare.model_copy(update={"anatomy": bare.anatomy.model_copy(update={"kinds": ()})})
    assert diagnose_profile(DiagnosisRequest(profile=bare, before=old)).difference is None
    assert diagnose_profile(DiagnosisRequest(profile=bare)).difference is None
    without_anatomy = bare.model_copy(update={"anatomy": None})
    assert diagnose_profile(DiagnosisRequest(profile=bare, before=without_anatomy)).difference is None


def test_parts_that_do_not_add_up_are_refused() -> None:
    part = DifferencePart(cause=FaultCause.OTHER, before=1, after=3, sentence="differs")
    with pytest.raises(ValueError, match="do not add up"):
        Difference(before=1, after=4, parts=(part,))


@st.composite
def random_sides(draw: Any) -> Profile:
    """Draw a profile with many kinds of faults, files and places, some of them unrecorded."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(list(Memory)),
                st.sampled_from(list(Touch)),
                st.sampled_from(["", "data.db", "prog", "/usr/lib/libc.so.6", "file 12345"]),
                st.sampled_from(FRAMES),
                st.integers(1, 10**9),
            ),
            max_size=30,
        )
    )
    weights = draw(st.dictionaries(st.sampled_from([(0, 2), (1, 2), (2,), (0,)]), st.integers(1, 10**6)))
    unrecorded = draw(st.integers(0, 10**6))
    return profiled(*rows, stacks=weights, unrecorded=unrecorded)


@settings(max_examples=100)
@given(random_sides(), random_sides())
def test_the_parts_of_any_difference_add_up_to_it(before: Profile, after: Profile) -> None:
    difference = explain(before, after)
    assert before.anatomy is not None
    assert after.anatomy is not None
    assert sum(part.faults for part in difference.parts) == after.anatomy.counted - before.anatomy.counted
    assert all(part.sentence for part in difference.parts)


def test_what_the_interpreter_faults_belongs_to_the_line_of_python_that_it_executes() -> None:
    interpreter = Frame(function="_PyEval_EvalFrameDefault", module="/usr/bin/python3.11")
    image = (Memory.FILE_TEXT, Touch.FIRST, "/usr/bin/python3.11", interpreter, 50)
    line = PythonLine(file="serve.py", function="handle", line=10, faults=9_000)
    before = profiled(new(1_000, interpreter), image)
    after = profiled(new(10_000, interpreter), image).model_copy(update={"python_lines": (line,)})
    (part,) = explain(before, after).parts
    assert (part.place, part.source_file, part.source_line) == ("handle at serve.py:10", "serve.py", 10)
    assert (part.faults, part.place_faults) == (9_000, 9_000)


def test_what_a_java_runtime_touches_belongs_to_the_line_that_allocates() -> None:
    runtime = Frame(function="ObjArrayAllocator::initialize", module="/usr/lib/jvm/lib/server/libjvm.so")
    image = (Memory.FILE_TEXT, Touch.FIRST, "/usr/lib/jvm/lib/server/libjvm.so", runtime, 50)
    sides = [
        profiled(new(faults, runtime), image).model_copy(
            update={
                "java_lines": (AllocatingLine(file="Load.java", function="Load.main", line=6, bytes=faults * 4096),)
            }
        )
        for faults in (1_000, 10_000)
    ]
    (part,) = explain(*sides).parts
    assert (part.place, part.source_file, part.source_line) == ("Load.main at Load.java:6", "Load.java", 6)
    assert (part.faults, part.place_faults) == (9_000, 9_000)


def test_copies_after_a_fork_belong_to_the_lines_of_python_that_ran_after_it() -> None:
    interpreter = Frame(function="_int_free", module="/usr/bin/python3.11")
    image = (Memory.FILE_TEXT, Touch.FIRST, "/usr/bin/python3.11", interpreter, 50)
    copied = (Memory.HEAP, Touch.AFTER_FORK, "", interpreter, 4_000)
    lines = (
        PythonLine(file="pool.py", function="load", line=5, faults=9_000),
        PythonLine(file="pool.py", function="main", line=20, faults=3_500, after_fork=3_500),
        PythonLine(file="pool.py", function="fork", line=18, faults=700, after_fork=200),
    )
    before = profiled(new(300, interpreter), image)
    after = profiled(new(10_000, interpreter), copied, image).model_copy(update={"python_lines": lines})
    parts = {part.cause: (part.place, part.place_faults) for part in explain(before, after).parts}
    assert parts == {
        FaultCause.NEW_MEMORY: ("load at pool.py:5", 9_000),
        FaultCause.COPIED: ("main at pool.py:20", 3_500),
    }


def test_who_gave_the_memory_back_is_named_from_the_time_of_the_calls() -> None:
    release = Frame(function="release", module="prog", file="src/pool.c", line=88)
    free = Frame(function="__libc_free", module="/usr/lib/x86_64-linux-gnu/libc.so.6")
    frames = (*FRAMES, release, free, Frame(function="__x64_sys_munmap", module="[kernel.kallsyms]"))
    again: Row = (Memory.HEAP, Touch.AFTER_MUNMAP, "", GROW, 900)

    def explain_with(samples: int, call_graph: str = "dwarf") -> str:
        on_cpu = StackProfile(
            kind=StackKind.ON_CPU,
            samples=1_000,
            period=1,
            total=1_000,
            call_graph=call_graph,
            stacks=(
                Stack(frames=(3, 4, 5), weight=samples),
                Stack(frames=(0, 4, 5), weight=2),
                Stack(frames=(0,), weight=998 - samples),
            ),
        )
        after = profiled(again).model_copy(update={"frames": frames, "on_cpu": on_cpu})
        return explain(profiled(new(100)), after).parts[0].sentence

    sentence = "touches more pages that had been unmapped"
    assert explain_with(20) == f"{sentence} (from release at src/pool.c:88)"
    assert explain_with(5) == sentence  # too few samples
    assert explain_with(20, "fp") == sentence  # the C library has no frame pointers


def test_missing_faults_have_the_price_that_they_had_before() -> None:
    def timed(n_faults: int, seconds: float) -> Profile:
        """Return a profile in which all CPU time goes into faults."""
        faulting = Frame(function="asm_exc_page_fault", module="[kernel.kallsyms]")
        total = int(seconds * 1e9)
        on_cpu = stacks(StackKind.ON_CPU, {(3,): total}, samples=1_000, call_graph="dwarf")
        readings = {"task-clock": Reading(value=seconds)}
        made = profiled((Memory.HEAP, Touch.FIRST, "", GROW, n_faults))
        return made.model_copy(update={"frames": (*FRAMES, faulting), "on_cpu": on_cpu, "readings": readings})

    many, few = timed(8_000, 0.01), timed(40, 0.01)  # the few populate a whole mapping each
    assert explain(many, few).parts[0].seconds == pytest.approx(-0.00995)
    assert explain(few, many).parts[0].seconds == pytest.approx(0.00995)


def test_who_gives_back_more_often_than_before_is_named_and_not_who_gives_back_most() -> None:
    release = Frame(function="release", module="prog", file="src/pool.c", line=88)
    trim = Frame(function="trim", module="prog", file="src/idle.c", line=7)
    frames = (*FRAMES, release, trim, Frame(function="__x64_sys_munmap", module="[kernel.kallsyms]"))

    def made(n_again: int, n_calls: int, releasing: int, trimming: int) -> Profile:
        on_cpu = StackProfile(
            kind=StackKind.ON_CPU,
            samples=1_000,
            period=1,
            total=1_000,
            call_graph="dwarf",
            stacks=(
                Stack(frames=(3, 5), weight=releasing),
                Stack(frames=(4, 5), weight=trimming),
                Stack(frames=(0,), weight=1_000 - releasing - trimming),
            ),
        )
        census = Census(source="tracepoints", calls={"munmap": Call(calls=n_calls)})
        again: Row = (Memory.HEAP, Touch.AFTER_MUNMAP, "", GROW, n_again)
        return profiled(again).model_copy(update={"frames": frames, "on_cpu": on_cpu, "census": census})

    before = made(900, 100, 200, 1)
    grown = explain(before, made(1_900, 180, 205, 60)).parts[0].sentence
    assert grown.endswith("(from trim at src/idle.c:7)")
    unknown = explain(before, made(1_900, 180, 203, 4))
    assert "from" not in unknown.parts[0].sentence, "too few samples show who does"
    as_often = explain(before, made(1_900, 100, 205, 1)).parts[0].sentence
    assert as_often.endswith("(from release at src/pool.c:88)")


def test_no_change_is_called_indirect_if_it_is_unknown_who_gives_memory_back_more_often() -> None:
    def made(n_again: int, n_calls: int) -> Profile:
        again: Row = (Memory.HEAP, Touch.AFTER_BRK, "", GROW, n_again)
        census = Census(source="tracepoints", calls={"brk": Call(calls=n_calls)})
        first: Row = (Memory.HEAP, Touch.FIRST, "", GROW, 100)
        return profiled(first, again, stacks={(0, 1): 100 + n_again}).model_copy(update={"census": census})

    for n_calls, is_indirect in ((100, True), (172, False)):
        request = DiagnosisRequest(
            profile=made(900, n_calls), before=made(100, 100), changed_lines={GROW.file: ((1, 2),)}
        )
        difference = diagnose_profile(request).difference
        assert difference is not None
        assert difference.is_indirect is is_indirect


def test_who_gave_the_memory_back_is_known_exactly_from_the_stacks_of_the_calls() -> None:
    release = Frame(function="release", module="prog", file="src/pool.c", line=88)
    trim = Frame(function="trim", module="prog", file="src/idle.c", line=7)
    free = Frame(function="__libc_free", module="/usr/lib/x86_64-linux-gnu/libc.so.6")
    frames = (*FRAMES, release, trim, free, Frame(function="munmap", module="[kernel]"))

    def made(n_again: int, releasing: int, trimming: int, call_graph: str = "dwarf") -> Profile:
        stacks = (Stack(frames=(3, 5, 6), weight=releasing), Stack(frames=(4, 5, 6), weight=trimming))
        returned = StackProfile(
            kind=StackKind.RETURNED,
            samples=releasing + trimming,
            period=1,
            total=releasing + trimming,
            call_graph=call_graph,
            stacks=stacks,
        )
        again: Row = (Memory.HEAP, Touch.AFTER_MUNMAP, "", GROW, n_again)
        return profiled(again).model_copy(update={"frames": frames, "returned": returned})

    before = made(900, 899, 1)
    assert explain(before, made(903, 899, 4)).parts[0].sentence.endswith("(from trim at src/idle.c:7)")
    assert explain(before, made(1_900, 1_896, 4)).parts[0].sentence.endswith("(from release at src/pool.c:88)")
    # The C library has no frame pointers.
    assert "from" not in explain(made(900, 899, 1, "fp"), made(903, 899, 4, "fp")).parts[0].sentence


def test_who_unmaps_a_file_that_is_mapped_again_is_named() -> None:
    close = Frame(function="close_file", module="prog", file="src/file.c", line=31)
    frames = (*FRAMES, close, Frame(function="munmap", module="[kernel]"))

    def made(n_faults: int, *, is_recorded: bool = True) -> Profile:
        returned = stacks(StackKind.RETURNED, {(3, 4): n_faults}, samples=n_faults, call_graph="dwarf")
        profile = profiled((Memory.FILE_DATA, Touch.AFTER_MUNMAP, "/srv/data.bin", GROW, n_faults))
        return profile.model_copy(update={"frames": frames, "returned": returned if is_recorded else None})

    sentence = "has more faults on pages of data.bin"
    known = explain(made(20), made(2_000)).parts[0].sentence
    assert known == f"{sentence} that had been unmapped (from close_file at src/file.c:31)"
    assert explain(made(20), made(2_000, is_recorded=False)).parts[0].sentence == sentence


def test_who_requests_the_memory_that_others_touch_is_named_and_is_the_changed_line() -> None:
    open_log = Frame(function="open_log", module="prog", file="src/log.c", line=17)
    frames = (*FRAMES, open_log, Frame(function="mmap", module="[kernel]"))

    def made(n_faults: int, requester: int = 3) -> Profile:
        requested = stacks(StackKind.REQUESTED, {(requester, 4): n_faults}, samples=n_faults, call_graph="dwarf")
        return profiled(new(n_faults)).model_copy(update={"frames": frames, "requested": requested})

    sentence = explain(made(10), made(2_000)).parts[0].sentence
    assert sentence.endswith("(requested by open_log at src/log.c:17)")
    # What extended the heap last has not requested all that is on its pages.
    heap = (*frames[:-1], Frame(function="brk", module="[kernel]"))
    of_heap = [made(n).model_copy(update={"frames": heap}) for n in (10, 2_000)]
    assert "requested" not in explain(*of_heap).parts[0].sentence
    own = [index for index, frame in enumerate(FRAMES) if frame == GROW]
    assert "requested" not in explain(made(10, *own), made(2_000, *own)).parts[0].sentence
    request = DiagnosisRequest(profile=made(2_000), before=made(10), changed_lines={"src/log.c": ((17, 17),)})
    difference = diagnose_profile(request).difference
    assert difference is not None
    assert difference.changed_place is not None
    assert (difference.changed_place.place, difference.changed_place.requests) == ("open_log at src/log.c:17", True)


def test_the_functions_that_a_compiler_makes_of_one_template_are_one_line() -> None:
    instances = [
        Frame(function=f"Pool<{size}>::Alloc()", module="prog", file="pool.h", line=378) for size in (80, 104, 120)
    ]
    after = profiled(*((Memory.HEAP, Touch.FIRST, "", instance, 1_000) for instance in instances))
    (part,) = explain(profiled(new(0)), after).parts
    assert part.place_faults == part.faults == 3_000


def test_what_the_kernel_copies_for_a_system_call_belongs_to_the_line_that_reads() -> None:
    """At places, perf names the kernel otherwise than in stacks."""
    copy = Frame(function="_copy_to_iter", module="[kernel.kallsyms]")
    copy_in_stack = Frame(function="_copy_to_iter", module="[kernel]")

    def made(n_faults: int) -> Profile:
        profile = profiled((Memory.ANONYMOUS, Touch.FIRST, "", copy, n_faults))
        faults = stacks(StackKind.FAULTS, {(0, 3): n_faults}, samples=n_faults, call_graph="dwarf")
        return profile.model_copy(update={"frames": (*FRAMES, copy_in_stack), "faults": faults})

    (part,) = explain(made(10), made(1_000)).parts
    assert part.place == f"{FRAMES[0].function} at {FRAMES[0].file}:{FRAMES[0].line}"


def test_who_drops_the_pages_of_a_file_is_named() -> None:
    drop = Frame(function="done", module="prog", file="src/scan.c", line=15)
    returned = stacks(StackKind.RETURNED, {(3, 4): 2_000}, samples=2_000, call_graph="dwarf")
    dropped: Row = (Memory.FILE_DATA, Touch.AFTER_MADVISE, "/srv/data.bin", GROW, 2_000)
    frames = (*FRAMES, drop, Frame(function="madvise", module="[kernel]"))
    after = profiled(dropped).model_copy(update={"frames": frames, "returned": returned})
    sentence = explain(profiled(new(10)), after).parts[0].sentence
    assert sentence == "has more faults on pages of data.bin that madvise had dropped (from done at src/scan.c:15)"


def test_a_difference_that_two_executions_of_one_commit_have_as_well_can_be_chance() -> None:
    def made(n_faults: int, n_counted: int) -> Profile:
        return profiled(new(n_faults)).model_copy(update={"readings": {"page-faults": Reading(value=n_counted)}})

    conclusion = explain(made(210, 202), made(196, 196)).conclusion
    assert conclusion.startswith(
        "Two executions of the same commit differ by 8 faults, so this difference can be chance"
    )
    assert explain(made(210, 202), made(400, 400)).conclusion == ""
    assert explain(made(210, 211), made(211, 212)).conclusion == "", "a count that repeats shows a single fault"


def test_the_changed_line_nearest_to_the_one_that_gives_memory_back_is_a_hint() -> None:
    """Which line of its function decides that memory is given back does not stand on the stacks."""
    request = Frame(function="request", module="prog", file="src/srv.c", line=18)
    returned = stacks(StackKind.RETURNED, {(3, 4): 2_000}, samples=2_000, call_graph="dwarf")
    frames = (*FRAMES, request, Frame(function="munmap", module="[kernel]"))
    again: Row = (Memory.HEAP, Touch.AFTER_MUNMAP, "", GROW, 2_000)
    after = profiled(again).model_copy(update={"frames": frames, "returned": returned})

    def find_hint(**lines: tuple[int, int]) -> str:
        changed_lines = {f"src/{name}.c": (range_,) for name, range_ in lines.items()}
        changed_lines["src/srv.h"] = ((1, 2),)
        difference = diagnose_profile(
            DiagnosisRequest(profile=after, before=profiled(new(10)), changed_lines=changed_lines)
        ).difference
        assert difference is not None
        return difference.other_change

    assert find_hint(srv=(12, 15)) == "Of the changed lines, src/srv.c:15 is the nearest to src/srv.c:18."
    assert find_hint(other=(12, 15)) == ""


def test_faults_that_moved_between_lines_are_said_although_their_number_is_the_same() -> None:
    before, after = (profiled(new(2_000), stacks={(0,): 1_000 + moved, (1,): 1_000 - moved}) for moved in (0, 900))
    (remark,) = explain(before, after).remarks
    assert remark.startswith("Faults of the same kinds are now at other lines: ")
    assert "gained 900 and" in remark
    assert explain(before, before).remarks == ()


def test_a_line_without_faults_before_which_nothing_changed_is_still_there() -> None:
    before, after = profiled(new(100), new(300, READ)), profiled(new(100))
    unknown, elsewhere, below, own = (
        diagnose_profile(DiagnosisRequest(profile=after, before=before, changed_lines=lines)).difference
        for lines in ({}, {"src/other.c": ((1, 1),)}, {"src/file.c": ((41, 41),)}, {"src/file.c": ((1, 1),)})
    )
    assert unknown is not None
    assert elsewhere is not None
    assert own is not None
    assert below is not None
    assert below.parts[0].place == "read_all at src/file.c:40"
    assert unknown.parts[0].place == own.parts[0].place == "read_all at src/file.c:40 (before)"
    assert elsewhere.parts[0].place == "read_all at src/file.c:40"


def test_the_execution_whose_stacks_were_recorded_counts_as_well() -> None:
    """The count without a recording can happen to be that of the first recording."""

    def made(faults: int, n_stacks: int, *, period: int = 1) -> Profile:
        made_profile = profiled(new(faults), stacks={(0,): faults})
        assert made_profile.faults is not None
        recorded = made_profile.faults.model_copy(update={"samples": n_stacks, "period": period})
        readings = {"page-faults": Reading(value=faults)}
        return made_profile.model_copy(update={"faults": recorded, "scope": "process", "readings": readings})

    lines: dict[str, tuple[tuple[int, int], ...]] = {"src/table.c": ((99, 99),)}
    varying, steady, sampled = (
        diagnose_profile(DiagnosisRequest(profile=after, before=before, changed_lines=lines)).difference
        for before, after in (
            (made(200, 160), made(240, 190)),
            (made(200, 200), made(240, 240)),
            (made(200, 160, period=2), made(240, 190, period=2)),
        )
    )
    assert varying is not None
    assert steady is not None
    assert sampled is not None
    assert "can be chance" in varying.conclusion
    assert not varying.is_indirect
    assert (steady.conclusion, sampled.conclusion) == ("", "")


@pytest.mark.parametrize(
    ("counts_before", "counts_after", "is_chance"),
    [
        ((200, 210, 205), (230, 208, 220), True),
        ((200, 210, 205), (216, 230, 220), True),
        ((200, 204, 203), (900, 500, 700), False),
        ((200, 200, 200), (240, 240, 240), False),
    ],
    ids=("overlap", "closer than the steadier one varies", "apart, although one varies much", "steady"),
)
def test_three_executions_of_each_commit_show_whether_the_commits_are_apart(
    counts_before: tuple[int, int, int], counts_after: tuple[int, int, int], is_chance: bool
) -> None:
    def made(faults: int, n_counted: int, n_stacks: int) -> Profile:
        made_profile = profiled(new(faults), stacks={(0,): faults})
        assert made_profile.faults is not None
        recorded = made_profile.faults.model_copy(update={"samples": n_stacks})
        return made_profile.model_copy(
            update={"faults": recorded, "scope": "process", "readings": {"page-faults": Reading(value=n_counted)}}
        )

    conclusion = explain(made(*counts_before), made(*counts_after)).conclusion
    assert ("can be chance" in conclusion) is is_chance


@pytest.mark.parametrize(("n_others", "named"), [(300, "read_all at src/file.c:40"), (20, "")])
def test_the_line_of_another_function_with_a_large_part_of_a_cause_is_named_too(n_others: int, named: str) -> None:
    before = profiled((Memory.HEAP, Touch.FIRST, "", GROW, 2_000), (Memory.HEAP, Touch.FIRST, "", READ, 500))
    after = profiled((Memory.HEAP, Touch.FIRST, "", GROW, 1_000), (Memory.HEAP, Touch.FIRST, "", READ, 500 - n_others))
    (part,) = explain(before, after).parts
    assert (part.place, part.place_faults) == ("grow at src/table.c:12", -1_000)
    assert (part.second_place, part.second_faults) == (named, -n_others if named else 0)


def test_a_line_with_a_small_part_of_a_cause_does_not_lead() -> None:
    """The other lines' faults moved between causes within their functions."""
    lines = [Frame(function=f"f{n}", module="prog", file="src/f.c", line=n + 1) for n in range(40)]
    before = profiled(
        *(new(10, line) for line in lines), *((Memory.HEAP, Touch.AFTER_BRK, "", line, 10) for line in lines)
    )
    after = profiled(
        *(new(10, line) for line in lines), *((Memory.HEAP, Touch.AFTER_BRK, "", line, 14) for line in lines)
    )
    (part,) = explain(before, after).parts
    assert (part.faults, part.place, part.place_faults) == (160, "", 0)
