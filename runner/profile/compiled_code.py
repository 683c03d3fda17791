"""Names the functions that a runtime compiled while the program ran: those of JavaScript, Java, .NET and Python.

perf finds no file with the symbols of such code. If an environment variable asks for it, runtimes write the addresses
and names of the functions into a *map*, ``/tmp/perf-PID.map``. In a sandbox, ``/tmp`` is private and vanishes with the
program, so the folder is opened while the program waits to be started, and read after its end.

Each line of a map has the format ``START SIZE NAME`` with hexadecimal numbers; see ``tools/perf/Documentation/
jit-interface.txt`` in the sources of Linux.
"""

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path

from msgspec.structs import replace

from runner.contract import profile as contract
from runner.contract.profile import COMPILED_MODULE, RUNTIME_MODULE, UNKNOWN_FUNCTION
from runner.profile.labels import cut_label
from runner.profile.script_parser import Event, Fault, ScriptFrame, Stacked, split_place

MAP_VARIABLES: Mapping[str, str] = {
    "NODE_OPTIONS": "--perf-basic-prof-only-functions",
    "JAVA_TOOL_OPTIONS": (
        "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit "
        "-XX:+PreserveFramePointer"
    ),
    "DOTNET_PerfMapEnabled": "1",
    "PYTHONPERFSUPPORT": "1",
}
"""The variables that make runtimes write their maps. Older versions and other programs ignore these variables."""
_MAP_FOLDER = "/tmp"  # noqa: S108 - where all runtimes write their maps
_MAP_NAME = re.compile(r"perf-\d{1,10}\.map", re.ASCII)
_MAP_MODULE = re.compile(rf"{_MAP_FOLDER}/{_MAP_NAME.pattern}", re.ASCII)
_MAX_MAPS, _MAX_MAP_BYTES = 64, 64 << 20
"""The largest number of maps that are read of an execution, and of bytes in all of them: a program can write any
number."""
_ENTRY = re.compile(rb"^(?:0x)?([0-9a-f]{1,16}) (?:0x)?([0-9a-f]{1,16}) ([^\r\n]{1,1000})", re.ASCII | re.MULTILINE)
_V8_NAME = re.compile(r"\w+:[*~^+]?(?P<function>\S*) (?:file://)?(?P<file>.+?):(?P<line>\d{1,9})(?::\d+)?", re.ASCII)
_PYTHON_NAME = re.compile(r"py::(?P<function>.+?):(?P<file>[/<].*)")
_JAVA_NAME = re.compile(r"\S+ (?P<function>(?P<name>[\w.$<>]+)\(.*\))")
_JAVA_LIBRARY = re.compile(r"(?:java|javax|jdk|sun|com\.sun)\..*")
_NODE_LIBRARY = "node:"


class CodeMap:
    """The functions of one map. If an address was reused, it belongs to the latest function."""

    def __init__(self, content: bytes) -> None:
        """Parse a map, whose lines have the form ``START SIZE NAME`` with hexadecimal numbers."""
        entries: list[tuple[int, int, str]] = []
        for match in _ENTRY.finditer(content):
            start, size = int(match[1], 16), int(match[2], 16)
            entries.append((start, start + size, _decode_name(match[3])))
        self._starts, self._names = _resolve_overlaps(entries)

    def find_name(self, address: int) -> str:
        """Return the name of the function at an address; empty if there is none."""
        index = bisect_right(self._starts, address) - 1
        return self._names[index] if index >= 0 else ""


