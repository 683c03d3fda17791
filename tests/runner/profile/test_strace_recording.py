"""The calls that strace records, as the tracepoints would give them."""

from hypothesis import given
from hypothesis import strategies as st

from runner.profile.script_parser import Traced, parse_arguments
from runner.profile.strace_recording import parse_calls

OUTPUT = """\
2630  1795683904.517593 brk(NULL)       = 0x557d8e880000
2630  1795683904.518067 mmap(NULL, 8192, 0x3, 0x22, -1, 0) = 0x7f6ba1193000
2631  1795683904.518261 madvise(0x7f6ba118a000, 36864, 0x4 <unfinished ...>
2630  1795683904.518300 munmap(0x7f6ba1193000, 8192) = 0
2631  1795683904.518310 <... madvise resumed>) = 0
2630  1795683904.518600 mremap(0x7f6ba0fce000, 4096, 8192, 0x1) = -1 ENOMEM (Cannot allocate memory)
2630  1795683904.518650 mremap(0x7f6ba0fce000, 4096, 8192, 0x1) = 0x7f6ba0aaa000
2630  1795683904.518700 --- SIGCHLD {si_signo=SIGCHLD} ---
2630  1795683904.519000 +++ exited with 0 +++
"""


def test_each_call_has_its_time_thread_and_arguments() -> None:
    calls = list(parse_calls(OUTPUT.splitlines(keepends=True), 1795683900.0))
    assert [(call.tid, call.event.removeprefix("syscalls:sys_enter_")) for call in calls] == [
        (2630, "brk"),
        (2630, "mmap"),
        (2631, "madvise"),
        (2630, "munmap"),
        (2630, "mremap"),
        (2630, "mremap"),
        (2630, "syscalls:sys_exit_mremap"),
    ]
    assert calls[-1].text == "0x7f6ba0aaa000"
    assert [parse_arguments(call.text) for call in calls[:3]] == [
        {"brk": 0},
        {"addr": 0, "len": 8192, "prot": 3, "flags": 0x22},
        {"start": 0x7F6BA118A000, "len_in": 36864, "behavior": 4},
    ]
    assert abs(calls[0].time - 4.517593) < 1e-5


def test_the_new_address_of_memory_is_known_even_if_another_thread_calls_meanwhile() -> None:
    lines = (
        "7  1.5 mremap(0x7f6ba0fce000, 4096, 8192, 0x1 <unfinished ...>",
        "8  1.6 brk(NULL) = 0x557d8e880000",
        "7  1.7 <... mremap resumed>) = 0x7f6ba0aaa000",
        "7  1.8 mremap(0x7f6ba0fce000, 4096, 8192, 0x1 <unfinished ...>",
        "7  1.9 <... mremap resumed>) = -1 ENOMEM (Cannot allocate memory)",
    )
    ends = [call for call in parse_calls(lines, 0.0) if call.event == "syscalls:sys_exit_mremap"]
    assert ends == [Traced(7, 7, 1.7, "syscalls:sys_exit_mremap", "0x7f6ba0aaa000")]


def test_calls_that_populate_memory_or_take_pages_of_a_file_away_are_read() -> None:
    lines = (
        "7  1.5 mlockall(0x3) = 0",
        "7  1.6 fallocate(3, 0x3, 0, 4096) = 0",
        "7  1.7 mlock2(0x7f6ba0fce000, 4096, 0) = 0",
    )
    assert [parse_arguments(call.text) for call in parse_calls(lines, 0.0)] == [
        {"flags": 3},
        {"fd": 3, "mode": 3, "offset": 0, "len": 4096},
        {"start": 0x7F6BA0FCE000, "len": 4096, "flags": 0},
    ]


@given(st.text(max_size=200) | st.sampled_from([line[:cut] for line in OUTPUT.splitlines() for cut in (20, 40, 60)]))
def test_no_text_breaks_the_parser(text: str) -> None:
    for call in parse_calls(text.splitlines(), 0.0):
        assert isinstance(call, Traced)
        if "sys_enter" in call.event:
            parse_arguments(call.text)
