"""Waits for the service: each request for a moment, long work for a quarter of an hour."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TypeVar

from urllib3 import BaseHTTPResponse
from urllib3.util.retry import Retry

from runner.errors import ServiceUnavailable
from runner.execution.execution_log import log_step

FIRST_PAUSE_SECONDS = 0.2
RETRY_SECONDS = 900.0
"""Seconds for which long work waits while the service is away."""
MAX_WAIT_SECONDS = 5.0
"""Longest wait in seconds when the service asks for one; unsent reports wait on disk."""

Answer = TypeVar("Answer")


class _BoundedRetry(Retry):
    """Retries when the connection or the service fails for a moment; bounds the wait that a server may ask for."""

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Return the seconds that the server asks for, up to a limit; None if the header is missing or unreadable."""
        try:
            seconds = super().get_retry_after(response)
        except Exception:  # an invalid header
            return None
        return None if seconds is None else min(seconds, MAX_WAIT_SECONDS)


def make_momentary_retry() -> Retry:
    """Return the retries of every single request, which last for a moment."""
    return _BoundedRetry(
        total=4,
        read=1,  # a service that is silent for the whole timeout has more than a momentary failure
        backoff_factor=0.2,
        status_forcelist=(429, 500, 502, 503, 504),
        allowed_methods=None,
        raise_on_status=False,
    )


def retry_while_unavailable(
    request: Callable[[], Answer],
    retry_seconds: float,
    print_message: Callable[[str], None] | None = None,
    make_wait_context: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Answer:
    """Send a request; repeat it while the service is unavailable, with growing pauses, and say so once.

    Parameters
    ----------
    print_message
        Prints that the service is unavailable; None to print nothing.
    make_wait_context
        Returns the context of all pauses.

    Raises
    ------
    ServiceUnavailable
        The service is still unavailable after ``retry_seconds``.
    """
    deadline = time.monotonic() + retry_seconds
    pause = FIRST_PAUSE_SECONDS
    is_first_failure = True
    with ExitStack() as wait_contexts:
        while True:
            try:
                return request()
            except ServiceUnavailable as error:
                if time.monotonic() + pause > deadline:
                    raise
                if is_first_failure and retry_seconds:
                    wait_contexts.enter_context(make_wait_context())
                    if print_message:
                        print_message(f"{error.what}; trying again for {retry_seconds / 60:.0f} minutes")
                is_first_failure = False
                log_step("waiting %g s: %s", pause, error.what)
                time.sleep(pause)
                pause = min(2 * pause, MAX_WAIT_SECONDS)
