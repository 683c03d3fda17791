"""Work that nobody waits for: done once it is quiet, by a thread of the process that was asked for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

QUIET_SECONDS = 3.0
"""Work is put off while it is asked for again within this time, or what asks for it is under way."""
LONGEST_SECONDS = 300.0
"""No longer than this."""


class Later:
    """Does a piece of work some time after it was asked for, once for all who asked meanwhile.

    Parameters
    ----------
    busy
        Whether what asks for it is under way.
    longest
        Seconds that it is put off at most; :data:`LONGEST_SECONDS` where nothing is said.
    """

    def __init__(
        self, work: Callable[[], None], busy: Callable[[], bool] = lambda: False, longest: float | None = None
    ) -> None:
        self._work, self._busy, self._longest = work, busy, longest
        self._lock = threading.Lock()
        self._asked = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def ask(self) -> None:
        """Have the work done soon."""
        self._asked.set()
        with self._lock:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, daemon=True, name="later")
                self._thread.start()

    def stop(self) -> None:
        """Do no more work; what is being done is waited for."""
        with self._lock:
            self._stopped = True
            thread = self._thread
        self._asked.set()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while self._asked.wait() and not self._stopped:
            last = time.monotonic() + (LONGEST_SECONDS if self._longest is None else self._longest)
            while (self._asked.is_set() or self._busy()) and time.monotonic() < last and not self._stopped:
                self._asked.clear()
                self._asked.wait(min(QUIET_SECONDS, last - time.monotonic()))
            self._asked.clear()
            if self._stopped:
                return
            try:
                self._work()
            except Exception:
                log.exception("work that was put off failed; it is done with the next that is asked for")
