from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient


@pytest.fixture
def document(client: FlaskClient) -> dict[str, Any]:
    """The OpenAPI document."""
    found: dict[str, Any] = client.get("/openapi.json").json
    return found


def test_every_operation_is_described(document: dict[str, Any]) -> None:
    operations = {(path, method) for path, item in document["paths"].items() for method in item}
    assert operations == {
        ("/api/v1/health", "get"),
        ("/api/v1/subjects/{subject}/revisions", "get"),
        ("/api/v1/subjects/{subject}/revisions", "put"),
        ("/api/v1/runs", "get"),
        ("/api/v1/runs", "post"),
        ("/api/v1/runs/{run_id}", "get"),
        ("/api/v1/runs/{run_id}", "put"),
        ("/api/v1/runs/{run_id}/pyperf", "get"),
        ("/api/v1/plans", "post"),
        ("/api/v1/audit", "get"),
        ("/api/v1/comparisons", "post"),
        ("/api/v1/searches", "post"),
        ("/api/v1/knob-searches", "post"),
        ("/api/v1/diagnoses", "post"),
        ("/api/v1/gates", "post"),
        ("/api/v1/gates/base", "post"),
        ("/api/v1/github/runner-tokens", "post"),
        ("/api/v1/sign-in/actions", "post"),
        ("/api/v1/nights/{name}", "get"),
        ("/api/v1/nights/{name}", "put"),
        ("/api/v1/export", "get"),
        ("/api/v1/series", "get"),
        ("/api/v1/series/{series_id}", "get"),
        ("/api/v1/drifts", "get"),
        ("/api/v1/drifts/{drift_id}", "get"),
        ("/api/v1/events", "get"),
        ("/api/v1/events/{event_id}", "get"),
        ("/api/v1/events/{event_id}/decisions", "get"),
        ("/api/v1/events/{event_id}/decisions", "post"),
        ("/api/v1/events/{event_id}/deliveries", "get"),
        ("/api/v1/profiles", "get"),
        ("/api/v1/profiles/{profile_id}", "get"),
        ("/api/v1/profiles/{profile_id}", "put"),
        ("/api/v1/profiles/{profile_id}/{kind}.{form}", "get"),
        ("/api/v1/jobs", "get"),
        ("/api/v1/jobs", "post"),
        ("/api/v1/jobs/{job_id}", "get"),
        ("/api/v1/jobs/{job_id}/log", "get"),
        *((f"/api/v1/jobs/{{job_id}}/{verb}", "post") for verb in ("claim", "progress", "search", "finish")),
        *((f"/api/v1/jobs/{{job_id}}/{verb}", "post") for verb in ("pause", "resume", "cancel")),
        ("/api/v1/silences", "get"),
        ("/api/v1/silences", "post"),
        ("/api/v1/silences/{silence_id}", "delete"),
        ("/api/v1/subjects", "get"),
        ("/api/v1/subjects/{subject}", "get"),
        ("/api/v1/subjects/{subject}", "patch"),
    }


def test_every_operation_tells_of_problems(document: dict[str, Any]) -> None:
    for item in document["paths"].values():
        for operation in item.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert _references(document) <= schemas


def test_the_document_does_not_repeat_what_the_caller_says(client: FlaskClient) -> None:
    assert "localhost" not in client.get("/openapi.json").text


def _references(part: object) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(_references, part.values()))
    return set().union(*map(_references, part)) if isinstance(part, list) else set()
