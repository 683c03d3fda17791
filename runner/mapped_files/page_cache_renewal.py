"""Renews the state of unprepared files in the page cache, and computes by how much this moves the faults in them."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from runner.contract.mapped_files import CacheState, UncertainFaults
from runner.mapped_files.cache_preparation import Preparation
from runner.mapped_files.residency import evict_pages
from runner.perf.faults_by_file import FaultsByFile
from runner.system.regular_file import open_regular


def evict_unprepared_files(preparations: Mapping[str, Preparation]) -> None:
    """Evict the evictable pages of the unprepared files from the page cache."""
    for path, preparation in preparations.items():
        if preparation.cache is CacheState.UNPREPARED:
            with suppress(OSError), open_regular(path) as file:
                evict_pages(file.fileno())


def compute_uncertain_faults(
    watched_executions: Iterable[FaultsByFile | None], preparations: Mapping[str, Preparation]
) -> UncertainFaults:
    """Return the lowest and the highest count of faults in unprepared files.

    Both are 0 if fewer than two executions were watched without a loss: then even the smallest difference counts as a
    change.

    Parameters
    ----------
    watched_executions
        The faults of the first watched execution, and of one after each eviction of the unprepared files; None for
        those that could not be watched.
    preparations
        The state of each mapped file, by path.
    """
    watched_faults = [faults for faults in watched_executions if faults is not None and not faults.lost]
    unprepared_paths = {path for path, state in preparations.items() if state.cache is CacheState.UNPREPARED}
    if not unprepared_paths or len(watched_faults) < 2:
        return UncertainFaults()
    unprepared_faults = [
        sum(file.faults for file in faults.files if file.path in unprepared_paths) for faults in watched_faults
    ]
    return UncertainFaults(lowest=min(unprepared_faults), highest=max(unprepared_faults))
