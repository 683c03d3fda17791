"""Checks the body and the query of a request before a view sees them."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from apiflask.schema_adapters import registry
from apiflask.schema_adapters.pydantic import PydanticAdapter
from flask import Request, request
from flask.json.provider import DefaultJSONProvider
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from werkzeug.sansio.response import Response

from service.web.problems import FieldError, ProblemError
from service.web.row_ids import MAX_ROW_ID

Reader = Callable[[bytes], Any]

_READERS: dict[type[BaseModel], Reader] = {}

MAX_BYTES = 64 * 1024 * 1024
_MAX_ERRORS_IN_DETAIL = 5
"""Wrong fields that the sentence of a problem names; the list of the problem has all of them."""


def require_json() -> None:
    """Refuse a body whose content type is not JSON: a form on a page of another origin cannot send JSON."""
    if request.method in {"PUT", "POST"} and not request.is_json:
        raise ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the document as Content-Type: application/json.")


class _JsonAdapter(PydanticAdapter):
    """Parses and validates a body in one step, which is where a batch of runs spends most of its time."""

    def validate_input(self, request: Request, location: str, **kwargs: Any) -> Any:
        """Validate a JSON body with the reader that is registered for its model; let APIFlask validate the rest."""
        if location != "json":
            return super().validate_input(request, location, **kwargs)
        read_body: Reader = _READERS.get(self.model_class, self.model_class.model_validate_json)
        try:
            return read_body(request.get_data(cache=False))
        except ValidationError as error:
            raise _make_problem(error) from error

    def serialize_output(self, data: Any, many: bool = False) -> Any:
        """Return the data unchanged: :class:`JsonProvider` writes models."""
        return data if isinstance(data, BaseModel) else super().serialize_output(data, many)


class JsonProvider(DefaultJSONProvider):
    """Writes a model as JSON directly; by way of a dict, the points of a chart would take three times as long."""

    sort_keys = False

    def response(self, *args: Any, **kwargs: Any) -> Response:
        """Return a response with a model, or with anything that Flask itself can write."""
        if len(args) == 1 and isinstance(args[0], BaseModel):
            return self._app.response_class(args[0].model_dump_json(by_alias=True), mimetype=self.mimetype)
        return super().response(*args, **kwargs)


def register_reader(model: type[BaseModel], reader: Reader) -> None:
    """Make a function the reader of all JSON bodies of a model."""
    _READERS[model] = reader


registry.register("pydantic", _JsonAdapter)


def _make_problem(error: ValidationError) -> ProblemError:
    """Return the answer to a body that is not valid: which fields are wrong, and why."""
    problems = error.errors(include_url=False, include_input=False, include_context=True)
    if problems[0]["type"] == "json_invalid":
        reason = str(problems[0]["ctx"]["error"])
        if "recursion" in reason:
            return ProblemError(HTTPStatus.BAD_REQUEST, "The body is nested too deeply.")
        return ProblemError(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {reason}")
    errors = [FieldError(field=".".join(map(str, entry["loc"])), detail=entry["msg"]) for entry in problems]
    detail = "; ".join(f"{entry.field or 'document'}: {entry.detail}" for entry in errors[:_MAX_ERRORS_IN_DETAIL])
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, detail, errors)


class PageQuery(BaseModel):
    """The requested part of a list."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, lt=MAX_ROW_ID + 1)
