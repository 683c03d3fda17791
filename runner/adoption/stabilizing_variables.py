"""The environment variables that may make the count of a program repeat, by the tool that built it."""

from collections.abc import Collection, Mapping

_ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""A variable that OpenMP and the usual libraries for linear algebra (OpenBLAS, MKL, BLIS) obey."""
VARIABLES_BY_TOOL: Mapping[str, tuple[Mapping[str, str], ...]] = {
    # Go's garbage collector starts at times that vary; its scheduler starts a varying number of threads, and each takes
    # memory. With a fixed seed, the usual generator of random numbers, of which many benchmarks make keys, gives the
    # same numbers each time.
    "go": (
        {"GOGC": "off"},
        {"GOGC": "off", "GOMAXPROCS": "1"},
        {"GOGC": "off", "GOMAXPROCS": "1", "GODEBUG": "randautoseed=0"},
    ),
    "cargo": ({"RAYON_NUM_THREADS": "1"},),
    # A single-threaded garbage collector, and compilation in the foreground: execution waits for it. The optimizing
    # compiler takes much memory, at times that depend on its profile, so the next set leaves it out.
    "java": (
        {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -Xbatch"},
        {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -Xbatch -XX:TieredStopAtLevel=1"},
    ),
}


def list_stabilizing_variables(tools: Collection[str]) -> tuple[Mapping[str, str], ...]:
    """Return the sets of environment variables to try one after the other, given the tools that built the program."""
    return next((sets for tool, sets in VARIABLES_BY_TOOL.items() if tool in tools), (_ONE_THREAD,))
