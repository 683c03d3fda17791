"""What perf script and strace print about a profiled program, with names that the program chose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from runner.contract.profile import Frame
from runner.errors import FaultwatchError
from runner.profile.anatomy import AnatomyBuilder, CodePlace
from runner.profile.fault_access import FaultAccess
from runner.profile.recorded_system_calls import find_call_numbers
from runner.profile.script_parser import Fault, ScriptError, ScriptFrame, parse_script
from runner.profile.source_lines import SourceLine, parse_lines
from runner.profile.stack_folding import (
    FrameTable,
    count_stacks,
    distribute_total_over_stacks,
    expand_inlined_frames,
    sum_blocked_time,
)
from runner.profile.strace_recording import parse_calls
from tests.fuzz.door import Attempt
from tests.fuzz.mutation import mutated_text

SHARE = 60
_RECORDED = Path(__file__).parents[2] / "runner" / "profile" / "recorded"
_LINES = 60
"""Lines of a recording that one input has."""
_CALLS = (
    "2630  1795683904.518067 mmap(NULL, 8192, 0x3, 0x22, -1, 0) = 0x7f6ba1193000\n"
    "2631  1795683904.518261 madvise(0x7f6ba118a000, 36864, 0x4 <unfinished ...>\n"
)
_RAW_CALLS = (
    "1/1 3.1: raw_syscalls:sys_enter: NR 25 (7f6ba1193000, 1000, 4000, 1, 0, 7ffd736ab9d0)\n",
    "1/1 3.2: raw_syscalls:sys_exit: NR 25 = 139788472340480\n",
    "1/1 3.3: raw_syscalls:sys_enter: NR 11 (7f6ba1193000, 4000, 0, 0, 0, 0)\n",
)
_CALL_NUMBERS = find_call_numbers("x86_64")
_SOURCE = "0x1139\nmain\n/srv/copy.c:7\n0x1140\ncopy\n/srv/copy.c:9 (discriminator 2)\n?? ??:0\n"


@contextmanager
def opened(_: Path) -> Iterator[Attempt]:
    recordings = [path.read_text().splitlines(keepends=True) for path in sorted(_RECORDED.glob("*.txt"))]
    recordings.append(list(_RAW_CALLS))

    def attempt(rng: Random) -> str:
        list(parse_calls(mutated_text(_CALLS, rng).splitlines(keepends=True), 0.0))
        parsed = parse_lines(mutated_text(_SOURCE, rng).encode(errors="replace").decode()) if rng.random() < 0.2 else {}
        lines = rng.choice(recordings)
        start = rng.randrange(len(lines))
        text = mutated_text("".join(lines[start : start + _LINES]), rng).encode(errors="replace").decode()
        try:
            events = list(parse_script(text.splitlines(keepends=True), call_numbers=_CALL_NUMBERS))
        except ScriptError:
            return "refused"
        known = next(iter(parsed.values()), ())
        table = FrameTable(lambda _, offsets: dict.fromkeys(offsets, known))
        table.fold_stacks(distribute_total_over_stacks(count_stacks(events).stacks, 10**9))
        table.fold_stacks(sum_blocked_time(events).stacks)
        dissection = AnatomyBuilder(1, 4096, FaultAccess("x86_64"))
        try:
            dissection.add_events(events)
        except FaultwatchError:
            return "call refused"
        dissection.build_census()
        dissection.build_anatomy(1, lambda places: {place: _frame(place, known) for place in places})
        return "read" if any(isinstance(event, Fault) for event in events) else "read, without faults"

    yield attempt


def _frame(place: CodePlace, lines: tuple[SourceLine, ...]) -> Frame:
    return expand_inlined_frames(ScriptFrame(place.offset, place.function, place.module), lines)[0]
