"""The environment variables with which the count of a program may repeat, by the tool that built it."""

from collections.abc import Collection, Mapping

_ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""OpenMP and the usual libraries for linear algebra (OpenBLAS, MKL, BLIS) obey it."""
VARIABLES_BY_TOOL: Mapping[str, tuple[Mapping[str, str], ...]] = {
    # Its garbage collector runs at moments that depend on time; its scheduler starts threads, and each takes memory.
    "go": ({"GOGC": "off"}, {"GOGC": "off", "GOMAXPROCS": "1"}),
    "cargo": ({"RAYON_NUM_THREADS": "1"},),
    # One collector without threads, and no code is executed while it is compiled.
    "java": ({"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -Xbatch"},),
}


def list_stabilizing_variables(tools: Collection[str]) -> tuple[Mapping[str, str], ...]:
    """Return the sets of environment variables to try one after the other, given the tools that built the program."""
    return next((sets for tool, sets in VARIABLES_BY_TOOL.items() if tool in tools), (_ONE_THREAD,))
