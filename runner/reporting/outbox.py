"""Hands reports and profiles over to the service, now or when it is back: measuring does not wait for it."""

import time
from collections.abc import Callable

from runner.errors import FaultwatchError
from runner.reporting.spool import Spool, SpooledDocument

FIRST_PAUSE = 10.0
LONGEST_PAUSE = 300.0
"""Seconds in which a service that failed is left alone; each failure doubles them, up to the longest."""


class Outbox:
    """A spool, and the service that its documents are for.

    Attributes
    ----------
    error
        Why the last documents could not be sent; None where they were.
    """

    def __init__(
        self, spool: Spool, send: Callable[[SpooledDocument], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.spool = spool
        self.error: FaultwatchError | None = None
        self._send = send
        self._clock = clock
        self._pause = 0.0
        self._not_before = float("-inf")

    def post(self, *documents: SpooledDocument) -> None:
        """Keep reports or profiles on disk, then try to send what waits there.

        Those that belong together are kept before the first is sent: a process that is ended meanwhile loses none.

        Raises
        ------
        FaultwatchError
            Where it can neither be kept nor be sent.
        """
        for document in documents:
            try:
                self.spool.add(document)
            except FaultwatchError as no_room:
                try:
                    self._send(document)
                except FaultwatchError:
                    raise no_room from None
        self.deliver()

    def deliver(self, *, at_once: bool = False) -> None:
        """Send what waits. A service that failed a moment ago is not asked again yet, unless it has to be at once."""
        if not at_once and self._clock() < self._not_before:
            return
        try:
            self.spool.flush(self._send)
        except FaultwatchError as error:
            self.error = error
            self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
            self._not_before = self._clock() + self._pause
        else:
            self.error = None
            self._pause = 0.0
