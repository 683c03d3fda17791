"""Ends this process with the one that started it, even while it starts: an embedded service outlives no command."""

import os
import select
import signal
import threading


def stop_with_parent(parent_pid: int) -> None:
    """Stop this process when another one ends, or at once if that one has ended."""
    try:
        handle = os.pidfd_open(parent_pid)
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)
        return

    def wait() -> None:
        select.select([handle], [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True, name="parent").start()
