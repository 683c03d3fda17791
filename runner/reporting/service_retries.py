"""Retries requests while the service is unavailable: briefly for a single request, for 15 minutes in long work."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TypeVar

from urllib3 import BaseHTTPResponse
from urllib3.util.retry import Retry

from runner.contract.number_text import format_duration, replace_no_break_spaces
from runner.errors import ServiceUnavailable
from runner.execution.execution_log import log_step

FIRST_PAUSE_SECONDS = 0.2
RETRY_SECONDS = 900.0
"""Seconds for which long work waits for an unavailable service."""
MAX_WAIT_SECONDS = 5.0
"""The longest wait in seconds that a service can ask for. Unsent reports wait on disk meanwhile."""

Answer = TypeVar("Answer")


class _BoundedRetry(Retry):
    """Retries when the connection or the service fails for a moment; limits the wait that a server can ask for."""

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Return the seconds that the server asks for, up to a limit; None if the header is missing or unreadable."""
        try:
            seconds = super().get_retry_after(response)
        except Exception:  # The header is invalid.
            return None
        return None if seconds is None else min(seconds, MAX_WAIT_SECONDS)


def make_momentary_retry() -> Retry:
    """Return the retry policy of a single request, for brief failures."""
    return _BoundedRetry(
        total=4,
        read=1,  # If the service is silent for the whole time-out, the failure is not brief.
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
    """Send a request; while the service is unavailable, print one message and repeat it with growing pauses.

    Parameters
    ----------
    print_message
        Prints that the service is unavailable; None to print nothing.
    make_wait_context
        Returns a context manager, in whose context all pauses are spent.

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
                        duration = replace_no_break_spaces(format_duration(retry_seconds))
                        print_message(f"{error.what}; trying again for {duration}")
                is_first_failure = False
                log_step("waiting %g s: %s", pause, error.what)
                time.sleep(pause)
                pause = min(2 * pause, MAX_WAIT_SECONDS)
