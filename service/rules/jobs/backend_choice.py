"""Chooses the backend that starts a job."""

from __future__ import annotations

from collections.abc import Mapping

from runner.contract.job import Backend

PREFERRED_BACKENDS = (Backend.GITHUB, Backend.LOCAL)
"""Backends that start jobs, in order of preference. If none of them can start a job, the caller runs it."""


class BackendRefusedError(ValueError):
    """The backend that an order names cannot start the job; the message says why."""


def choose_backend(requested_backend: Backend | None, objections: Mapping[Backend, str]) -> Backend:
    """Return the backend that an order names; if none, the first preferred one without an objection, or the caller.

    Parameters
    ----------
    objections
        For each backend of this service, why it cannot start the job; empty if it can. Other backends cannot.

    Raises
    ------
    BackendRefusedError
        If the order names a backend that cannot start the job.
    """
    if requested_backend is None:
        return next((backend for backend in PREFERRED_BACKENDS if objections.get(backend) == ""), Backend.CALLER)
    objection = objections.get(requested_backend, f"this service does not start jobs through {requested_backend}")
    if requested_backend is not Backend.CALLER and objection:
        raise BackendRefusedError(objection)
    return requested_backend
