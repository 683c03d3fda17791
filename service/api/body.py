"""What a request's body and query have to be before a view sees them."""

from __future__ import annotations

from http import HTTPStatus

from flask import request
from pydantic import BaseModel, ConfigDict, Field
from werkzeug.exceptions import BadRequest

from service.api.problems import ProblemError

MAX_BYTES = 64 * 1024 * 1024


def require_json() -> None:
    """Refuse a body that is not JSON, or does not say so; a page of another origin cannot send one that does."""
    if request.method not in {"PUT", "POST"}:
        return
    if not request.is_json:
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the document as Content-Type: application/json.")
    try:
        request.get_json()
    except RecursionError as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, "The body is nested too deeply.") from error
    except BadRequest as error:
        raise ProblemError(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {_reason(error)}") from error


def _reason(error: BadRequest) -> str:
    """Return what the parser says, which Flask keeps to itself."""
    return str(getattr(error.__cause__, "description", "") or error.description)


class PageQuery(BaseModel):
    """Which part of a list is asked for."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, lt=2**63)
