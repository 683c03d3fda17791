"""What a caller has already is not sent again."""

from flask.testing import FlaskClient

from tests.service import reports
from tests.service.apiclient import Api


def test_what_has_not_changed_is_not_sent_again(api: Api, client: FlaskClient) -> None:
    api.send(reports.report(1, 100))
    first = client.get("/api/v1/series")
    again = client.get("/api/v1/series", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert first.headers["Cache-Control"] == "private, no-cache"


def test_what_has_changed_is_sent(api: Api, client: FlaskClient) -> None:
    api.send(reports.report(1, 100))
    tag = client.get("/api/v1/runs").headers["ETag"]
    api.send(reports.report(2, 100))
    assert client.get("/api/v1/runs", headers={"If-None-Match": tag}).status_code == 200


def test_a_problem_is_not_kept(client: FlaskClient) -> None:
    assert "ETag" not in client.get("/api/v1/drifts/nothing").headers
