import json

import pytest

from runner.errors import FaultwatchError
from runner.reporting.sign_in import sign_in
from tests.runner.http_stub import Answer, http_stub

ADMISSION = {"token": "fw_ours", "expires_at": "2030-01-01T00:00:00Z", "scopes": ["report"]}


def job(url: str) -> dict[str, str]:
    return {"ACTIONS_ID_TOKEN_REQUEST_URL": f"{url}/identity?v=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "bearer"}


def test_outside_of_a_job_nobody_is_asked() -> None:
    assert sign_in("http://127.0.0.1:9", {}) is None


def test_the_identity_of_a_job_is_shown_for_a_token() -> None:
    with http_stub() as github, http_stub() as service:
        github.always = Answer(200, json.dumps({"value": "signed"}))
        service.always = Answer(200, json.dumps(ADMISSION))
        assert sign_in(service.url, job(github.url)) == "fw_ours"
        assert github.headers[0]["Authorization"] == "Bearer bearer"
        assert service.requests == 1


def test_where_github_gives_no_identity_the_permission_is_named() -> None:
    with http_stub() as github, http_stub() as service:
        github.always = Answer(403)
        with pytest.raises(FaultwatchError, match="id-token: write"):
            sign_in(service.url, job(github.url))
        assert service.requests == 0


def test_an_identity_that_the_service_does_not_take_is_an_error() -> None:
    with http_stub() as github, http_stub() as service:
        github.always = Answer(200, json.dumps({"value": "signed"}))
        service.always = Answer(401, json.dumps({"detail": "This identity lets nobody in."}))
        with pytest.raises(FaultwatchError, match="This identity lets nobody in"):
            sign_in(service.url, job(github.url))
