"""Errors as problem documents (RFC 9457): fields for programs, and a sentence that tells people what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

from apiflask import APIFlask, HTTPError
from flask import Response, jsonify, request
from pydantic import BaseModel
from werkzeug.exceptions import HTTPException

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
_MAX_ERRORS_IN_DETAIL = 5
"""Wrong fields that the sentence of a problem names; the list of the problem has all of them."""


class FieldError(BaseModel):
    """The error of one field."""

    field: str
    """Path to the field, for example ``samples.0.readings``."""
    detail: str
    """Why its value is refused."""


class Problem(BaseModel):
    """A problem document. Its type is always ``about:blank``: the status says what kind of problem it is."""

    type: str = "about:blank"
    """The kind of problem: always ``about:blank``."""
    title: str
    """The name of the status."""
    status: int
    """The HTTP status of the answer."""
    detail: str
    """What happened and what to do, in a sentence."""
    errors: list[FieldError] = []
    """The fields of the request that are wrong."""


class ProblemError(Exception):
    """Ends a request with a problem document."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        errors: list[FieldError] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.errors = errors or []
        self.headers = headers or {}


def make_not_found(what: str) -> ProblemError:
    """Return the problem for something that does not exist (404)."""
    return ProblemError(HTTPStatus.NOT_FOUND, f"There is no {what}.")


def make_field_problem(field: str, detail: str) -> ProblemError:
    """Return the problem for a field of the request that has a wrong value (422)."""
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{field}: {detail}", [FieldError(field=field, detail=detail)])


def register(app: APIFlask) -> None:
    """Answer every error of an application with a problem document."""
    app.register_error_handler(ProblemError, answer_problem)
    app.register_error_handler(HTTPError, _answer_invalid_request)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, answer_crash)


def build_response(status: int, detail: str, errors: list[FieldError] | None = None) -> Response:
    """Return a problem document as a response."""
    title = HTTPStatus(status).phrase
    response = jsonify(Problem(title=title, status=status, detail=detail, errors=errors or []).model_dump())
    response.status_code = status
    response.mimetype = MEDIA_TYPE
    return response


def answer_problem(error: ProblemError) -> Response:
    """Answer a problem with its document."""
    response = build_response(error.status, str(error), error.errors)
    response.headers.update(error.headers)
    return response


def _answer_invalid_request(error: HTTPError) -> Response:
    """Answer the error of a body or a query that does not match its model."""
    # APIFlask's detail maps each part of the request to its fields and their messages; "_schema" is the whole part.
    problems = error.detail if isinstance(error.detail, dict) else {}
    errors = [
        FieldError(field="" if field == "_schema" else field, detail=message)
        for fields in problems.values()
        for field, messages in fields.items()
        for message in messages
    ]
    detail = "; ".join(f"{entry.field or 'document'}: {entry.detail}" for entry in errors[:_MAX_ERRORS_IN_DETAIL])
    return build_response(error.status_code, detail or error.message or "", errors)


def answer_http_error(error: HTTPException) -> Response:
    """Answer an error of the web framework, such as an unknown address, a wrong method or a body that is too large."""
    detail = error.description or error.name
    if error.code == HTTPStatus.NOT_FOUND and request.path.startswith("/api/"):
        detail = f"There is nothing at {request.path}. /openapi.json lists all addresses; the ids of runs are UUIDs."
    response = build_response(error.code or 500, detail)
    for name, value in error.get_headers():
        if name.lower() not in {"content-type", "content-length"}:
            response.headers[name] = value
    return response


def answer_crash(error: Exception) -> Response:
    """Answer an error that nobody expected, and log it."""
    log.error("a request crashed", exc_info=error)
    return build_response(500, "The service failed; see its log for details.")
