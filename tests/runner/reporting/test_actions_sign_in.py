import json
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.reporting.actions_sign_in import sign_in
from runner.reporting.client import Service
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


def test_github_gets_the_token_of_the_job_whatever_netrc_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("default login ann password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with http_stub() as github, http_stub() as service:
        github.always = Answer(200, json.dumps({"value": "signed"}))
        service.always = Answer(200, json.dumps(ADMISSION))
        sign_in(service.url, job(github.url))
        assert github.headers[0]["Authorization"] == "Bearer bearer"


def test_where_github_issues_no_token_the_error_says_so() -> None:
    with http_stub() as github, http_stub() as service:
        github.always = Answer(403)
        with pytest.raises(FaultwatchError, match="GitHub did not issue an OIDC token for this job"):
            sign_in(service.url, job(github.url))
        assert service.requests == 0


@pytest.mark.parametrize(("in_github", "token"), [("true", None), ("true", "fw_x"), ("", None)])
def test_where_a_job_lacks_the_permission_the_refusal_names_it(
    in_github: str, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub sets no variables for a job without the permission, so the service sees no token."""
    monkeypatch.setenv("GITHUB_ACTIONS", in_github)
    with http_stub() as service:
        service.always = Answer(401, json.dumps({"detail": "A token is required."}))
        with pytest.raises(FaultwatchError, match="A token is required") as refused:
            Service(service.url, token or sign_in(service.url, {})).list_jobs()
    assert ("id-token: write" in refused.value.remedy) == (in_github == "true" and not token)
    assert "FAULTWATCH_TOKEN" in refused.value.remedy


def test_an_identity_that_the_service_does_not_take_is_an_error() -> None:
    with http_stub() as github, http_stub() as service:
        github.always = Answer(200, json.dumps({"value": "signed"}))
        service.always = Answer(401, json.dumps({"detail": "This identity lets nobody in."}))
        with pytest.raises(FaultwatchError, match="This identity lets nobody in"):
            sign_in(service.url, job(github.url))
