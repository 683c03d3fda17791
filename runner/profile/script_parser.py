"""Parses the output of ``perf script`` into events, exactly or not at all.

The fields are those that :mod:`runner.profile.recording_reader` requests. The name of the command is not one of them,
because a program can choose any name. A line of an unknown format raises a :class:`ScriptError`; nothing is guessed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from msgspec import Struct

from runner.contract.profile import UNKNOWN_FUNCTION
from runner.profile.recorded_system_calls import ENTRY_PREFIX, MEMORY_CALLS, MREMAP_EXIT, RAW_ENTRY

_MAX_QUOTED_LINE_CHARACTERS = 120
_MAX_QUOTED_ARGUMENT_CHARACTERS = 100


class ScriptError(Exception):
    """The text cannot be parsed; the message quotes the line or the part."""


class Fault(NamedTuple):
    """A page fault: its address, and the place in the program that accessed the address."""

    pid: int
    tid: int
    time: float
    event: str
    address: int
    ip: int
    place: str
    """Function and module, as perf printed them."""
    code: int | None = None
    """The processor's error code; None unless the tracepoint of the exception was recorded too."""


class Traced(NamedTuple):
    """A tracepoint with its arguments."""

    pid: int
    tid: int
    time: float
    event: str
    text: str


class ScriptFrame(NamedTuple):
    """A frame of a stack: its offset in a module, and the function there as perf names it."""

    offset: int
    function: str
    module: str


class Stacked(Struct, frozen=True):
    """An event with its stack, innermost frame first.

    Attributes
    ----------
    address
        The address that faulted; None if it was not printed.
    text
        The arguments of a tracepoint; empty for other events.
    """

    pid: int
    tid: int
    time: float
    event: str
    frames: tuple[ScriptFrame, ...]
    address: int | None = None
    text: str = ""


class Mapped(NamedTuple):
    """A range of memory that was mapped."""

    pid: int
    start: int
    size: int
    offset: int
    protection: str
    name: str


class Switched(NamedTuple):
    """A thread that was put on a CPU or taken off; ``preempted`` if it could have continued."""

    pid: int
    tid: int
    time: float
    is_on_cpu: bool
    preempted: bool


class Forked(NamedTuple):
    """A new process or thread."""

    pid: int
    parent: int


class Executed(NamedTuple):
    """A process that executed another program."""

    pid: int


class Lost(NamedTuple):
    """Records that perf lost for lack of space."""

    number: int


T = TypeVar("T")


class _StackHeading(NamedTuple):
    """The line above a stack."""

    pid: int
    tid: int
    time: float
    event: str
    address: int | None = None


Event = Fault | Traced | Stacked | Mapped | Switched | Forked | Executed | Lost

_PROCESS_AND_THREAD = re.compile(r"(-?\d+)/(-?\d+)", re.ASCII)
_FAULT_TAIL = re.compile(r".*?\) +([0-9a-f]{1,16}) (.*)", re.ASCII)
_FAULT_TAIL_WITHOUT_SYMBOL = re.compile(r" *([0-9a-f]{1,16}) (.*)", re.ASCII)
_RECORD = re.compile(r"PERF_RECORD_([A-Z0-9_]+)", re.ASCII)
_FRAME = re.compile(r"\s+([0-9a-f]{1,16}) (.* \(.*\))", re.ASCII)
_PLACE = re.compile(r"(?:(?P<function>.*?)\+0x[0-9a-f]+|\[unknown\]) \((?P<module>.*)\)", re.ASCII | re.DOTALL)
"""A function with an offset, or an unknown one, and its module. The function ends at the first offset, because a module
may contain parentheses too: its folder may, and the kernel writes ``(deleted)`` after a file that was removed."""
_MMAP = re.compile(
    r"-?\d+/-?\d+: \[(0x[0-9a-f]{1,16}|0)\((0x[0-9a-f]{1,16}|0)\) @ (0x[0-9a-f]{1,16}|0)(?: [^\]]*)?\]: "
    r"([rwxps-]{1,4}) (.*)",
    re.ASCII,
)
_FORK = re.compile(r"\((-?\d+):-?\d+\):\((-?\d+):-?\d+\)", re.ASCII)
_DIGITS = "0123456789"
_ADDRESS_START = len("address=0x")
"""The index at which the digits of the address begin in the text of an exception."""
_MAX_CACHED_ENTRIES = 100_000
_MAX_TIME_SECONDS = 1e12
"""The largest valid time in seconds since the start of the machine. In damaged output, times can be infinite."""
_MAX_ARGUMENT = 2**64 - 1
"""The largest argument of a system call."""
_RAW_ENTRY = re.compile(r"NR (\d{1,5}) \(((?:[0-9a-f]{1,16}, ){5}[0-9a-f]{1,16})\)", re.ASCII)
_RAW_EXIT = re.compile(r"NR (\d{1,5}) = (-?\d{1,20})", re.ASCII)
_LOST = re.compile(r" *(?:lost )?(\d+)", re.ASCII)


