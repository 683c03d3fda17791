"""The OpenAPI document of the API: APIFlask lists the operations; models and docstrings describe them."""

from __future__ import annotations

from functools import partial
from typing import Any

from apiflask import APIFlask

from service.web.api.document.operations import (
    PROBLEMS,
    TOKEN,
    complete_description,
    list_operations,
    list_problem_statuses,
    list_tags,
)
from service.web.api.document.schemas import REFERENCE, build_schemas
from service.web.problems import MEDIA_TYPE, Problem

_ABOUT = (
    "This API serves all the data that the dashboard shows and receives all the data that the runners send. By "
    "default, a service that only its own machine can reach needs no token; any other service needs one, and each "
    "operation states the scope that it requires. Errors are problem documents (RFC 9457)."
)
_PROBLEM = {
    "description": "The problem, and the field that caused it",
    "content": {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}},
}


def register(app: APIFlask) -> None:
    """Give an application its OpenAPI document."""
    app.config.update(
        AUTO_404_RESPONSE=False,
        AUTO_VALIDATION_ERROR_RESPONSE=False,
        AUTO_SERVERS=False,  # would put the request's Host header into the document
    )
    app.spec_processor(partial(_complete_document, app))


def _complete_document(app: APIFlask, spec: Any) -> Any:
    """Add schemas, descriptions and the scheme of tokens to the OpenAPI document."""
    # Build the schemas of answers and bodies; the fields of a query become parameters of its operations.
    operations = list(list_operations(app))
    answers = {operation.answer for operation in operations if operation.answer} | {Problem}
    queries = {operation.query for operation in operations if operation.query}
    schemas = build_schemas(answers, {operation.body for operation in operations if operation.body} | queries)
    schema_of_query = {model.__name__: schemas.pop(model.__name__) for model in queries}
    # Describe the whole API.
    spec["info"] |= {"description": _ABOUT, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}}
    spec["tags"] = list_tags(operations)
    spec["components"] = {
        "schemas": schemas,
        "securitySchemes": {
            TOKEN: {
                "type": "http",
                "scheme": "bearer",
                "description": "A token from `faultwatch-service token new`, or the token that a GitHub Actions job "
                "receives in exchange for its OIDC token. A service that is open to every caller ignores tokens.",
            }
        },
    }
    # Describe each operation, with the problems that it can return.
    for operation in operations:
        document = spec["paths"][operation.path][operation.method]
        complete_description(operation, document, schemas, schema_of_query)
        for status in list_problem_statuses(operation, document):
            # A description by the view itself overrides the general one.
            described_response = document["responses"].get(str(status), {})
            document["responses"][str(status)] = _PROBLEM | {"description": PROBLEMS[status]} | described_response
        document["responses"]["default"] = _PROBLEM
    return spec
