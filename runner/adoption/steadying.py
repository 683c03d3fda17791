"""Names the variables that usually make a count repeat that varies by itself. Pure."""

from collections.abc import Collection, Mapping

_ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""OpenMP and the usual libraries for linear algebra (OpenBLAS, MKL, BLIS) obey it."""
_BY_TOOL: Mapping[str, tuple[Mapping[str, str], ...]] = {
    # Its garbage collector runs at moments that depend on time; its scheduler starts threads, and each takes memory.
    "go": ({"GOGC": "off"}, {"GOGC": "off", "GOMAXPROCS": "1"}),
    "cargo": ({"RAYON_NUM_THREADS": "1"},),
}


def steadying(tools: Collection[str]) -> tuple[Mapping[str, str], ...]:
    """Return the sets of variables to try, one after the other, for a program that some tools have built."""
    return next((sets for tool, sets in _BY_TOOL.items() if tool in tools), (_ONE_THREAD,))
