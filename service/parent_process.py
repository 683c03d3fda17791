"""Ends this process when its parent ends, even during the start: an embedded service must not outlive its command."""

import os
import select
import signal
import threading


def stop_with_parent(parent_pid: int) -> None:
    """Stop this process when the process ``parent_pid`` ends, or at once if it has already ended."""
    try:
        handle = os.pidfd_open(parent_pid)
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)
        return

    def stop_with_parent() -> None:
        select.select([handle], [], [])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_with_parent, daemon=True, name="parent").start()