def parse_script(
    lines: Iterable[str], *, has_fault_stacks: bool = False, call_numbers: Mapping[int, str] = MappingProxyType({})
) -> Iterator[Event]:
    """Parse the output of ``perf script``, line by line.

    Parameters
    ----------
    call_numbers
        The names of the recorded system calls, by their numbers.
    has_fault_stacks
        Whether both the addresses and the stacks of faults were printed.

    Raises
    ------
    ScriptError
        A line is not in one of the formats that perf was asked to print.
    """
    parser = _LineParser(call_numbers, has_fault_stacks=has_fault_stacks)
    head: _StackHeading | Traced | None = None
    frames: list[ScriptFrame] = []
    number = 0
    try:
        for number, line in enumerate(lines, 1):  # noqa: B007 - used in the error
            if head is not None:
                if line[:1] == "\t":  # perf indents the frames of a stack.
                    frames.append(parser.frames[line.rstrip("\n")])
                    continue
                yield _add_frames(head, frames)
                head, frames = None, []
            event = parser.parse_line(line)
            if isinstance(event, _StackHeading | Traced):
                head = event
            elif event is not None:
                yield event
    except (ScriptError, ValueError):
        raise ScriptError(
            f"line {number} does not have the format that perf script was asked to print: "
            f"{line[:_MAX_QUOTED_LINE_CHARACTERS]!r}"
        ) from None
    if head is not None:
        yield _add_frames(head, frames)


def _add_frames(head: _StackHeading | Traced, frames: Sequence[ScriptFrame]) -> Stacked | Traced:
    """Return an event with the stack that followed it; a tracepoint may have none."""
    if isinstance(head, _StackHeading):
        return Stacked(head.pid, head.tid, head.time, head.event, tuple(frames), address=head.address)
    if not frames:
        return head
    return Stacked(head.pid, head.tid, head.time, head.event, tuple(frames), text=head.text)


