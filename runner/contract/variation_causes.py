"""Suggests why a count varies from execution to execution, and how to make it repeat."""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

_GO = (
    "Go's garbage collector and threads move the count: in a test with a program that allocates a lot, `GOGC=off` and "
    "`GOMAXPROCS=1` together reduced its variation from 50 % to 0.1 %. "
)
_GO_HEAP = (
    "From Go 1.26 on, the heap begins at a random address: in tests, `GOEXPERIMENT=norandomizedheapbase64` in "
    "[build.environment] usually reduced a program's variation from 33 faults to 2."
)
_GO_WITHOUT_COLLECTOR = (
    "Go's garbage collector is already off. {}Work that depends on random numbers or time moves the count too "
    "(keep the seed and the number of rounds constant). "
)
_GO_THREADS = "The program's threads still move the count (less so with `GOMAXPROCS=1`). "
USUAL_CAUSES = (
    "The usual causes are threads, which allocate memory in an unpredictable order (set `OMP_NUM_THREADS=1`, "
    "`RAYON_NUM_THREADS=1`, or the program's own option for one thread); Go's garbage collector (set `GOGC=off` and "
    "`GOMAXPROCS=1`); and sizes, seeds and work that depend on random numbers or time (make them constant)."
)
_SERVER = (
    "The order of the requests and the background work of the server move the count: use one worker or thread, no "
    "background work such as snapshots, and a load with a fixed number of requests by one client that stays "
    "connected. `warm_up` leaves out the first windows, which vary most."
)
_JVM = (
    "The JVM compiles code and collects garbage in its own threads: in a test, `-XX:+UseSerialGC -Xbatch` (if a "
    "script starts it, in `JAVA_TOOL_OPTIONS`) reduced the variation of a count from 4.8 % to 0.16 %."
)
_JVM_HEAP = (
    "A heap that is touched at the start (`-Xms64m -Xmx64m -XX:+AlwaysPreTouch`) does not grow during the windows."
)
_NODE = (
    "Node compiles code and collects garbage in its own threads: in a test, `--single-threaded` in its command "
    "reduced the variation of a count from 86 % to 0.06 %."
)
_NODE_HEAP = "A limit on the young generation (`--max-semi-space-size=16`) makes Node's heap stop growing earlier."
_OTHER_CAUSES = (
    "Threads of the program (use its own option for one thread), and sizes, seeds and work that depend on random "
    "numbers or time (make them constant), move a count too."
)
"""What remains if the usual settings do not help."""
_QUOTED_SETTING = re.compile(r"`([^`]+)`")
_OTHER_BUILD_TOOLS = frozenset({"tool.meson", "tool.cargo", "tool.python3"})
_GO_VERSION = re.compile(r"\bgo(\d+)\.(\d+)")
_RANDOM_HEAP_VERSION = 1, 26
"""The first version of Go with a heap at a random address. In older versions, the unknown option breaks the build."""
_GO_TOOL, _COLLECTOR, _THREADS = "tool.go", "variable.GOGC", "variable.GOMAXPROCS"


def suggest_remedy(
    settings: Mapping[str, str | None] = MappingProxyType({}),
    *,
    is_server: bool = False,
    tried_settings: Collection[str] = (),
) -> str:
    """Return the likely reason why a count varies, and how to make it repeat.

    Parameters
    ----------
    settings
        The settings of a run, which show the build tools and the runtime of its program; empty if unknown.
    is_server
        Whether the count belongs to the windows of a server.
    tried_settings
        The assignments and the command with which the count still varies: what they contain is not suggested.
    """

    def was_tried(text: str) -> bool:
        """Return whether a setting that a text suggests was tried."""
        names = _QUOTED_SETTING.findall(text)
        return any(name in tried for name in names for tried in tried_settings)

    sentences = [_SERVER] if is_server else []
    for runtime, sentence, heap in (("java", _JVM, _JVM_HEAP), ("node", _NODE, _NODE_HEAP)):
        if _has_runtime(settings, runtime):
            sentences += [sentence, heap] if is_server else [sentence]
    if sentences:
        return " ".join(sentence for sentence in sentences if not was_tried(sentence)) or _OTHER_CAUSES
    # Meson and pip run every installed compiler, so if they build, the setting for Go does not show that Go is used.
    if _GO_TOOL not in settings or not _OTHER_BUILD_TOOLS.isdisjoint(settings):
        return _OTHER_CAUSES if was_tried(USUAL_CAUSES) else USUAL_CAUSES
    heap_text = _GO_HEAP if _has_random_heap(settings[_GO_TOOL] or "") else ""
    if settings.get(_COLLECTOR) != "off":
        return (f"{_OTHER_CAUSES} {heap_text}" if was_tried(_GO) else _GO + heap_text).rstrip()
    threads_text = "" if settings.get(_THREADS) == "1" or was_tried(_GO_THREADS) else _GO_THREADS
    return (_GO_WITHOUT_COLLECTOR.format(threads_text) + heap_text).rstrip()


def _has_runtime(settings: Mapping[str, str | None], runtime: str) -> bool:
    """Return whether the program is a runtime, or starts one, given settings that begin with the path of its file."""
    programs = (settings.get("program"), settings.get(f"program.{runtime}"))
    return any((program or "").partition(",")[0].rpartition("/")[2] == runtime for program in programs)


def _has_random_heap(go_setting: str) -> bool:
    """Return whether a version of Go randomises the heap's address; the setting is a version, or a path with one."""
    versions = _GO_VERSION.findall(go_setting)
    return bool(versions) and tuple(map(int, versions[-1])) >= _RANDOM_HEAP_VERSION
