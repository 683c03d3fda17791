"""Finds the lines of a Java program that allocate memory: faults in the heap happen in the runtime, on their behalf.

In a separate execution, the program records samples of its allocations with the JDK Flight Recorder. The event
``jdk.ObjectAllocationSample`` of Java 16 and later contains the stack, and as its weight the bytes allocated since the
previous sample. The tool ``jfr`` of the JDK prints the events.
"""

import os
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from runner.contract.profile import AllocatingLine
from runner.profile.labels import cut_label
from runner.profile.line_folder import LineFolder
from runner.system.valid_text import make_valid_text

_SETTINGS = b"""<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0">
  <event name="jdk.ObjectAllocationSample">
    <setting name="enabled">true</setting>
    <setting name="stackTrace">true</setting>
    <setting name="throttle">1000/s</setting>
  </event>
</configuration>
"""
_SETTINGS_FILE, _RESULT = "allocations.jfc", "allocations.jfr"
_MAX_BYTES = 64 << 20
"""The largest number of bytes that are read of a recording: the program that writes it can make it any size."""
_MAX_FRAMES, _MAX_LINES, _MAX_SECONDS = 40, 100, 60.0
_JVM = "libjvm.so"
_UNITS = {"bytes": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_WEIGHT = re.compile(
    rf"^[ \t]*weight = (?P<number>\d{{1,9}}(?:\.\d{{1,9}})?) (?P<unit>{'|'.join(_UNITS)})", re.ASCII | re.MULTILINE
)
"""The bytes of a sample. Their digits are limited, because the measured program wrote the recording."""
_FRAME = re.compile(r"\s*(?P<method>[^\s(]+)\(.*\) +line: (?P<line>\d{1,9})", re.ASCII)
_LIBRARY = re.compile(r"(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy|clojure)\.")
_RECORDER = "jdk.jfr."
"""The package of the recorder. Its own allocations do not belong to the program."""
_SUFFIXES = (".java", ".kt", ".scala", ".groovy")
_MAX_FILES = 200_000


class JavaLineRecorder:
    """Makes a Java program record which of its lines allocate memory, in one execution.

    Attributes
    ----------
    recording
        The content of the recording; empty if the program wrote none.
    """

    def __init__(self, tree: Path) -> None:
        self.recording = b""
        self._folder = LineFolder(tree)

    def add_variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that make Java record; options of the program in these variables are kept."""
        settings, result = (self._folder.path / name for name in (_SETTINGS_FILE, _RESULT))
        # The recorder reads the double quotes; the JVM splits the variable at spaces, and reads quotes as a shell does.
        recording = shlex.quote(f'-XX:StartFlightRecording=settings="{settings}",filename="{result}"')
        # Without the first option, the recorder prints a message to standard output, which may be the program's result.
        options = f"-Xlog:jfr+startup=off {recording}"
        own_options = variables.get("JAVA_TOOL_OPTIONS", "")
        return {**variables, "JAVA_TOOL_OPTIONS": f"{own_options} {options}".strip()}

    def attach(self, processes: Sequence[int]) -> None:
        """Put the recorder's settings into the tree; not earlier, because each execution restores the tree first."""
        self._folder.create({_SETTINGS_FILE: _SETTINGS})

    def close(self) -> None:
        """Read the recording, and remove its folder."""
        self.recording = b"".join(self._folder.remove(_RESULT, _MAX_BYTES))


def find_jfr(files: Iterable[Path]) -> Path | None:
    """Return the tool ``jfr`` of the Java installation that a program's files belong to; None if there is none."""
    for library in files:
        if library.name == _JVM:
            for folder in library.parents:
                tool = folder / "bin" / "jfr"
                if os.access(tool, os.X_OK):  # False too in a folder that this user may not search
                    return tool
    return None


def print_allocations(jfr: Path, recording: Path, sandbox_prefix: Sequence[str]) -> str:
    """Return the output of ``jfr print`` for the allocations in a recording; empty if it fails to start or to end."""
    # -J passes an option to the tool's own JVM. Its heap is limited because the measured program wrote the recording,
    # and can make it any size. Without a language and a country, numbers are formatted by the user's locale.
    command = [
        *(*sandbox_prefix, str(jfr), "-J-Xmx512m", "-J-Duser.language=en", "-J-Duser.country=US", "print"),
        *("--stack-depth", str(_MAX_FRAMES), "--events", "jdk.ObjectAllocationSample", str(recording)),
    ]
    with suppress(OSError, subprocess.TimeoutExpired):
        result = subprocess.run(command, capture_output=True, check=False, timeout=_MAX_SECONDS)
        return result.stdout.decode("utf-8", errors="replace")
    return ""


def parse_allocations(text: str, tree: Path) -> tuple[AllocatingLine, ...]:
    """Return the lines of a program that allocate, the one with the most bytes first.

    An allocation belongs to the innermost line outside of the class libraries. Files in ``tree`` have relative paths;
    of other files, only the name is known.
    """
    bytes_by_line: Counter[tuple[str, int]] = Counter()
    for event in text.split("jdk.ObjectAllocationSample {")[1:]:
        weight = _WEIGHT.search(event)
        frames = [match.groupdict() for match in map(_FRAME.fullmatch, event.splitlines()) if match]
        if weight is None or any(frame["method"].startswith(_RECORDER) for frame in frames):
            continue
        own_frame = next((frame for frame in frames if not _LIBRARY.match(frame["method"])), None)
        if own_frame is not None and int(own_frame["line"]):
            allocated = round(float(weight["number"]) * _UNITS[weight["unit"]])
            bytes_by_line[own_frame["method"], int(own_frame["line"])] += allocated
    largest_lines = bytes_by_line.most_common(_MAX_LINES)
    files = _find_files({method for (method, _), _ in largest_lines}, tree)
    allocating_lines = []
    for (method, line), allocated in largest_lines:
        class_and_method = ".".join(method.split(".")[-2:])
        allocating_lines.append(
            AllocatingLine(
                file=cut_label(files[method]), function=cut_label(class_and_method), line=line, bytes=allocated
            )
        )
    return tuple(allocating_lines)


def _find_files(methods: Iterable[str], tree: Path) -> dict[str, str]:
    """Return the source file of each method: the file in the tree that has the class's name, in the package's folder.

    If no such folder matches, as Kotlin allows, a file with the name of the class suffices. Of several files, the first
    in alphabetical order is chosen, so that the answer is always the same. Without a file, it is the name of the class
    with ``.java``.
    """
    places = {method: _split_method(method) for method in methods}
    classes = {class_name for _, class_name in places.values()}
    paths = [path for path in _list_files(tree) if path.suffix in _SUFFIXES and path.stem in classes]
    files = {}
    for method, (package, class_name) in places.items():
        candidates = [path for path in paths if path.stem == class_name]
        if package:
            paths_in_package = [path for path in candidates if path.parent.parts[-len(package) :] == package]
            candidates = paths_in_package or candidates
        file = str(min(candidates).relative_to(tree)) if candidates else f"{class_name}.java"
        files[method] = make_valid_text(file)
    return files


def _split_method(method: str) -> tuple[tuple[str, ...], str]:
    """Return the package and the outermost class of a method; both are empty if it has no class."""
    if "." not in method:
        return (), ""
    *package, class_name, _ = method.split(".")
    return tuple(package), class_name.partition("$")[0]


def _list_files(tree: Path) -> Iterator[Path]:
    """Yield the files of a tree outside of hidden folders, up to a number that no source tree exceeds."""
    n_files = 0
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            yield Path(folder, name)
        n_files += len(names)
        if n_files > _MAX_FILES:
            return
