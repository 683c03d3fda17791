"""Limits how many requests store runs at the same time, so that threads remain for other requests and subjects.

A refused caller is told when to retry, which runners do automatically. Without a limit, a nightly run of many hosts
would take all threads, and the pages would have to wait.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from http import HTTPStatus
from multiprocessing.sharedctypes import RawValue
from typing import Any, TypeVar, cast

from flask import Flask, current_app

from service.web.problems import ProblemError

MAX_REQUESTS = 5
"""Requests that may store runs at a time in one process, which serves eight requests at a time."""
MAX_REQUESTS_PER_SUBJECT = MAX_REQUESTS - 1
RETRY_SECONDS = 2
_KEY = "faultwatch.admission"
View = TypeVar("View", bound=Callable[..., Any])
_refused_requests = RawValue("Q")
"""Requests refused by all processes of this machine, which share this memory without a lock: a few may be missed."""


class Admission:
    """The requests of a process that store runs."""

    def __init__(
        self, max_requests: int = MAX_REQUESTS, max_requests_per_subject: int = MAX_REQUESTS_PER_SUBJECT
    ) -> None:
        self._max_requests, self._max_requests_per_subject = max_requests, max_requests_per_subject
        self._lock = threading.Lock()
        self._n_requests = 0
        self._n_requests_by_subject: Counter[str] = Counter()

    @property
    def is_busy(self) -> bool:
        """Whether several requests are under way."""
        return self._n_requests > 1

    @contextmanager
    def admit_request(self) -> Iterator[None]:
        """Admit a request, before its body is read.

        Raises
        ------
        ProblemError
            503, where the process has as many such requests as it accepts.
        """
        with self._lock:
            if self._n_requests >= self._max_requests:
                raise _make_refusal("The service is receiving too many reports at once.")
            self._n_requests += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_requests -= 1

    @contextmanager
    def admit_subjects(self, names: Collection[str]) -> Iterator[None]:
        """Admit a request about some subjects.

        Raises
        ------
        ProblemError
            503, where one of the subjects has as many requests as it may have: the rest is for other subjects.
        """
        with self._lock:
            for name in names:
                if self._n_requests_by_subject[name] >= self._max_requests_per_subject:
                    raise _make_refusal(f"The service is receiving too many reports about {name} at once.")
            self._n_requests_by_subject.update(names)
        try:
            yield
        finally:
            with self._lock:
                self._n_requests_by_subject.subtract(names)
                for name in names:
                    if not self._n_requests_by_subject[name]:
                        del self._n_requests_by_subject[name]


def register(app: Flask) -> None:
    """Give an application its limits on concurrent requests with reports."""
    app.extensions[_KEY] = Admission()


def admit_requests(view: View) -> View:
    """Admit requests to a view that stores runs, before their body is read."""

    @wraps(view)
    def admit_and_call(*args: Any, **kwargs: Any) -> Any:
        with find_admission().admit_request():
            return view(*args, **kwargs)

    return cast(View, admit_and_call)


def find_admission() -> Admission:
    """Return the limits on concurrent requests with reports, of the application that serves this request."""
    return cast(Admission, current_app.extensions[_KEY])


def count_refused_requests() -> int:
    """Return how many requests this machine refused since its service started."""
    return int(_refused_requests.value)


def _make_refusal(reason: str) -> ProblemError:
    """Count a refused request, and return the problem to answer with."""
    _refused_requests.value += 1
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, f"{reason} Repeat the request in a moment.", headers=headers)
