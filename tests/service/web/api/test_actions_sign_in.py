"""Signing in by the identity of an Actions job, against our own issuer."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from flask.testing import FlaskClient

from runner.contract.gate import GateReport
from runner.contract.report import Host
from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.config.trusted_jobs import TrustedJobs
from service.errors import ServiceError
from service.store import shared_rows
from service.store.engine.database import Database
from service.web.access import actions_identity
from tests.service import reports
from tests.service.issuer import Issuer, running

AUDIENCE = "https://faults.example.org"


@pytest.fixture(scope="module")
def server() -> Iterator[Issuer]:
    with running(Issuer(AUDIENCE)) as issuer:
        yield issuer


@pytest.fixture
def issuer(server: Issuer) -> Issuer:
    server.up = True
    return server


@pytest.fixture
def closed(config: Config, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    monkeypatch.setattr(actions_identity.IdentityVerifier.__init__, "__defaults__", (0,))
    jobs = TrustedJobs(
        repositories=("octo-org/*",),
        audience=AUDIENCE,
        workflows=("octo-org/faultwatch/.github/workflows/*",),
        issuer=issuer.url,
    )
    return create_app(config.copy_with_values(access=Access.TOKENS, jobs=jobs)).test_client()


def show(client: FlaskClient, token: str) -> tuple[int, dict[str, Any]]:
    answer = client.post("/api/v1/sign-in/actions", json={"token": token})
    assert answer.json is not None
    return answer.status_code, answer.json


def test_a_job_gets_a_token_that_reports_and_no_more(closed: FlaskClient, issuer: Issuer) -> None:
    status, admission = show(closed, issuer.sign())
    assert (status, admission["scopes"]) == (200, ["report"])
    bearer = {"Authorization": f"Bearer {admission['token']}"}
    report = reports.report(1, 100, subject="copies")
    put = closed.put(f"/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"), headers=bearer)
    assert put.status_code == 201
    assert closed.get("/api/v1/runs", headers=bearer).status_code == 403
    lasts = datetime.fromisoformat(admission["expires_at"]) - datetime.now(UTC)
    assert timedelta(0) < lasts <= timedelta(hours=2)


@pytest.mark.parametrize(("repository", "status"), [("octo-org/Copies", 200), ("octo-org/other", 403)])
def test_a_job_reports_of_its_own_repository_alone(
    repository: str, status: int, closed: FlaskClient, issuer: Issuer
) -> None:
    _, admission = show(closed, issuer.sign())
    report = GateReport(repository=repository, base=reports.commit(1), head=reports.commit(2))
    answer = closed.post(
        "/api/v1/gates", json=report.model_dump(mode="json"), headers={"Authorization": f"Bearer {admission['token']}"}
    )
    assert answer.status_code == status


def test_an_identity_lets_in_once(closed: FlaskClient, issuer: Issuer) -> None:
    token = issuer.sign()
    assert [show(closed, token)[0] for _ in range(3)] == [200, 401, 401]


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://elsewhere.example.org"},
        {"aud": [AUDIENCE, "https://elsewhere.example.org"]},
        {"aud": None},
        {"iss": "https://token.actions.example.org"},
        {"exp": datetime.now(UTC) - timedelta(minutes=2)},
        {"exp": None},
        {"nbf": datetime.now(UTC) + timedelta(hours=1)},
        {"iat": datetime.now(UTC) + timedelta(hours=1)},
        {"jti": None},
        {"jti": "x" * 300},
        {"repository": "mallory/copies", "repository_owner": "mallory"},
        {"repository": "octo-org-evil/copies", "repository_owner": "octo-org-evil"},
        {"repository_owner": "mallory"},
        {"job_workflow_ref": "octo-org/copies/.github/workflows/mine.yml@refs/heads/topic"},
        {"job_workflow_ref": None},
        {"runner_environment": "github-hosted"},
        {"runner_environment": None},
    ],
    # Not the values: two processes that share the tests out would name those with a time differently.
    ids=lambda changes: (
        "-".join(f"{name}={value}" for name, value in changes.items() if name not in {"exp", "nbf", "iat"}) or None
    ),
)
def test_another_identity_is_refused(changes: dict[str, Any], closed: FlaskClient, issuer: Issuer) -> None:
    status, problem = show(closed, issuer.sign(**changes))
    assert (status, problem["detail"][:32]) == (401, "This identity token was refused:")


def test_a_refused_runner_is_named_or_said_to_be_of_unknown_kind(closed: FlaskClient, issuer: Issuer) -> None:
    for kind, words in (("github-hosted", "'github-hosted'"), (None, "of unknown kind")):
        _, problem = show(closed, issuer.sign(runner_environment=kind))
        assert f"the runner is {words}, but must be self-hosted" in problem["detail"]


def _part(document: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def _claims(issuer: Issuer) -> dict[str, Any]:
    return {
        name: int(value.timestamp()) if isinstance(value, datetime) else value
        for name, value in issuer.claims().items()
    }


def test_an_identity_that_nobody_signed_is_refused(closed: FlaskClient, issuer: Issuer) -> None:
    for algorithm in ("none", "None", "NONE"):
        head = _part({"alg": algorithm, "typ": "JWT", "kid": issuer.kid})
        assert show(closed, f"{head}.{_part(_claims(issuer))}.")[0] == 401


def test_a_public_key_is_no_shared_secret(closed: FlaskClient, issuer: Issuer) -> None:
    public = issuer.keys[issuer.kid].public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    signed = f"{_part({'alg': 'HS256', 'typ': 'JWT', 'kid': issuer.kid})}.{_part(_claims(issuer))}"
    signature = base64.urlsafe_b64encode(hmac.digest(pem, signed.encode(), "sha256")).decode().rstrip("=")
    assert show(closed, f"{signed}.{signature}")[0] == 401


def test_a_key_that_the_issuer_does_not_show_is_refused(closed: FlaskClient, issuer: Issuer) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    for kid in (issuer.kid, "unknown"):
        assert show(closed, jwt.encode(issuer.claims(), stranger, "RS256", headers={"kid": kid}))[0] == 401
    assert show(closed, jwt.encode(issuer.claims(), stranger, "RS256"))[0] == 401


def test_a_new_key_of_the_issuer_is_taken(closed: FlaskClient, issuer: Issuer) -> None:
    assert show(closed, issuer.sign())[0] == 200
    issuer.rotate("two")
    assert show(closed, issuer.sign())[0] == 200


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é", "fw_1"])
def test_what_is_no_identity_is_refused(token: str, closed: FlaskClient) -> None:
    assert show(closed, token)[0] in {401, 422}


def test_where_the_keys_cannot_be_had_a_job_tries_again(closed: FlaskClient, issuer: Issuer) -> None:
    issuer.up = False
    assert show(closed, issuer.sign())[0] == 503


def test_without_trusted_jobs_there_is_no_such_way_in(client: FlaskClient) -> None:
    assert show(client, "x")[0] == 404


def test_settings() -> None:
    assert TrustedJobs.read_if_enabled({}, AUDIENCE) is None
    told = {"FAULTWATCH_ACTIONS_REPOSITORIES": "Octo-Org/*, a/b", "FAULTWATCH_ADDRESS": "https://faults.example.org/"}
    found = Config.from_environment(told).jobs
    assert found == TrustedJobs(address=AUDIENCE, repositories=("octo-org/*", "a/b"))
    assert found.audience == AUDIENCE
    repositories = "*/*", "octo-org/lib-*", "octo-org/**"  # a pattern that no repository matches would let nobody in
    for wrong in ({"FAULTWATCH_ADDRESS": ""}, *({"FAULTWATCH_ACTIONS_REPOSITORIES": name} for name in repositories)):
        with pytest.raises(ServiceError):
            Config.from_environment(told | wrong)


def test_a_job_tells_of_its_own_subjects_alone(closed: FlaskClient, issuer: Issuer, database: Database) -> None:
    def bearer(**changes: Any) -> dict[str, str]:
        _, admission = show(closed, issuer.sign(**changes))
        return {"Authorization": f"Bearer {admission['token']}"}

    def sent(subject: str, who: dict[str, str]) -> list[int]:
        report = reports.report(1, 100, subject=subject)
        plan = reports.plan_request(1).model_copy(update={"subject": subject}).model_dump(mode="json")
        cell = {"host": "lab-1", "configuration": "plain", "workload": "copy", "subject": subject}
        answers = [
            closed.put(f"/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"), headers=who),
            closed.post("/api/v1/runs", json={"reports": [report.model_dump(mode="json")]}, headers=who),
            closed.put(f"/api/v1/subjects/{subject}/revisions", json={"revisions": []}, headers=who),
            closed.post("/api/v1/plans", json=plan, headers=who),
            closed.put(f"/api/v1/nightly-runs/{subject}", json={"cells": [cell]}, headers=who),
        ]
        return [answer.status_code for answer in answers]

    with database.writing() as session:
        shared_rows.ensure_subjects(session, ["stored", "copies"])  # nobody's job told of these
    own, other = bearer(), bearer(repository="octo-org/other")
    assert 403 not in sent("copies", own)
    assert sent("copies", other) == [403] * 5
    assert 403 not in sent("other", other)
    assert sent("other", own) == [403] * 5
    assert sent("stored", own) == [403] * 5
    assert sent("new", own) == [403] * 5, "nobody's, and not assigned to it"


def test_a_job_tells_of_subjects_that_are_assigned_to_its_repository(
    config: Config, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions_identity.IdentityVerifier.__init__, "__defaults__", (0,))
    environment = {
        "FAULTWATCH_ACTIONS_REPOSITORIES": "octo-org/*",
        "FAULTWATCH_ADDRESS": AUDIENCE,
        "FAULTWATCH_ACTIONS_ISSUER": issuer.url,
        "FAULTWATCH_ACTIONS_SUBJECTS": "Octo-Org/copies=bench-* octo-org/other=copies",
        "FAULTWATCH_ACTIONS_HOSTS": "box",
    }
    jobs = Config.from_environment(environment).jobs
    client = create_app(config.copy_with_values(access=Access.TOKENS, jobs=jobs)).test_client()
    _, admission = show(client, issuer.sign())
    bearer = {"Authorization": f"Bearer {admission['token']}"}

    def put(subject: str, host: str = "box") -> int:
        report = reports.report(1, 100, subject=subject, host=Host(name=host))
        document = report.model_dump(mode="json")
        return client.put(f"/api/v1/runs/{report.run_id}", json=document, headers=bearer).status_code

    assert (put("bench-sort"), put("copies"), put("bench-sort", "lab-9")) == (201, 403, 403)


def test_an_identity_in_a_document_nested_deeply_is_refused(closed: FlaskClient) -> None:
    body = b'{"token": "x", "deep": ' + b"[" * 3000 + b"]" * 3000 + b"}"
    answer = closed.post("/api/v1/sign-in/actions", data=body, content_type="application/json")
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")


@pytest.mark.parametrize("words", ["copies", "octo-org/copies=", "octo-org/*=x", "octo-org/copies=a/b"])
def test_an_assignment_that_means_nothing_is_refused(words: str) -> None:
    environment = {
        "FAULTWATCH_ACTIONS_REPOSITORIES": "octo-org/*",
        "FAULTWATCH_ADDRESS": AUDIENCE,
        "FAULTWATCH_ACTIONS_SUBJECTS": words,
    }
    with pytest.raises(ServiceError, match="_SUBJECTS"):
        Config.from_environment(environment)
