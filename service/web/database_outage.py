"""Answers errors of the database: with 503 and ``Retry-After`` while it is temporarily unavailable."""

from __future__ import annotations

import logging
from http import HTTPStatus

from apiflask import APIFlask
from flask import Response
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from service.store.engine.error_codes import is_unreachable
from service.web.problems import ProblemError, answer_crash, answer_problem, build_response

log = logging.getLogger(__name__)

_RETRY_SECONDS = 5
"""After which a client should try again if the database is not available."""


def register(app: APIFlask) -> None:
    """Let an application answer errors of its database with problem documents."""
    app.register_error_handler(SQLAlchemyError, _answer_database_error)


def find_unavailability(error: Exception) -> ProblemError | None:
    """Log an error that means that the database is temporarily unavailable; return its problem, None for others."""
    if isinstance(error, PoolTimeoutError):
        reason = "has no free connection"
    elif is_unreachable(error):
        reason = "does not answer"
    elif isinstance(error, OperationalError) and "locked" in str(error.orig):
        reason = "is locked by another program"
    else:
        return None
    log.error("the database %s: %s", reason, getattr(error, "orig", error))
    headers = {"Retry-After": str(_RETRY_SECONDS)}
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE, f"The database {reason}. Try again in a moment.", headers=headers
    )


def _answer_database_error(error: SQLAlchemyError) -> Response:
    """Answer an error of the database: with 503 if it is temporary, otherwise with 500."""
    if (problem := find_unavailability(error)) is not None:
        return answer_problem(problem)
    if not isinstance(error, OperationalError):
        return answer_crash(error)
    log.error("the database refused: %s", error.orig)
    return build_response(500, "The database cannot be used; see the service's log for the reason.")
