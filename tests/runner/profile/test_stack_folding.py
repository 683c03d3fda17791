"""Recorded stacks → folded ones."""

from collections.abc import Iterable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runner.contract.profile import StackKind
from runner.profile.memory_mappings import MemoryMapping, ProcessMappings
from runner.profile.script_parser import Lost, Mapped, ScriptFrame, Stacked, Switched, parse_script
from runner.profile.source_lines import SourceLine, parse_lines
from runner.profile.stack_folding import (
    FrameTable,
    count_stacks,
    distribute_total_over_stacks,
    sum_blocked_time,
)

RECORDED = Path(__file__).parent / "recorded"
KERNEL = ScriptFrame(0xFFFFFFFF81000000, "schedule", "[kernel.kallsyms]")
LEAF, CALLER = ScriptFrame(0x100, "leaf", "/srv/a"), ScriptFrame(0x200, "main", "/srv/a")


def stacked(*frames: ScriptFrame, tid: int = 1, time: float = 1.0) -> Stacked:
    return Stacked(1, tid, time, "context-switches", frames)


def off(time: float, *, tid: int = 1, preempted: bool = False) -> Switched:
    return Switched(1, tid, time, False, preempted)


def on(time: float, *, tid: int = 1) -> Switched:
    return Switched(1, tid, time, True, False)


def no_lines(_module: str, _offsets: Iterable[int]) -> dict[int, tuple[SourceLine, ...]]:
    return {}


def test_equal_stacks_are_counted_together() -> None:
    weighed = count_stacks([stacked(LEAF, CALLER), stacked(LEAF, CALLER), stacked(CALLER), Lost(3)])
    assert weighed.stacks == {(LEAF, CALLER): 2, (CALLER,): 1}
    assert (weighed.samples, weighed.lost) == (3, 3)


def test_waiting_counts_from_leaving_to_coming_back_by_thread() -> None:
    events = [
        stacked(LEAF, tid=1),
        off(1.0, tid=1),
        stacked(CALLER, tid=2),
        off(1.5, tid=2),
        on(2.0, tid=1),
        on(4.0, tid=2),
    ]
    assert sum_blocked_time(events).stacks == {(LEAF,): 1_000_000_000, (CALLER,): 2_500_000_000}


def test_a_stack_of_waiting_tells_how_often_threads_waited_there() -> None:
    events = [event for start in (1.0, 3.0) for event in (stacked(LEAF), off(start), on(start + 1.0))]
    weighed = sum_blocked_time(events)
    table = FrameTable(lambda *_: {})
    waited = table.build_stack_profile(
        StackKind.OFF_CPU, weighed, weighed.stacks.total(), period=1, call_graph="fp", recorded_bytes=0
    )
    assert [(stack.weight, stack.waits) for stack in waited.stacks] == [(2_000_000_000, 2)]
    assert [stack.waits for stack in table.fold_stacks({(LEAF,): 5})] == [None]


def test_a_thread_that_could_have_gone_on_did_not_wait() -> None:
    assert not sum_blocked_time([stacked(LEAF), off(1.0, preempted=True), on(2.0)]).stacks


def test_a_real_recording_shows_the_sleep() -> None:
    weighed = sum_blocked_time(parse_script((RECORDED / "switches.txt").read_text().splitlines(keepends=True)))
    waits = {frame.function: time for stack, time in weighed.stacks.items() for frame in stack}
    assert waits["do_nanosleep"] >= 2_000_000


def test_frames_run_from_the_start_of_the_program_and_name_the_line_of_the_call() -> None:
    asked: dict[str, set[int]] = {}

    def lines(module: str, offsets: Iterable[int]) -> dict[int, tuple[SourceLine, ...]]:
        asked[module] = set(offsets)
        return {0x1FF: (SourceLine("inlined", "/srv/a.h", 3), SourceLine("main", "/srv/a.c", 7))}

    table = FrameTable(lines)
    (stack,) = table.fold_stacks({(KERNEL, LEAF, CALLER): 5})
    assert asked == {"/srv/a": {0x100, 0x1FF}}
    shown = [(table.frames[place].function, table.frames[place].line) for place in stack.frames]
    assert shown == [("main", 7), ("inlined", 3), ("leaf", 0), ("schedule", 0)]
    assert table.frames[stack.frames[-1]].module == "[kernel]"


weights = st.dictionaries(st.tuples(st.sampled_from([LEAF, CALLER, KERNEL]), st.integers(0, 9)), st.integers(1, 1000))


@given(weights, st.integers(0, 10**9))
def test_shares_come_to_the_total_and_none_is_off_by_one(weights: dict, total: int) -> None:
    shares = distribute_total_over_stacks(weights, total)
    whole = sum(weights.values())
    assert sum(shares.values()) == (total if whole else 0)
    assert all(abs(shares.get(stack, 0) - weight * total / whole) < 1 for stack, weight in weights.items())


def test_lines_of_inlined_calls_belong_to_one_address() -> None:
    text = "0x0000000000001139\ntouch\n/srv/again.c:11\nmain\n/srv/again.c:26 (discriminator 3)\n0x10\n??\n??:0\n"
    assert parse_lines(text)[0x1139] == (
        SourceLine("touch", "/srv/again.c", 11),
        SourceLine("main", "/srv/again.c", 26),
    )
    assert 0x10 not in parse_lines(text)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=40), st.integers(0, 80))
def test_an_address_belongs_to_what_was_mapped_there_last(made: list[tuple[int, int]], address: int) -> None:
    mappings = ProcessMappings()
    for number, (start, size) in enumerate(made):
        mappings.add(MemoryMapping.from_event(Mapped(1, start, size, 0, "rw-p", f"/file-{number}")))
    last = [f"/file-{number}" for number, (start, size) in enumerate(made) if start <= address < start + size]
    found = mappings.find(address)
    assert (found.name if found else None) == (last[-1] if last else None)
