"""The operations of the OpenAPI document: ids, parameters, bodies, and the scope that each needs."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Flask
from pydantic import BaseModel

from runner.contract.docstrings import join_lines
from service.rules.access.scope import find_needed_scope
from service.web.api.document.examples import EXAMPLES
from service.web.api.document.schemas import REFERENCE

TOKEN = "token"  # noqa: S105 - the name of the security scheme
_IDS: Mapping[str, str] = {
    "actions.sign_in": "sign_in_job",
    "audit.index": "list_audit_entries",
    "comparisons.post": "compare",
    "diagnoses.post": "diagnose",
    "drifts.get": "get_drift",
    "drifts.index": "list_drifts",
    "events.decide": "decide_event",
    "events.delivered": "list_deliveries",
    "events.get": "get_event",
    "events.index": "list_events",
    "events.log": "list_decisions",
    "events.triage": "triage_events",
    "export.get": "export",
    "gates.base": "get_gate_base",
    "gates.post": "judge_gate",
    "health.show": "get_health",
    "jobs.cancel": "cancel_job",
    "jobs.claim": "claim_job",
    "jobs.finish": "finish_job",
    "jobs.get": "get_job",
    "jobs.index": "list_jobs",
    "jobs.log": "get_job_log",
    "jobs.order": "order_job",
    "jobs.pause": "pause_job",
    "jobs.progress": "report_job_progress",
    "jobs.resume": "resume_job",
    "nightly_runs.get": "get_nightly_run",
    "nightly_runs.put": "store_nightly_run",
    "plans.post": "plan_runs",
    "proofs.index": "list_nominations",
    "proofs.post": "prove",
    "profiles.download": "download_stacks",
    "profiles.get": "get_profile",
    "profiles.index": "list_profiles",
    "profiles.put": "store_profile",
    "revisions.index": "list_revisions",
    "revisions.put": "store_revisions",
    "runner_tokens.post": "request_runner_token",
    "runs.get": "get_run",
    "runs.index": "list_runs",
    "runs.post": "store_runs",
    "runs.put": "store_run",
    "runs.pyperf": "download_pyperf_suite",
    "searches.post": "search_commits",
    "searches.post_settings": "search_settings",
    "series.get": "get_series",
    "series.index": "list_series",
    "settings_lab.get": "get_settings_lab",
    "silences.add": "silence_series",
    "silences.end": "end_silence",
    "silences.get": "get_silence",
    "silences.index": "list_silences",
    "subjects.change": "change_subject",
    "subjects.get": "get_subject",
    "subjects.index": "list_subjects",
}
"""The operation id of each endpoint, which generated clients use as the name of the function. An id never changes."""
_CREATING_IDS = {"order_job", "silence_series"}
"""Operations that answer with a ``Location`` header, because the service chooses the address of the new resource. A
``PUT`` stores its resource at the address of the request; a decision is an entry of a log, which has no address."""
_LOCATION = {
    "description": "The address of the new resource.",
    "schema": {"type": "string", "format": "uri-reference"},
}
_PATH_PARAMETERS = {
    "drift_id": "The id of the drift.",
    "event_id": "The id of the event.",
    "form": "The format of the download.",
    "job_id": "The id of the job.",
    "kind": "The kind of the stacks: `faults`, `on-cpu`, `off-cpu`, `requested` or `returned`.",
    "name": "The name of the nightly run.",
    "profile_id": "The id of the profile.",
    "run_id": "The id of the run.",
    "series_id": "The id of the series.",
    "silence_id": "The id of the silence.",
    "subject": "The repository under test, by name.",
}

PROBLEMS: Mapping[int, str] = {
    401: "No token, or one that is unknown, expired or revoked",
    403: "The token lacks the required scope, or does not cover this subject, host or repository",
    404: "There is nothing with this id or name",
    409: "The request conflicts with stored data",
    413: "The body is too large",
    422: "At least one field has a wrong value; `errors` lists them",
    429: "Too many wrong tokens: Retry-After says when to try again",
    503: "The service is busy, or its database is not available: Retry-After says when to try again",
}
"""The meaning of each status of a problem."""
_CONFLICTING_ENDPOINTS = {"events.decide", "profiles.put", "runs.put"}
"""Endpoints whose requests can conflict with stored data (409), in addition to the steps of a job."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its endpoint, and the models of its query, body and answer, each None if it has none.

    Attributes
    ----------
    uuids
        The names of those path parameters that are UUIDs.
    """

    path: str
    method: str
    endpoint: str
    view: Callable[..., Any]
    query: type[BaseModel] | None
    body: type[BaseModel] | None
    answer: type[BaseModel] | None
    uuids: frozenset[str]

    @property
    def noun(self) -> str:
        """The name of the blueprint, which becomes the tag of the operation."""
        return self.endpoint.split(".")[1]


def list_operations(app: Flask, prefix: str = "api.") -> Iterator[Operation]:
    """Return every operation of the API of an application."""
    for rule in app.url_map.iter_rules():
        if not rule.endpoint.startswith(prefix):
            continue
        view = app.view_functions[rule.endpoint]
        models = getattr(view, "_spec", {})  # where APIFlask's decorators store the models of a view
        query = next((model for model, location in models.get("args", ()) if location == "query"), None)
        path = re.sub(r"<(?:[^<>]*:)?(\w+)>", r"{\1}", rule.rule)  # <uuid:run_id> becomes {run_id}
        answer = models.get("response", {}).get("schema")
        uuids = frozenset(re.findall(r"<uuid:(\w+)>", rule.rule))
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield Operation(
                path=path,
                method=method.lower(),
                endpoint=rule.endpoint,
                view=view,
                query=query,
                body=models.get("body"),
                answer=answer,
                uuids=uuids,
            )


def list_problem_statuses(operation: Operation, document: Mapping[str, Any]) -> Iterator[int]:
    """Yield the statuses of the problems that an operation can answer with.

    Parameters
    ----------
    document
        The description of the operation in the OpenAPI document.
    """
    if document["security"]:
        yield from (401, 403, 429)
    if "{" in operation.path:
        yield 404
    if operation.endpoint.removeprefix("api.") in _CONFLICTING_ENDPOINTS or (
        "{job_id}" in operation.path and operation.method == "post"
    ):
        yield 409
    if operation.body is not None:
        yield 413
    if operation.body is not None or operation.query is not None:
        yield 422
    yield 503


def complete_description(
    operation: Operation, document: dict[str, Any], schemas: Mapping[str, Any], queries: Any
) -> None:
    """Complete the description of an operation that APIFlask has generated.

    Parameters
    ----------
    document
        The description, which is changed in place.
    schemas
        The schemas of the models of bodies and answers, by name.
    queries
        The schemas of the models of queries, by name.
    """
    scope = find_needed_scope(operation.endpoint, operation.method.upper())
    document["operationId"] = _IDS[operation.endpoint.removeprefix("api.")]
    document["tags"] = [operation.noun]
    # APIFlask makes the summary from the first paragraph of a docstring.
    text = inspect.cleandoc(operation.view.__doc__ or "").partition("\n\n")[2]
    scope_sentence = f"Needs the scope `{scope}`." if scope else "Needs no token."
    document["description"] = f"{join_lines(text)} {scope_sentence}".strip()
    document["security"] = [{TOKEN: []}] if scope else []
    path_parameters = [entry for entry in document.get("parameters", ()) if entry["in"] == "path"]
    for parameter in path_parameters:
        parameter["description"] = _PATH_PARAMETERS[parameter["name"]]
        if parameter["name"] in operation.uuids:
            parameter["schema"]["format"] = "uuid"
    document["parameters"] = [*path_parameters, *_list_query_parameters(operation.query, queries)]
    example = EXAMPLES.get(document["operationId"])
    if operation.body is not None:
        content: dict[str, Any] = {"schema": _build_reference(operation.body, schemas)}
        if example is not None:
            content["example"] = example
        document["requestBody"] = {"required": True, "content": {"application/json": content}}
    if document["operationId"] in _CREATING_IDS:
        document["responses"]["201"]["headers"] = {"Location": _LOCATION}
    if operation.answer is not None:
        for status, response in document["responses"].items():
            if status.startswith("2"):
                response["content"] = {"application/json": {"schema": _build_reference(operation.answer, schemas)}}


def list_tags(operations: list[Operation]) -> list[dict[str, str]]:
    """Return the tags: the nouns, described by the modules of their views."""
    modules = {operation.noun: sys.modules[operation.view.__module__].__doc__ or "" for operation in operations}
    return [{"name": noun, "description": join_lines(text)} for noun, text in sorted(modules.items())]


def _list_query_parameters(model: type[BaseModel] | None, queries: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of a query as OpenAPI describes them."""
    if model is None:
        return
    schema = queries[model.__name__]
    for name, field in schema.get("properties", {}).items():
        kind = dict(field)
        text = kind.pop("description", "")
        # In the model, an optional parameter may be None; in a query, it is left out, and never null.
        choices = [choice for choice in kind.pop("anyOf", ()) if choice != {"type": "null"}]
        if choices:
            kind |= choices[0] if len(choices) == 1 else {"anyOf": choices}
        if "default" in kind and kind["default"] is None:
            del kind["default"]
        is_required = name in schema.get("required", ())
        yield {"name": name, "in": "query", "required": is_required, "description": text, "schema": kind}


def _build_reference(model: type[BaseModel], schemas: Mapping[str, Any]) -> dict[str, str]:
    if model.__name__ not in schemas:
        raise LookupError(f"the document has no schema {model.__name__}")
    return {"$ref": REFERENCE.format(model=model.__name__)}