class CompiledCode:
    """Collects the maps of the processes of one execution, and names their functions in its events.

    Attributes
    ----------
    is_private
        Whether the folder of the maps is private to the program. If not, perf itself finds the maps.
    """

    def __init__(self, *, is_private: bool) -> None:
        self.is_private = is_private
        self._folder_descriptors: list[int] = []
        self._maps: list[CodeMap] = []
        self._processes: set[int] = set()

    def attach(self, processes: Sequence[int]) -> None:
        """Open the private folder in which processes will write maps; while it is open, it outlives their sandbox."""
        if not self.is_private:
            return
        for process in processes:
            with suppress(OSError):
                folder = f"/proc/{process}/root{_MAP_FOLDER}"
                self._folder_descriptors.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def close(self) -> None:
        """Read the maps that were written."""
        for folder in self._folder_descriptors:
            self._maps += map(CodeMap, _read_maps(folder))
            os.close(folder)
        self._folder_descriptors.clear()

    def name_functions(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events in which the functions that perf did not know have their names from the maps."""
        for event in events:
            if isinstance(event, Stacked):
                self._processes.add(event.pid)
                yield self._name_stack(event)
            elif isinstance(event, Fault):
                self._processes.add(event.pid)
                yield self._name_fault(event)
            else:
                yield event

    def remove_maps(self) -> None:
        """Remove the maps of the processes whose events were read; maps in a private folder have vanished with it."""
        if self.is_private:
            return
        for process in self._processes:
            with suppress(OSError):
                Path(_MAP_FOLDER, f"perf-{process}.map").unlink()

    def _name_stack(self, event: Stacked) -> Stacked:
        """Return an event with names for the functions in its stack that perf could not name."""
        if not any(_is_unnamed(frame.function, frame.module) for frame in event.frames):
            return event
        frames = tuple(
            frame._replace(function=self._find_name(frame.offset))
            if _is_unnamed(frame.function, frame.module)
            else frame
            for frame in event.frames
        )
        return replace(event, frames=frames)

    def _name_fault(self, event: Fault) -> Fault:
        """Return a fault with a name for its function if perf could not name it."""
        function, module = split_place(event.place)
        if not _is_unnamed(function, module):
            return event
        return event._replace(place=f"{self._find_name(event.ip)} ({module})")

    def _find_name(self, address: int) -> str:
        """Return the name of the function at an address, if all maps that contain the address agree.

        It is unknown which map belongs to which process: maps are named after the process ids within the sandbox.
        """
        names = {code_map.find_name(address) for code_map in self._maps} - {""}
        return names.pop() if len(names) == 1 else UNKNOWN_FUNCTION


def parse_compiled_frame(frame: ScriptFrame) -> contract.Frame | None:
    """Return the frame of a function that was compiled at run time, with the file and line that its name contains.

    None if the frame is not such a function. For Node, the line is that where the function begins.
    """
    if not is_compiled(frame.module):
        return None
    for pattern in (_V8_NAME, _PYTHON_NAME, _JAVA_NAME):
        if match := pattern.fullmatch(frame.function):
            parts = match.groupdict(default="")
            file = parts.get("file", "")
            is_library = file.startswith(_NODE_LIBRARY) or _JAVA_LIBRARY.fullmatch(parts.get("name", ""))
            return contract.Frame(
                function=cut_label(parts["function"] or "(anonymous)"),
                module=RUNTIME_MODULE if is_library else COMPILED_MODULE,
                file=cut_label(file),
                line=int(parts.get("line") or 0),
            )
    # A name of another form is that of a helper that the runtime has generated for itself.
    module = COMPILED_MODULE if frame.function == UNKNOWN_FUNCTION else RUNTIME_MODULE
    return contract.Frame(function=cut_label(frame.function), module=module)


def add_map_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return a program's variables and those that ask for maps; options of the program in these variables are kept."""
    result = dict(variables)
    for name, value in MAP_VARIABLES.items():
        has_options = name.endswith("_OPTIONS") and variables.get(name)
        result[name] = f"{variables[name]} {value}" if has_options else value
    return result


def is_compiled(module: str) -> bool:
    """Return whether a module, as perf names it, is code that a runtime compiled, and that has no file."""
    return _MAP_MODULE.fullmatch(module) is not None


def _is_unnamed(function: str, module: str) -> bool:
    return function == UNKNOWN_FUNCTION and is_compiled(module)


def _resolve_overlaps(entries: Sequence[tuple[int, int, str]]) -> tuple[list[int], list[str]]:
    """Return the addresses from which another function is the latest, and its name, which is empty for none.

    ``entries`` are the start, the end and the name of each function, in the order in which they were written.
    """
    indices_by_start = sorted(range(len(entries)), key=lambda index: entries[index][0])
    addresses = sorted({address for start, end, _ in entries for address in (start, end)})
    names: list[str] = []
    latest_first: list[tuple[int, int]] = []  # A heap of pairs (negated index, end) of the functions that have begun.
    n_begun = 0
    for address in addresses:
        while n_begun < len(entries) and entries[indices_by_start[n_begun]][0] == address:
            index = indices_by_start[n_begun]
            heappush(latest_first, (-index, entries[index][1]))
            n_begun += 1
        while latest_first and latest_first[0][1] <= address:  # the latest function has ended
            heappop(latest_first)
        names.append(entries[-latest_first[0][0]][2] if latest_first else "")
    return addresses, names


def _decode_name(name: bytes) -> str:
    return "".join(char for char in name.decode("utf-8", errors="replace") if char.isprintable())


def _read_maps(folder: int) -> Iterator[bytes]:
    """Yield the contents of the maps in a folder. The folder is untrusted: a program can put anything there."""
    names = sorted(name for name in os.listdir(folder) if _MAP_NAME.fullmatch(name))
    remaining_bytes = _MAX_MAP_BYTES
    for name in names[:_MAX_MAPS]:
        with suppress(OSError):
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with os.fdopen(file, "rb") as content:
                if stat.S_ISREG(os.fstat(file).st_mode):
                    map_content = content.read(remaining_bytes)
                    remaining_bytes -= len(map_content)
                    yield map_content
