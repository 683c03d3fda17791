"""perf script's output → events, exactly or not at all."""

import contextlib
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.profile.script_parser import (
    Fault,
    Forked,
    Lost,
    Mapped,
    ScriptError,
    ScriptFrame,
    Stacked,
    Switched,
    Traced,
    parse_script,
    split_place,
)

RECORDED = Path(__file__).parent / "recorded"


def events(name: str) -> list[object]:
    return list(parse_script((RECORDED / name).read_text().splitlines(keepends=True)))


def test_a_recording_of_faults_is_read_to_the_last_line() -> None:
    found = Counter(type(event) for event in events("faults.txt"))
    assert found[Fault] == 102
    assert found[Mapped] > 20
    assert found[Traced] > 10
    assert found[Forked] == 1


def test_each_fault_has_its_error_code() -> None:
    assert all(event.code is not None for event in events("faults.txt") if isinstance(event, Fault))


def test_a_recording_of_switches_has_stacks_with_kernel_and_user_frames() -> None:
    stacks = [event for event in events("switches.txt") if isinstance(event, Stacked)]
    modules = {frame.module for stack in stacks for frame in stack.frames}
    assert {"[kernel.kallsyms]", "/usr/lib/x86_64-linux-gnu/libc.so.6"} <= modules
    assert any(frame.function == "do_nanosleep" for stack in stacks for frame in stack.frames)
    assert any(isinstance(event, Switched) and event.preempted for event in events("switches.txt"))


def test_stacks_follow_faults_with_addresses_and_system_calls() -> None:
    text = [
        "1/1 2.000000000: page-faults:     7fffffffde40 [unknown] ([stack])\n",
        "\t 28b0 f+0x20 (/srv/program)\n",
        "\n",
        "1/1 3.000000000: syscalls:sys_enter_madvise: start: 0x7f00, len_in: 0x1000, behavior: 0x4\n",
        "\t 28b9 g+0x20 (/srv/program)\n",
        "\n",
        "1/1 4.000000000: syscalls:sys_exit_mremap: 0x7f00\n",
    ]
    fault, call, call_without_stack = parse_script(text, has_fault_stacks=True)
    assert isinstance(fault, Stacked)
    assert (fault.address, fault.text, len(fault.frames)) == (0x7FFFFFFFDE40, "", 1)
    assert isinstance(call, Stacked)
    assert (call.address, call.text) == (None, "start: 0x7f00, len_in: 0x1000, behavior: 0x4")
    assert call_without_stack == Traced(1, 1, 4.0, "syscalls:sys_exit_mremap", "0x7f00")


def test_a_raw_system_call_is_read_like_its_own_tracepoint() -> None:
    text = [
        "1/1 3.0: raw_syscalls:sys_enter: NR 28 (7f00, 1000, 4, 0, 7ffe00, 0)\n",
        "1/1 4.0: raw_syscalls:sys_exit: NR 25 = 32512\n",
        "1/1 5.0: raw_syscalls:sys_exit: NR 25 = -12\n",
    ]
    numbers = {25: "mremap", 28: "madvise"}
    call, moved, failed = parse_script(text, call_numbers=numbers)
    assert call == Traced(1, 1, 3.0, "syscalls:sys_enter_madvise", "start: 0x7f00, len_in: 0x1000, behavior: 0x4")
    assert moved == Traced(1, 1, 4.0, "syscalls:sys_exit_mremap", "0x7f00")
    assert isinstance(failed, Traced)
    assert failed.text == "0xfffffffffffffff4"
    for damaged in ("NR 9 (0, 1, 2, 3, 4, 5)", "NR 28 (0, 1)", "NR 28 (0, 1, 2, 3, 4, xyz)", "NR 28 = 1"):
        with pytest.raises(ScriptError):
            list(parse_script([f"1/1 3.0: raw_syscalls:sys_enter: {damaged}\n"], call_numbers=numbers))


def test_names_with_spaces_and_parentheses_stay_whole() -> None:
    text = [
        "1/1 2.000000000: page-faults: \n",
        "\t 28b0 (anonymous namespace)::f(int, char*)+0x20 (/srv/my build/a program)\n",
        "\n",
    ]
    (stack,) = parse_script(text)
    assert isinstance(stack, Stacked)
    frame = stack.frames[0]
    assert frame.function == "(anonymous namespace)::f(int, char*)"
    assert (frame.offset, frame.module) == (0x28B0, "/srv/my build/a program")


