"""Pages and answers of the API that a caller has already are not sent again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application

PAGES = ["/", "/runs", "/matrix", "/series/1", "/hosts.json", "/runs.csv"]


def send(client: FlaskClient) -> None:
    history.send(client, history.reports()[:3])


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlaskClient]:
    """A service of which something is stored, at a time that stands still."""
    monkeypatch.setattr("service.web.rendering.not_modified.time.time", lambda: 1_000_000.0)
    with application(tmp_path, send) as app:
        yield app.test_client()


def again(client: FlaskClient, address: str, **headers: str) -> int:
    """Ask for a page as a browser does that has it; return the status."""
    known = client.get(address, headers=headers).headers["ETag"]
    return client.get(address, headers={"If-None-Match": known, **headers}).status_code


def test_a_page_that_still_holds_is_not_made_again(own: FlaskClient) -> None:
    assert [again(own, address) for address in PAGES] == [304] * len(PAGES)
    answer = own.get("/")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert {"accept", "cookie"} <= answer.vary.as_set()


def test_whatever_is_stored_makes_each_page_again(own: FlaskClient) -> None:
    known = {address: own.get(address).headers["ETag"] for address in PAGES}
    history.send(own, history.reports()[3:4])
    for address, tag in known.items():
        assert own.get(address, headers={"If-None-Match": tag}).status_code == 200


def test_another_query_another_form_and_another_time_are_another_page(
    own: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = own.get("/runs", headers={"Accept": "text/html"}).headers["ETag"]
    assert own.get("/runs?outcome=failed", headers={"If-None-Match": known}).status_code == 200
    assert own.get("/runs", headers={"If-None-Match": known, "Accept": "application/json"}).status_code == 200
    monkeypatch.setattr("service.web.rendering.not_modified.time.time", lambda: 1_000_060.0)
    assert own.get("/runs", headers={"If-None-Match": known, "Accept": "text/html"}).status_code == 200


def test_an_answer_of_the_api_that_has_not_changed_is_not_sent_again(app: APIFlask) -> None:
    client = app.test_client()
    Api(client).send(reports.report(1, 100))
    first = client.get("/api/v1/series")
    again = client.get("/api/v1/series", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert first.headers["Cache-Control"] == "private, no-cache"


def test_an_answer_of_the_api_that_has_changed_is_sent(app: APIFlask) -> None:
    client = app.test_client()
    api = Api(client)
    api.send(reports.report(1, 100))
    tag = client.get("/api/v1/runs").headers["ETag"]
    api.send(reports.report(2, 100))
    assert client.get("/api/v1/runs", headers={"If-None-Match": tag}).status_code == 200


def test_a_problem_is_not_kept(client: FlaskClient) -> None:
    assert "ETag" not in client.get("/api/v1/drifts/nothing").headers
