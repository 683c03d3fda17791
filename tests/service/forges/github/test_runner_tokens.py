"""Hosts ask the service for the tokens by which their runners register at GitHub."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from tests.service.forges.github import stand_in
from tests.service.forges.github.conftest import Service

ADDRESS = "/api/v1/github/runner-tokens"


@pytest.mark.parametrize("purpose", ["registration", "remove"])
def test_a_token_is_asked_for_with_the_one_permission_that_it_takes(
    service: Service, hub: stand_in.GitHub, purpose: str
) -> None:
    answer = service.client.post(ADDRESS, json={"repository": hub.repository, "purpose": purpose})
    assert answer.status_code == 200, answer.text
    assert answer.json == {"token": f"for {purpose}", "expires_at": "2030-01-01T00:00:00Z"}
    assert hub.granted == [{"administration": "write"}]


def test_what_github_refuses_is_told_with_what_the_app_lacks(service: Service, hub: stand_in.GitHub) -> None:
    hub.fail("POST", "registration-token", 403, "Resource not accessible by integration")
    answer = service.client.post(ADDRESS, json={"repository": hub.repository})
    assert answer.status_code == 502
    assert "not accessible" in answer.text
    assert "administration: write" in answer.text


def test_a_service_that_is_no_app_says_so(client: FlaskClient) -> None:
    assert client.post(ADDRESS, json={"repository": "o/r"}).status_code == 404


@pytest.mark.parametrize("name", ["o", "../o/r", "o/r/s", ""])
def test_only_repositories_are_asked_about(service: Service, name: str) -> None:
    assert service.client.post(ADDRESS, json={"repository": name}).status_code == 422
