"""Answers errors of the pages: people get an error page, programs a problem document."""

from __future__ import annotations

import logging
from http import HTTPStatus

from flask import Blueprint, Flask, render_template, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException, NotFound

from service.web.database_outage import find_unavailability
from service.web.problems import ProblemError, answer_crash, answer_http_error, answer_problem
from service.web.rendering.page_formats import read_requested_format

log = logging.getLogger(__name__)

_NOT_FOUND_MESSAGE = (
    "No page has this address. The search box finds commits, cases, hosts and settings by part of their names."
)
_TITLES: dict[int, str] = {
    HTTPStatus.BAD_REQUEST: "This request is not valid",
    HTTPStatus.UNAUTHORIZED: "Sign in first",
    HTTPStatus.FORBIDDEN: "You are not allowed to do this",
    HTTPStatus.NOT_FOUND: "Page not found",
    HTTPStatus.CONFLICT: "Something changed in the meantime",
    HTTPStatus.UNPROCESSABLE_ENTITY: "A value is not valid",
    HTTPStatus.SERVICE_UNAVAILABLE: "Try again in a moment",
}
"""The heading of the error page for each HTTP status, instead of the status's own name."""
_CRASH_MESSAGE = "The service failed, or cannot read its database. See its log for details."


def make_page_blueprint(name: str, url_prefix: str | None = None) -> Blueprint:
    """Return a blueprint for a page, which answers its errors with error pages."""
    page = Blueprint(name, __name__, url_prefix=url_prefix)
    page.register_error_handler(HTTPException, _render_http_error)
    page.register_error_handler(ProblemError, _render_problem)
    page.register_error_handler(Exception, _render_crash)
    return page


def answer_unknown_addresses(app: Flask) -> None:
    """Give an application an answer to requests for addresses that have no page."""
    app.register_error_handler(404, _render_not_found)


def _render_http_error(error: HTTPException) -> ResponseReturnValue:
    """Answer an error with a page, or with a problem document for programs."""
    if _wants_document():
        return answer_http_error(error)
    description = _NOT_FOUND_MESSAGE if error.description == NotFound.description else error.description
    code = error.code or 500
    return render_template("problem.html", name=_TITLES.get(code, error.name), description=description), code


def _render_not_found(error: HTTPException) -> ResponseReturnValue:
    """Answer an unknown address with a page for people, and with a problem document for programs."""
    is_for_people = request.blueprint is not None or request.accept_mimetypes.accept_html
    return (
        _render_http_error(error)
        if is_for_people and not request.path.startswith("/api/")
        else answer_http_error(error)
    )


def _render_problem(error: ProblemError) -> ResponseReturnValue:
    """Answer a problem with a page, or with its problem document for programs."""
    if _wants_document():
        return answer_problem(error)
    page = render_template("problem.html", name=_TITLES.get(error.status, error.status.phrase), description=str(error))
    return page, error.status, dict(error.headers)


def _render_crash(error: Exception) -> ResponseReturnValue:
    """Answer an unexpected exception with a page, or with a problem document for programs, and log it."""
    if (problem := find_unavailability(error)) is not None:
        return _render_problem(problem)
    if _wants_document():
        return answer_crash(error)
    log.error("a page crashed", exc_info=error)
    return render_template("problem.html", name="This page cannot be shown", description=_CRASH_MESSAGE), 500


def _wants_document() -> bool:
    """Return whether the request prefers JSON or CSV, which means that it comes from a program."""
    return (request.endpoint or "").endswith(("_json", "_csv")) or read_requested_format() != "html"
