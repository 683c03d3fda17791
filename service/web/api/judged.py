"""Lets a request wait until the runs that it asks about are judged: many at once are judged in the background."""

from __future__ import annotations

from http import HTTPStatus

from service.pipeline import detect_drifts
from service.store.series import SeriesFilter
from service.web.current import database
from service.web.problems import ProblemError

_SECONDS = 10.0
"""For how long a request judges, at most: then others have this thread, and the client asks again."""
_RETRY_SECONDS = 1


def settle(*wanted: SeriesFilter) -> None:
    """Judge the series that some filter selects and that are not judged yet.

    Raises
    ------
    ProblemError
        503, where that takes longer than a request may.
    """
    if not detect_drifts.settle(database(), wanted, _SECONDS):
        detail = "Many runs have arrived, and are being judged."
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": str(_RETRY_SECONDS)})
