"""What usually makes a count vary from execution to execution, and what makes it repeat. Pure."""

from collections.abc import Collection

_GO = (
    "Go's garbage collector and threads move it: with `GOGC=off` and then `GOMAXPROCS=1` as well, a program that "
    "allocates much varied by a tenth of a percent instead of by half. "
)
_GO_HEAP = (
    "From Go 1.26 on its heap begins at a random address: with `GOEXPERIMENT=norandomizedheapbase64` in "
    "[build.environment], a program mostly varied by 2 faults instead of 33."
)
_GO_WITHOUT_COLLECTOR = (
    "Go's garbage collector is off already. {}Work that depends on chance or time moves it too (fix the seed and the "
    "number of rounds). "
)
_GO_THREADS = "Its threads still move it (`GOMAXPROCS=1` leaves less of that). "
USUAL = (
    "Threads move it, for they take memory in an order that nobody controls (`OMP_NUM_THREADS=1`, "
    "`RAYON_NUM_THREADS=1`, or the program's own option for one); the garbage collector of Go (`GOGC=off`, "
    "`GOMAXPROCS=1`); and sizes, seeds and work that depend on chance or time (fix them)."
)
_OTHER_SYSTEMS = frozenset({"tool.meson", "tool.cargo", "tool.python3"})
_GO_TOOL, _COLLECTOR, _THREADS = "tool.go", "variable.GOGC", "variable.GOMAXPROCS"


def remedy(settings: Collection[str] = ()) -> str:
    """Return what moves a count that varies, and what makes it repeat.

    Parameters
    ----------
    settings
        The names of the settings of a run, which tell what its program is built with; empty where that is unknown.
    """
    # Meson and pip look at every compiler that there is, whatever they build.
    if _GO_TOOL not in settings or not _OTHER_SYSTEMS.isdisjoint(settings):
        return USUAL
    if _COLLECTOR not in settings:
        return _GO + _GO_HEAP
    return _GO_WITHOUT_COLLECTOR.format("" if _THREADS in settings else _GO_THREADS) + _GO_HEAP
