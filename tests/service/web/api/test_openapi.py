from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from openapi_spec_validator import validate

from runner.contract import Report, RevisionList
from runner.contract.job import JobOrder
from service.schemas.triage import DecisionRequest, SilenceRequest, TriageRequest
from service.web.api.document.examples import EXAMPLES
from service.web.api.document.field_descriptions import FIELD_DESCRIPTIONS
from tests.service.web.application import application


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The OpenAPI document, as it is served."""
    with application(tmp_path_factory.mktemp("service")) as app:
        return app.test_client().get("/openapi.json").text


@pytest.fixture
def document(text: str) -> dict[str, Any]:
    """The OpenAPI document."""
    found: dict[str, Any] = json.loads(text)
    return found


def list_field_descriptions(document: dict[str, Any]) -> set[str]:
    """Return the descriptions of all fields and parameters."""
    schemas = document["components"]["schemas"].values()
    fields = [field for schema in schemas for field in schema.get("properties", {}).values()]
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    parameters = [parameter for operation in operations for parameter in operation.get("parameters", ())]
    return {described.get("description", "") for described in (*fields, *parameters)}


def test_a_missing_value_has_its_name_in_json(document: dict[str, Any]) -> None:
    descriptions = list_field_descriptions(document)
    assert any("null if" in text for text in descriptions)
    assert not {text for text in descriptions if re.search(r"\bNone\b", text)}


def test_every_shared_description_is_that_of_a_field(document: dict[str, Any]) -> None:
    assert set(FIELD_DESCRIPTIONS.values()) <= list_field_descriptions(document)


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
        ("/api/v1/nominations", "get"),
        ("/api/v1/proofs", "post"),
        ("/api/v1/searches", "post"),
        ("/api/v1/setting-searches", "post"),
        ("/api/v1/diagnoses", "post"),
        ("/api/v1/gates", "post"),
        ("/api/v1/gates/base", "post"),
        ("/api/v1/github/runner-tokens", "post"),
        ("/api/v1/sign-in/actions", "post"),
        ("/api/v1/nightly-runs/{name}", "get"),
        ("/api/v1/nightly-runs/{name}", "put"),
        ("/api/v1/export", "get"),
        ("/api/v1/series", "get"),
        ("/api/v1/series/{series_id}", "get"),
        ("/api/v1/drifts", "get"),
        ("/api/v1/drifts/{drift_id}", "get"),
        ("/api/v1/events", "get"),
        ("/api/v1/events/{event_id}", "get"),
        ("/api/v1/events/triage", "post"),
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
        *((f"/api/v1/jobs/{{job_id}}/{verb}", "post") for verb in ("claim", "progress", "finish")),
        *((f"/api/v1/jobs/{{job_id}}/{verb}", "post") for verb in ("pause", "resume", "cancel")),
        ("/api/v1/silences", "get"),
        ("/api/v1/silences", "post"),
        ("/api/v1/silences/{silence_id}", "get"),
        ("/api/v1/silences/{silence_id}", "delete"),
        ("/api/v1/settings-lab", "get"),
        ("/api/v1/subjects", "get"),
        ("/api/v1/subjects/{subject}", "get"),
        ("/api/v1/subjects/{subject}", "patch"),
    }


def test_every_operation_tells_of_problems(document: dict[str, Any]) -> None:
    for item in document["paths"].values():
        for operation in item.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_every_list_has_one_shape_and_takes_the_same_parameters(document: dict[str, Any]) -> None:
    lists = {}
    for item in document["paths"].values():
        operation = item.get("get", {})
        if operation.get("operationId", "").startswith("list_"):
            answer = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            parameters = {parameter["name"] for parameter in operation["parameters"]}
            lists[operation["operationId"]] = set(document["components"]["schemas"][answer]["properties"]), parameters
    del lists["list_nominations"]  # what a host is to measure next: computed, and always whole
    assert len(lists) > 10
    for name, (fields, parameters) in lists.items():
        assert fields == {"items", "total", "limit", "offset"}, name
        assert parameters >= {"limit", "offset"}, name


def test_an_operation_that_chooses_an_address_says_where(document: dict[str, Any]) -> None:
    created = {
        operation["operationId"]: operation["responses"]["201"]
        for item in document["paths"].values()
        for operation in item.values()
        if "201" in operation["responses"]
    }
    assert {name for name, answer in created.items() if "Location" in answer.get("headers", {})} == {
        *("order_job", "silence_series"),
    }


def test_an_operation_names_the_problems_that_it_can_answer(document: dict[str, Any]) -> None:
    def list_statuses(path: str, method: str) -> set[str]:
        return {status for status in document["paths"][path][method]["responses"] if status >= "4"} - {"default"}

    assert list_statuses("/api/v1/health", "get") == {"503"}
    assert list_statuses("/api/v1/runs", "get") == {"401", "403", "422", "429", "503"}
    store = {"401", "403", "404", "409", "413", "422", "429", "503"}
    assert list_statuses("/api/v1/runs/{run_id}", "put") == store
    assert list_statuses("/api/v1/jobs/{job_id}/pause", "post") == store
    assert "409" not in list_statuses("/api/v1/jobs", "post")
    assert all(
        "application/problem+json" in response["content"]
        for item in document["paths"].values()
        for operation in item.values()
        for status, response in operation["responses"].items()
        if status >= "4"
    )


def test_a_parameter_that_is_a_uuid_is_described_as_one(document: dict[str, Any]) -> None:
    (run_id,) = document["paths"]["/api/v1/runs/{run_id}"]["get"]["parameters"]
    assert run_id["schema"] == {"type": "string", "format": "uuid"}


def test_every_operation_has_an_id_a_description_and_a_scope(document: dict[str, Any]) -> None:
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    for operation in operations:
        assert operation["summary"]
        assert operation["security"] == [] or "Needs the scope `" in operation["description"]
        assert [one["name"] for one in operation.get("parameters", []) if not one.get("description")] == []
    public = {one["operationId"] for one in operations if not one["security"]}
    assert public == {"get_health", "sign_in_job"}
    assert set(document["components"]["securitySchemes"]) == {"token"}


def test_every_type_has_one_schema_and_every_field_a_description(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert [name for name in schemas if not re.fullmatch(r"[A-Z][A-Za-z]+", name)] == []
    assert [name for name, schema in schemas.items() if not schema.get("description")] == []
    undescribed = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, entry in schema.get("properties", {}).items()
        if not entry.get("description")
    ]
    assert undescribed == [], "write a docstring below the field"
    same = Counter(json.dumps({**schema, "title": "", "description": ""}) for schema in schemas.values())
    assert max(same.values()) == 1, "two names for one type"


def test_a_field_has_its_docstring(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["Reading"]["properties"]["outlier"]["description"].startswith("Whether the value is an outlier")
    assert "- `both`: Commit and configuration changed at once" in schemas["Cause"]["description"]
    assert "samples" not in schemas["Report"]["required"], "what has a default may be left out of a request"


def test_the_examples_are_valid_requests() -> None:
    models = {"order_job": JobOrder, "decide_event": DecisionRequest, "silence_series": SilenceRequest}
    models |= {"store_revisions": RevisionList, "store_run": Report, "triage_events": TriageRequest}
    assert set(models) == set(EXAMPLES)
    for name, model in models.items():
        model.model_validate_json(json.dumps(EXAMPLES[name]))


def test_the_document_is_valid_openapi(document: dict[str, Any]) -> None:
    validate(document)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    schemas = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert _references(document) <= schemas


def test_the_document_does_not_repeat_what_the_caller_says(text: str) -> None:
    assert "localhost" not in text


def _references(part: object) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(_references, part.values()))
    return set().union(*map(_references, part)) if isinstance(part, list) else set()