class _LineParser:
    """Parses lines with caches of their parts: half a million faults are a million lines, whose parts often repeat."""

    def __init__(self, call_numbers: Mapping[int, str], *, has_fault_stacks: bool) -> None:
        self.frames = _Cache(_parse_frame)
        self._call_numbers = call_numbers
        self._has_fault_stacks = has_fault_stacks
        self._threads = _Cache(_parse_thread)
        self._places = _Cache(_parse_place)
        self._names = _Cache(_parse_event_name)
        self._codes = _Cache(_parse_error_code)
        self._exceptions: dict[str, str] = {}

    def parse_line(self, line: str) -> Event | _StackHeading | None:
        """Parse a line into an event or the heading of a stack; None for other lines.

        Raises
        ------
        ScriptError, ValueError
            The line is not in one of the formats that perf was asked to print; :func:`parse_script` quotes it.
        """
        words = line.split(None, 3)
        if len(words) < 3:
            if words:
                raise ScriptError
            return None
        thread_text, time_text, event = words[:3]
        content = words[3].rstrip("\n") if len(words) == 4 else ""
        # Compare slices, which is faster than startswith, because recordings have millions of lines.
        if event[:22] == "exceptions:page_fault_":
            self._exceptions[thread_text] = content  # The line of the fault itself follows.
            return None
        if event[:12] == "PERF_RECORD_":
            kind, record = _split_record(f"{event} {content}")
            return _parse_record(self._threads[thread_text], _parse_time(time_text), kind, record)
        name = self._names[event]
        pid, tid = self._threads[thread_text]
        if ":" in name:
            if name[:4] == "raw_":
                name, content = _parse_raw_call(name, content, self._call_numbers)
            return Traced(pid, tid, _parse_time(time_text), name, content)
        address, _, tail = content.partition(" ")
        if not content or self._has_fault_stacks:  # The stack follows in further lines.
            fault_address = int(address, 16) if content else None
            return _StackHeading(pid, tid, _parse_time(time_text), name, fault_address)
        ip, place = self._places[tail]
        exception = self._exceptions.pop(thread_text, "")
        # The exception is "address=0x7f00 ip=… error_code=0x6". It belongs to this fault only if the address matches.
        code = None
        address_end = _ADDRESS_START + len(address)
        if exception[_ADDRESS_START:address_end] == address:
            code = self._codes[exception[address_end:]]
        return Fault(pid, tid, _parse_time(time_text), name, int(address, 16), ip, place, code)


class _Cache(dict[str, T]):
    """A cache of the parsed values of strings, which is cleared when it becomes too large."""

    def __init__(self, parse: Callable[[str], T]) -> None:
        super().__init__()
        self._parse = parse

    def __missing__(self, text: str) -> T:
        if len(self) > _MAX_CACHED_ENTRIES:
            self.clear()
        self[text] = value = self._parse(text)
        return value


def parse_arguments(text: str) -> dict[str, int]:
    """Parse the arguments of a system call, ``addr: 0x7f00, len: 0x1000``, or of a tracepoint, ``address=0x7f00``.

    Raises
    ------
    ScriptError
        An argument is not a number.
    """
    values = {}
    for part in text.split(", ") if ": " in text else text.split():
        name, _, value = part.partition(": " if ": " in part else "=")
        try:
            values[name.strip()] = int(value, 16)
            if not 0 <= values[name.strip()] <= _MAX_ARGUMENT:
                raise ValueError
        except ValueError:
            if name.strip() != "ip":  # Instead of an instruction pointer in the kernel, perf prints a name.
                raise ScriptError(
                    f"not all arguments are numbers: {text[:_MAX_QUOTED_ARGUMENT_CHARACTERS]!r}"
                ) from None
    return values


def split_place(place: str) -> tuple[str, str]:
    """Split ``memmove+0x1c (/usr/lib/libc.so.6)`` into function and module; without a name, it is ``[unknown]``."""
    if place.endswith(")") and (match := _PLACE.fullmatch(place)):
        return match["function"] or UNKNOWN_FUNCTION, match["module"]
    # The name of a function that a runtime compiled has no offset.
    function, _, module = place.rpartition(" (")
    return function or UNKNOWN_FUNCTION, module.removesuffix(")")


def _parse_thread(text: str) -> tuple[int, int]:
    """Return the process and the thread of a sample."""
    match = _PROCESS_AND_THREAD.fullmatch(text)
    if match is None:
        raise ScriptError
    return int(match[1]), int(match[2])


def _parse_time(text: str) -> float:
    """Return the time of a sample in seconds."""
    if text[-1] != ":" or text[0] not in _DIGITS:
        raise ScriptError
    seconds = float(text[:-1])
    if seconds > _MAX_TIME_SECONDS:
        raise ScriptError
    return seconds


def _split_record(text: str) -> tuple[str, str]:
    """Split one of perf's own records into its kind and its content."""
    match = _RECORD.match(text)
    if match is None:
        raise ScriptError
    return match[1], text[match.end() :].lstrip(": ")


