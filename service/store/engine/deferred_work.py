"""Deferred work: done by a background thread once no more requests for it arrive."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

QUIET_SECONDS = 3.0
"""Work starts once it has not been requested, and its requesters have not been busy, for this many seconds."""
MAX_SECONDS = 300.0
"""The longest delay of work, in seconds."""


class DeferredWork:
    """Does a piece of work some time after it was requested, once for all requests until then (debounced).

    Parameters
    ----------
    work
        Does the work, in the background thread.
    is_busy
        Returns whether an operation that requests the work is running.
    longest_delay
        Longest delay in seconds; :data:`MAX_SECONDS` by default.
    """

    def __init__(
        self, work: Callable[[], None], is_busy: Callable[[], bool] = lambda: False, longest_delay: float | None = None
    ) -> None:
        self._work, self._is_busy, self._longest_delay = work, is_busy, longest_delay
        self._lock = threading.Lock()
        self._is_requested = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_stopped = False

    def request(self) -> None:
        """Request the work; return at once."""
        self._is_requested.set()
        with self._lock:
            if self._thread is None and not self._is_stopped:
                self._thread = threading.Thread(target=self._run_requests, daemon=True, name="deferred")
                self._thread.start()

    def stop(self) -> None:
        """Stop accepting work, and wait for the current work."""
        with self._lock:
            self._is_stopped = True
            thread = self._thread
        self._is_requested.set()
        if thread is not None:
            thread.join()

    def _run_requests(self) -> None:
        """Do the work after each request, once no more requests arrive or the longest delay is over.

        If the work fails, the error is logged, and the work is done again after the next request.
        """
        while self._is_requested.wait() and not self._is_stopped:
            # Wait for a pause in the requests.
            deadline = time.monotonic() + (MAX_SECONDS if self._longest_delay is None else self._longest_delay)
            while (
                (self._is_requested.is_set() or self._is_busy())
                and time.monotonic() < deadline
                and not self._is_stopped
            ):
                self._is_requested.clear()
                self._is_requested.wait(min(QUIET_SECONDS, deadline - time.monotonic()))
            self._is_requested.clear()
            if self._is_stopped:
                return
            try:
                self._work()
            except Exception:
                log.exception("deferred work failed; the next request runs it again")
