"""Divides the processors between a server and its load generator."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def allow_processors(cpus: frozenset[int]) -> Iterator[None]:
    """Let this thread use some processors within the context; empty for those that it may use already.

    If another server is running, the thread is restricted to the processors of the load, and so would be a server that
    it starts.
    """
    previous_cpus = os.sched_getaffinity(0)
    if cpus:
        with suppress(OSError):  # The remarks of the process state report that some are missing.
            os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, previous_cpus)


def split_processors(available_cpus: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the processors of the server and those of the load generator.

    The load generator gets a quarter of all processors, and at least one. A single processor is shared.
    """
    sorted_cpus = sorted(available_cpus)
    if len(sorted_cpus) < 2:
        return available_cpus, available_cpus
    load_cpu_count = max(1, len(sorted_cpus) // 4)
    return frozenset(sorted_cpus[:-load_cpu_count]), frozenset(sorted_cpus[-load_cpu_count:])
