from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from service.app import create_app
from service.config.settings import Config


@pytest.mark.parametrize("path", ["/api/v1/health", "/api/v1/nothing", "/openapi.json", "/"])
def test_every_answer_is_guarded(client: FlaskClient, path: str) -> None:
    headers = client.get(path).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] in {"same-origin", "no-referrer"}
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:1", "localhost"])
def test_answers_to_the_names_of_loopback(client: FlaskClient, host: str) -> None:
    assert client.get("/api/v1/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["rebound.example", "localhost.rebound.example", "127.0.0.1.rebound.example"])
def test_another_name_that_points_here_gets_nothing(client: FlaskClient, host: str) -> None:
    answer = client.get("/api/v1/health", headers={"Host": host})
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")


def test_health(client: FlaskClient) -> None:
    health = client.get("/api/v1/health").json
    assert health.keys() == {"status", "version", "database"}
    assert (health["status"], health["database"]) == ("ok", "ok")


def test_settings_come_from_the_environment(tmp_path: object) -> None:
    config = Config.from_environment({"FAULTWATCH_HOME": f"{tmp_path}/a", "FAULTWATCH_PORT": "0"})
    assert config.database_url == f"sqlite:///{tmp_path}/a/faultwatch.db"
    assert config.port == 0
    assert Config.from_environment({}).port == 8080
    assert Config.from_environment({"DATABASE_URL": "sqlite:///x.db"}).database_url == "sqlite:///x.db"


def test_data_outlives_the_application(config: Config) -> None:
    client = create_app(config).test_client()
    client.put("/api/v1/subjects/demo/revisions", json={"revisions": []})
    again = create_app(config).test_client()
    assert again.get("/api/v1/subjects/demo/revisions").json["items"] == []
