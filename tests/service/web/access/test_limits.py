"""Tokens with limits: as which hosts they report and claim jobs, about which subjects, for which repositories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from flask.testing import FlaskClient

from runner.contract.report import Host
from service.rules.access.scope import Scope
from service.rules.access.token_limits import NO_LIMITS, TokenLimits
from service.store import tokens
from service.store.engine.database import Database
from tests.service import reports
from tests.service.forges import made_gates
from tests.service.jobs_api import Jobs

Give = Callable[..., dict[str, str]]

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def give(closed: FlaskClient, database: Database) -> Give:
    def make(limits: TokenLimits = NO_LIMITS, scope: Scope = Scope.REPORT) -> dict[str, str]:
        with database.writing() as session:
            issued = tokens.issue_token(session, "a token", [scope], 1, datetime.now(UTC), limits=limits)
        return {"Authorization": f"Bearer {issued.text}"}

    return make


def put(client: FlaskClient, headers: dict[str, str], subject: str = "demo", host: str = "box") -> int:
    report = reports.report(1, 100, subject=subject, host=Host(name=host))
    document = report.model_dump(mode="json")
    one = client.put(f"/api/v1/runs/{report.run_id}", json=document, headers=headers).status_code
    many = client.post("/api/v1/runs", json={"reports": [document]}, headers=headers).status_code
    assert (one < 400) == (many < 400)
    return one


def test_a_token_reports_only_as_its_hosts_and_about_its_subjects(closed: FlaskClient, give: Give) -> None:
    limited = give(TokenLimits(hosts=("lab-*",), subjects=("demo",)))
    assert put(closed, limited, host="lab-1") == 201
    assert put(closed, limited, host="box") == 403
    assert put(closed, limited, subject="other", host="lab-1") == 403
    assert put(closed, give()) == 201, "a token without limits"


def test_a_job_is_claimed_only_as_a_host_of_the_token_and_kept_by_its_holder(closed: FlaskClient, give: Give) -> None:
    question = {"kind": "measure", "subject": "demo", "case": "copy[mib=4]", "revision": "main"}
    job = {"question": question, "backend": "caller"}
    closed.post("/api/v1/jobs", json=job, headers=give(scope=Scope.ORDER))
    spoofing, own, other = give(TokenLimits(hosts=("lab-*",))), give(TokenLimits(hosts=("box",))), give()
    claim = {"host": "box"}
    assert closed.post("/api/v1/jobs/1/claim", json=claim, headers=spoofing).status_code == 403
    lease = closed.post("/api/v1/jobs/1/claim", json=claim, headers=own).get_json()["lease"]
    stolen = closed.post("/api/v1/jobs/1/claim", json=claim, headers=other)
    assert (stolen.status_code, "Retry-After" in stolen.headers) == (409, True), "the same host name proves nothing"
    finish = {"lease": lease, "outcome": "done", "sentence": "forged"}
    assert closed.post("/api/v1/jobs/1/progress", json={"lease": lease}, headers=other).status_code == 409
    assert closed.post("/api/v1/jobs/1/finish", json=finish, headers=other).status_code == 409
    assert closed.post("/api/v1/jobs/1/progress", json={"lease": lease}, headers=own).status_code == 200
    assert closed.post("/api/v1/jobs/1/claim", json=claim, headers=own).status_code == 200, "its runner started again"


def test_a_token_orders_and_cancels_only_jobs_within_its_limits(closed: FlaskClient, give: Give) -> None:
    question = {"kind": "measure", "subject": "demo", "case": "copy[mib=4]", "revision": "main", "host": "lab-1"}

    def order(headers: dict[str, str], **changes: object) -> int:
        job = {"question": question | changes, "backend": "caller"}
        return closed.post("/api/v1/jobs", json=job, headers=headers).status_code

    by_subject = give(TokenLimits(subjects=("demo",)), Scope.ORDER)
    by_host = give(TokenLimits(hosts=("lab-*",)), Scope.ORDER)
    assert order(by_subject, subject="other") == 403
    assert order(by_host, host="box") == 403
    assert order(by_host, host=None) == 403, "any host is more than those of the token"
    assert order(by_subject) == 201
    assert order(by_host) == 200
    assert order(give(scope=Scope.ORDER), subject="other", host="box") == 201
    for limited in (by_subject, by_host):
        assert closed.post("/api/v1/jobs/2/cancel", json={}, headers=limited).status_code == 403
        assert closed.post("/api/v1/jobs/1/pause", json={}, headers=limited).status_code in {200, 409}


def test_a_job_has_no_runs_of_another_host(closed: FlaskClient, give: Give) -> None:
    token = give()
    reported = [reports.report(number, 100, host=Host(name=host)) for number, host in ((1, "box"), (2, "lab"))]
    for report in reported:
        document = report.model_dump(mode="json")
        assert closed.put(f"/api/v1/runs/{report.run_id}", json=document, headers=token).status_code == 201
    question = {"kind": "measure", "subject": reported[0].subject, "case": "copy[mib=4]", "revision": "main"}
    job = {"question": question, "backend": "caller"}
    closed.post("/api/v1/jobs", json=job, headers=give(scope=Scope.ORDER))
    lease = closed.post("/api/v1/jobs/1/claim", json={"host": "box"}, headers=token).get_json()["lease"]
    measured = [str(report.run_id) for report in reported]
    progress = {"lease": lease, "measured": measured}
    assert closed.post("/api/v1/jobs/1/progress", json=progress, headers=token).status_code == 200
    runs = closed.get("/api/v1/jobs/1", headers=give(scope=Scope.READ)).get_json()["runs"]
    assert runs == measured[:1]


def test_a_token_registers_runners_of_its_repositories_alone(closed: FlaskClient, give: Give) -> None:
    limited = give(TokenLimits(repositories=("octo-org/*",)), Scope.REGISTER)
    path = "/api/v1/github/runner-tokens"
    assert closed.post(path, json={"repository": "evil/copies"}, headers=limited).status_code == 403
    assert closed.post(path, json={"repository": "Octo-Org/copies"}, headers=limited).status_code == 404, "is no App"


def test_an_order_and_the_settings_of_a_subject_are_within_the_limits(closed: FlaskClient, give: Give) -> None:
    assert put(closed, give()) == 201
    limited = give(TokenLimits(hosts=("lab-1", "lab-2")), Scope.ORDER)
    Jobs(closed, limited).order(question={"host": "lab-1"}, backend="caller")
    Jobs(closed, limited).order(403, question={"host": "box"}, backend="caller")

    def change(headers: dict[str, str]) -> int:
        body = {"bisect_policy": "do"}
        return closed.patch("/api/v1/subjects/demo", json=body, headers=headers).status_code

    assert change(give(TokenLimits(subjects=("other",)), Scope.ORDER)) == 403
    assert change(limited) == 403
    assert change(give()) == 403, "it needs the scope order"
    assert change(give(TokenLimits(subjects=("demo",)), Scope.ORDER)) == 200


@pytest.mark.parametrize(
    ("limits", "forge", "repository", "allowed"),
    [
        (NO_LIMITS, "gitlab", "group/other", True),
        (TokenLimits(subjects=("demo",), hosts=("box",)), "gitlab", "group/other", False),
        (TokenLimits(hosts=("box",)), "github", "octo-org/copies", False),
        (TokenLimits(hosts=("box",), repositories=("octo-org/*",)), "github", "Octo-Org/copies", True),
        (TokenLimits(repositories=("group/parser",)), "gitlab", "group/parser", False),
        (TokenLimits(repositories=("gitlab:group/sub/parser",)), "gitlab", "group/sub/parser", True),
        (TokenLimits(repositories=("gitlab:group/*",)), "gitlab", "group/sub/parser", False),
    ],
)
def test_a_limited_token_publishes_only_about_repositories_that_it_names(
    closed: FlaskClient, give: Give, limits: TokenLimits, forge: str, repository: str, allowed: bool
) -> None:
    report = made_gates.gate(made_gates.case([100] * 30, [100] * 30)).model_dump(mode="json")
    sent = report | {"forge": forge, "repository": repository}
    answer = closed.post("/api/v1/gates", json=sent, headers=give(limits))
    assert (answer.status_code == 200) is allowed, answer.get_json()
    if not allowed:
        assert f"--repository {'gitlab:' * (forge == 'gitlab')}{repository}" in answer.get_json()["detail"]
    unpublished = closed.post("/api/v1/gates", json=report | {"repository": None}, headers=give(limits))
    assert unpublished.status_code == 200, "the verdict alone needs no repository"


def test_a_limited_token_starts_workflows_only_in_repositories_that_it_names(closed: FlaskClient, give: Give) -> None:
    question = {"kind": "measure", "subject": "demo", "case": "copy[mib=4]", "revision": "main", "host": "lab-1"}
    order = {"question": question, "backend": "caller", "github": "octo-org/other"}

    def place(limits: TokenLimits) -> int:
        return closed.post("/api/v1/jobs", json=order, headers=give(limits, Scope.ORDER)).status_code

    assert place(TokenLimits(subjects=("demo",))) == 403
    assert place(TokenLimits(subjects=("demo",), repositories=("octo-org/mine",))) == 403
    assert place(TokenLimits(subjects=("demo",), repositories=("octo-org/*",))) == 201
