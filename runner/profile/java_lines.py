"""Names the lines of a Java program that allocate: a fault in the heap happens in the runtime, on behalf of a line.

In one execution of its own, the program records samples of its allocations with the JDK Flight Recorder: the event
``jdk.ObjectAllocationSample`` of Java 16 and later has the stack, and as its weight the bytes that were allocated since
the sample before. The tool ``jfr`` of the JDK prints them.
"""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from runner.contract.profile import AllocatingLine
from runner.profile.labels import cut_label
from runner.profile.line_folder import LineFolder

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
"""The largest recording that is read: the program writes it, so it decides how long it is."""
_MAX_FRAMES, _MAX_LINES, _MAX_SECONDS = 40, 100, 60.0
_JVM = "libjvm.so"
_UNITS = {"bytes": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_WEIGHT = re.compile(rf"\s*weight = (?P<number>\d+(?:\.\d+)?) (?P<unit>{'|'.join(_UNITS)})", re.ASCII)
_FRAME = re.compile(r"\s*(?P<method>[^\s(]+)\(.*\) +line: (?P<line>\d{1,9})", re.ASCII)
_LIBRARY = re.compile(r"(?:java|javax|jdk|sun|com\.sun|kotlin|scala|groovy|clojure)\.")
_RECORDER = "jdk.jfr."
"""The package of the recorder, whose own allocations are not the program's."""
_SUFFIXES = (".java", ".kt", ".scala", ".groovy")
_MAX_FILES = 200_000


class JavaLineRecorder:
    """Has a Java program record in one execution which of its lines allocate.

    Attributes
    ----------
    recording
        The recording; empty if the program wrote none.
    """

    def __init__(self, tree: Path) -> None:
        self.recording = b""
        self._folder = LineFolder(tree)

    def add_variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables with which Java records; options that the program has itself stay before them."""
        settings, result = (self._folder.path / name for name in (_SETTINGS_FILE, _RESULT))
        # The recorder announces itself in the standard output otherwise, which may be the program's result.
        options = f"-Xlog:jfr+startup=off -XX:StartFlightRecording=settings={settings},filename={result}"
        own_options = variables.get("JAVA_TOOL_OPTIONS", "")
        return {**variables, "JAVA_TOOL_OPTIONS": f"{own_options} {options}".strip()}

    def attach(self, processes: Sequence[int]) -> None:
        """Put the recorder's settings into the tree, which is restored before each execution."""
        self._folder.create({_SETTINGS_FILE: _SETTINGS})

    def close(self) -> None:
        """Read the recording, and remove it."""
        self.recording = self._folder.remove(_RESULT, _MAX_BYTES)


def find_jfr(files: Iterable[Path]) -> Path | None:
    """Return the tool that reads recordings, of the Java that is one of a program's files; None if there is none."""
    for library in files:
        if library.name == _JVM:
            for folder in library.parents:
                tool = folder / "bin" / "jfr"
                if tool.is_file():
                    return tool
    return None


def print_allocations(jfr: Path, recording: Path, sandbox_prefix: Sequence[str]) -> str:
    """Return the allocations in a recording as text; empty if it cannot be read."""
    # -J passes an option to the JVM of the tool: it prints numbers in the language of the user otherwise.
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

    An allocation belongs to the innermost line outside of the class libraries. Files are relative to ``tree``; those
    that it does not hold have their name alone.
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
    largest = bytes_by_line.most_common(_MAX_LINES)
    files = _find_files({method for (method, _), _ in largest}, tree)
    allocating_lines = []
    for (method, line), allocated in largest:
        class_and_method = ".".join(method.split(".")[-2:])
        allocating_lines.append(
            AllocatingLine(
                file=cut_label(files[method]), function=cut_label(class_and_method), line=line, bytes=allocated
            )
        )
    return tuple(allocating_lines)


def _find_files(methods: Iterable[str], tree: Path) -> dict[str, str]:
    """Return the source file of each method: the one in the tree with its class's name, in its package's folder.

    If no folder is the package's, as Kotlin allows, a file with the name of the class is enough. Of several, the first
    in the alphabet is taken, so that the answer is always the same.
    """
    places = {method: _split_method(method) for method in methods}
    classes = {class_name for _, class_name in places.values()}
    paths = [path for path in _list_files(tree) if path.suffix in _SUFFIXES and path.stem in classes]
    files = {}
    for method, (package, class_name) in places.items():
        candidates = [path for path in paths if path.stem == class_name]
        if package:
            in_package = [path for path in candidates if path.parent.parts[-len(package) :] == package]
            candidates = in_package or candidates
        files[method] = str(min(candidates).relative_to(tree)) if candidates else f"{class_name}.java"
    return files


def _split_method(method: str) -> tuple[tuple[str, ...], str]:
    """Return the package of a method, and the outermost class in which it is; both are empty without a class."""
    if "." not in method:
        return (), ""
    *package, class_name, _ = method.split(".")
    return tuple(package), class_name.partition("$")[0]


def _list_files(tree: Path) -> Iterator[Path]:
    """Yield the files of a tree outside of hidden folders, up to a number that a source tree has."""
    n_files = 0
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            yield Path(folder, name)
        n_files += len(names)
        if n_files > _MAX_FILES:
            return
