"""Stops the builds of a command while another command measures on this host, so that only the measurement runs."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from runner.host.host_lock import find_holder
from runner.system.descendants import list_children
from runner.system.pause_processes import Clock, pause_descendants

_POLL_SECONDS = 0.1
"""Seconds between two checks of whether another command measures, while this command builds."""


@contextmanager
def stop_builds_while_others_measure(
    lock: Path, builders: Collection[int] = (), clock: Clock | None = None
) -> Iterator[None]:
    """Stop processes that are started in the context, and their descendants, while others measure.

    Parameters
    ----------
    lock
        The lock of the host, which a command that measures holds.
    builders
        Processes that were started earlier, and whose descendants are to be stopped as well.
    clock
        A clock that is stopped while these processes are stopped.
    """
    context_has_ended = Event()
    other_children = list_children(os.getpid()) - set(builders)
    stopping_thread = Thread(
        target=_stop_while_others_measure, args=(lock, context_has_ended, other_children, clock), daemon=True
    )
    stopping_thread.start()
    try:
        yield
    finally:
        context_has_ended.set()
        stopping_thread.join()


def _stop_while_others_measure(
    lock: Path, context_has_ended: Event, other_children: Collection[int], clock: Clock | None
) -> None:
    """Stop this process's children and their descendants while others measure, except ``other_children``."""
    while not context_has_ended.wait(_POLL_SECONDS):
        if find_holder(lock):
            with pause_descendants(list_children(os.getpid()) - set(other_children), clock):
                while find_holder(lock) and not context_has_ended.wait(_POLL_SECONDS):
                    pass
