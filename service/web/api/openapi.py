"""The parts of the OpenAPI document that APIFlask cannot derive from the views."""

from __future__ import annotations

from typing import Any

from apiflask import APIFlask

from service.web.problems import MEDIA_TYPE, Problem

_REFERENCE = "#/components/schemas/{model}"


def register(app: APIFlask) -> None:
    """Describe every error of every operation as a problem document."""
    app.config.update(
        AUTO_404_RESPONSE=False,
        AUTO_VALIDATION_ERROR_RESPONSE=False,
        AUTO_SERVERS=False,  # would put the request's Host header into the document
    )
    app.spec_processor(_with_problems)


def _with_problems(spec: Any) -> Any:
    schema = Problem.model_json_schema(ref_template=_REFERENCE)
    spec["components"]["schemas"] |= {**schema.pop("$defs"), "Problem": schema}
    problem = {
        "description": "What went wrong, and with which field",
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model="Problem")}}},
    }
    for path in spec["paths"].values():
        for operation in path.values():
            operation["responses"]["default"] = problem
    return spec