@pytest.mark.parametrize(
    ("place", "function", "module"),
    [
        ("main+0x1c (/usr/lib/libc.so.6 (deleted))", "main", "/usr/lib/libc.so.6 (deleted)"),
        ("[unknown] (/memfd:doublemapper (deleted))", "[unknown]", "/memfd:doublemapper (deleted)"),
        ("f(int)+0x20 (/srv/build (copy)/program)", "f(int)", "/srv/build (copy)/program"),
        ("void (*g())(int)+0x0 (/srv/a)", "void (*g())(int)", "/srv/a"),
        ("app.Main (run) (/tmp/perf-7.map)", "app.Main (run)", "/tmp/perf-7.map"),
    ],
)
def test_a_file_that_was_removed_or_has_parentheses_in_its_path_stays_whole(
    place: str, function: str, module: str
) -> None:
    (stack,) = parse_script(["1/1 2.000000000: page-faults: \n", f"\t 28b0 {place}\n", "\n"])
    assert isinstance(stack, Stacked)
    assert stack.frames == (ScriptFrame(0x28B0, function, module),)
    assert split_place(place) == (function, module)


def test_what_an_ordinary_user_records_is_read_under_the_name_of_the_event() -> None:
    text = [
        "7/7 1.000000001: page-faults:u:     5600 buffer+0x0 (/srv/t)     5601 main+0x19 (/srv/t)\n",
        "7/7 1.000000002: page-faults:u: \n",
        "\t 5601 main+0x19 (/srv/t)\n",
        "\n",
    ]
    fault, stack = parse_script(text)
    assert isinstance(fault, Fault)
    assert isinstance(stack, Stacked)
    assert fault.event == stack.event == "page-faults"


def test_lost_records_are_told() -> None:
    assert list(parse_script(["1/1 2.000000: PERF_RECORD_LOST lost 17\n"])) == [Lost(17)]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "1/1 soon: page-faults: 7f00 [unknown] (//anon) 55 main+0x1 (/a)",
        "1 2.0: page-faults: 7f00",
        "1/1 2.0: PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0]: rwxq name",
        f"1/1 2.0: PERF_RECORD_MMAP2 1/1: [0x1000(0x{2**64:x}) @ 0]: r-xp name",
        "1/1 2.0: PERF_RECORD_SWITCH SIDEWAYS",
        "1/1 2.0: PERF_RECORD_FORK(1:2",
        "1/1 2.0: PERF_RECORD_SURPRISE",
        "1/1 2.0: page-faults: xyz [unknown] (//anon) 55 main (/a)",
    ],
)
def test_what_is_not_known_is_an_error_that_quotes_the_line(line: str) -> None:
    with pytest.raises(ScriptError, match=r"line 1 "):
        list(parse_script([line + "\n"]))


@given(st.integers(0, 200), st.integers(0, 300), st.characters())
def test_a_changed_letter_is_read_or_refused_but_never_crashes(line: int, place: int, letter: str) -> None:
    lines = (RECORDED / "faults.txt").read_text().splitlines()
    text = lines[line]
    lines[line] = text[:place] + letter + text[place + 1 :]
    with contextlib.suppress(ScriptError):
        list(parse_script(lines))


@given(st.lists(st.text(max_size=80), max_size=20))
def test_any_text_is_read_or_refused(lines: list[str]) -> None:
    with contextlib.suppress(ScriptError):
        list(parse_script(lines))


functions = st.text(
    st.characters(exclude_characters="\n\r\t\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", codec="utf-8"),
    min_size=1,
    max_size=40,
).filter(lambda text: "+0x" not in text)


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), functions), min_size=1, max_size=10))
def test_a_stack_is_read_back_as_it_was_written(frames: list[tuple[int, str]]) -> None:
    text = ["1/2 3.5: page-faults: \n", *(f"\t{offset:16x} {name}+0x1 (/bin/a)\n" for offset, name in frames), "\n"]
    (stack,) = parse_script(text)
    assert isinstance(stack, Stacked)
    assert stack.frames == tuple(ScriptFrame(offset, name, "/bin/a") for offset, name in frames)


@pytest.mark.parametrize("time", ["1e400", "9" * 5000])
def test_a_time_that_is_not_finite_is_refused(time: str) -> None:
    with pytest.raises(ScriptError):
        list(parse_script([f"1/1 {time}: page-faults: \n", "\n"]))


def test_a_very_long_name_without_a_module_is_refused_at_once() -> None:
    started_at = time.process_time()
    with pytest.raises(ScriptError):
        list(parse_script(["1/1 2.5: page-faults: \n", "\t 10 " + " (" * 100_000 + "\n"]))
    assert time.process_time() - started_at < 2
