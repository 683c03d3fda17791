"""The metric ``rwsem-waits``: how often threads of a server wait for reader-writer semaphores, such as the mmap lock.

A filter selects them from the waits for all locks of the kernel. The metric is missing before Linux 5.19, without
access to tracepoints, and if the workload asks for the waits for all locks.
"""

from collections.abc import Collection, Mapping

from runner.contract.report import Reading
from runner.perf.counted_events import LOCK_WAIT_EVENT
from runner.perf.event_support import split_known_events

_METRIC = "rwsem-waits"
_RWSEM_FILTER = "flags == 2 || flags == 4"
"""Selects the waits for reader-writer semaphores, in which a thread sleeps until it may read (2) or write (4)."""


def choose_lock_wait_filters(counted_events: Collection[str]) -> dict[str, str]:
    """Return the event that counts the metric with its filter; empty if it cannot be counted.

    Parameters
    ----------
    counted_events
        The events of the workload. perf prints the same name for an event with and without a filter, so the metric
        is not counted if the workload counts the waits for all locks.

    Raises
    ------
    FaultwatchError
        perf is not installed.
    """
    if LOCK_WAIT_EVENT in counted_events:
        return {}
    known_events, _ = split_known_events([LOCK_WAIT_EVENT])
    return dict.fromkeys(known_events, _RWSEM_FILTER)


def rename_lock_waits(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return readings in which the filtered waits are named after the metric; left out if they were not counted."""
    waits = readings[LOCK_WAIT_EVENT]
    others = {name: reading for name, reading in readings.items() if name != LOCK_WAIT_EVENT}
    return others if waits.value is None else {**others, _METRIC: waits}
