"""Lets a request wait until the runs that it asks about are judged; large numbers are judged in the background.

In each process, one request judges and another waits, which then finds most of its work done. Further requests are told
to retry later, so that threads remain for requests that store runs, and for pages.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from http import HTTPStatus

from service.pipeline import judging_schedule
from service.store.series.series import SeriesFilter
from service.web.app_resources import get_database
from service.web.problems import ProblemError

MAX_REQUESTS = 2
"""Requests of a process that may judge or wait at a time. A process serves eight requests at a time."""
_MAX_WAIT_SECONDS = 10.0
"""The longest time for which a request judges or waits. After it, the client has to ask again."""
_RETRY_SECONDS = 1
_request_slots = threading.BoundedSemaphore(MAX_REQUESTS)
_judging_lock = threading.Lock()


def judge_series_or_refuse(*filters: SeriesFilter) -> None:
    """Judge all series that at least one filter selects and that are not judged yet.

    Raises
    ------
    ProblemError
        503, if this takes longer than a request may wait, or if too many requests of this process are already judging
        or waiting.
    """
    if judging_schedule.are_all_judged(get_database(), filters):
        return
    if not _request_slots.acquire(blocking=False):
        raise _make_refusal()
    try:
        are_judged = _judge_series_in_turn(filters)
    finally:
        _request_slots.release()
    if not are_judged:
        raise _make_refusal()


def _judge_series_in_turn(filters: Collection[SeriesFilter]) -> bool:
    """Judge stale series, one request at a time; return whether all were judged in time."""
    deadline = time.monotonic() + _MAX_WAIT_SECONDS
    if not _judging_lock.acquire(timeout=_MAX_WAIT_SECONDS):
        return False
    try:
        return judging_schedule.judge_stale_series(get_database(), filters, deadline - time.monotonic())
    finally:
        _judging_lock.release()


def _make_refusal() -> ProblemError:
    detail = "Many new runs are being judged. Try again in a moment."
    return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": str(_RETRY_SECONDS)})