def _parse_place(tail: str) -> tuple[int, str]:
    """Parse what follows the address of a fault: possibly the symbol at it, then the place that accessed it."""
    match = _FAULT_TAIL.fullmatch(tail) or _FAULT_TAIL_WITHOUT_SYMBOL.fullmatch(tail)
    if match is None:
        raise ScriptError
    return int(match[1], 16), match[2]


def _parse_event_name(text: str) -> str:
    """Return the name of the event of a sample."""
    if text[-1] != ":":
        raise ScriptError
    # perf adds ":u" for a user who may not record the kernel.
    return text[:-1].removesuffix(":u")


def _parse_raw_call(event: str, text: str, call_numbers: Mapping[int, str]) -> tuple[str, str]:
    """Return the event and the arguments that the own tracepoint of a system call, or of its return, would have.

    The text is ``NR 11 (7f00, 1000, 0, 0, 0, 0)``, with all six arguments in hexadecimal, or after the call
    ``NR 25 = 139637976727552``.
    """
    match = (_RAW_ENTRY if event == RAW_ENTRY else _RAW_EXIT).fullmatch(text)
    name = call_numbers.get(int(match[1])) if match else None
    if match is None or name is None or (event != RAW_ENTRY and name != "mremap"):
        raise ScriptError
    if event != RAW_ENTRY:
        return MREMAP_EXIT, f"{int(match[2]) & _MAX_ARGUMENT:#x}"
    arguments = zip(MEMORY_CALLS[name].arguments, match[2].split(", "), strict=False)
    return ENTRY_PREFIX + name, ", ".join(f"{key}: 0x{value}" for key, value in arguments)


def _parse_error_code(text: str) -> int:
    """Parse the error code at the end of an exception, after its address."""
    if not text.startswith(" "):
        raise ScriptError
    return int(text.rpartition("error_code=")[2], 16)


def _parse_frame(line: str) -> ScriptFrame:
    """Return one frame of a recorded stack."""
    # Without the bracket at the end, the pattern would be tried at each bracket of a very long name.
    match = _FRAME.fullmatch(line) if line.endswith(")") else None
    if match is None:
        raise ScriptError
    return ScriptFrame(int(match[1], 16), *split_place(match[2]))


def _parse_record(thread: tuple[int, int], time: float, kind: str, content: str) -> Event | None:  # noqa: PLR0911
    """Parse one of perf's own records; return None for kinds that are not used."""
    pid, tid = thread
    match kind:
        case "MMAP" | "MMAP2":
            match = _MMAP.fullmatch(content.strip())
            if match is None and content.strip().startswith("-1/"):
                return None  # It is a mapping of the kernel itself, which belongs to no process.
            if match is None:
                raise ScriptError
            start, size, offset = (int(match[index], 16) for index in (1, 2, 3))
            return Mapped(_parse_owner(content), start, size, offset, match[4], match[5])
        case "SWITCH" | "SWITCH_CPU_WIDE":
            words = content.split()
            if not words or words[0] not in {"IN", "OUT"}:
                raise ScriptError
            return Switched(pid, tid, time, words[0] == "IN", "preempt" in words)
        case "FORK":
            match = _FORK.fullmatch(content.strip())
            if match is None:
                raise ScriptError
            return Forked(int(match[1]), int(match[2]))
        case "COMM":
            return Executed(pid) if content.lstrip().startswith("exec:") else None
        case "LOST" | "LOST_SAMPLES":
            match = _LOST.fullmatch(content)
            if match is None:
                raise ScriptError
            return Lost(int(match[1]))
        case "EXIT" | "KSYMBOL" | "BPF_EVENT" | "THROTTLE" | "UNTHROTTLE" | "CGROUP" | "NAMESPACES" | "TEXT_POKE":
            return None
    raise ScriptError


def _parse_owner(content: str) -> int:
    return int(content.strip().partition("/")[0])
