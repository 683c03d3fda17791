"""An application on a database of its own, and a client that speaks the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apiclient import Api
from apiflask import APIFlask
from flask.testing import FlaskClient

from service.app import create_app
from service.config import Config
from service.store.database import Database
from service.store.upgrade import upgrade


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Settings that keep everything in the test's folder."""
    return Config.from_environment({"FAULTWATCH_HOME": str(tmp_path / "home")})


@pytest.fixture
def app(config: Config) -> APIFlask:
    """A fresh application."""
    return create_app(config)


@pytest.fixture
def client(app: APIFlask) -> FlaskClient:
    """A browser or a runner."""
    return app.test_client()


@pytest.fixture
def api(client: FlaskClient) -> Api:
    """The API as a runner uses it."""
    return Api(client)


@pytest.fixture
def database(config: Config) -> Iterator[Database]:
    """The application's database."""
    database = Database(config.database_url, busy_seconds=0.2)
    upgrade(database)
    yield database
    database.close()
