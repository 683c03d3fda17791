"""An application on its own database, and a client that speaks the contract."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from service.app import create_app
from service.config.settings import Config
from service.store.engine.database import Database
from service.store.engine.upgrade import upgrade_database
from service.web import app_resources
from tests.service import compiled, postgres
from tests.service.apiclient import Api
from tests.service.web.application import empty_database, shared_databases
from tests.service.web.page_clients import empty_app, extremes_app, measured_app

__all__ = ["empty_app", "extremes_app", "measured_app"]


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Compile routes, templates and statements once for all applications."""
    with compiled.shared():
        yield


@pytest.fixture(scope="session", autouse=True)
def _filled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fill each database once for all processes of pytest-xdist, whose folders lie side by side."""
    own = tmp_path_factory.getbasetemp()
    with shared_databases(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own):
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.Server]:
    """A PostgreSQL server."""
    with postgres.running(["max_wal_size=128MB"], parent=postgres.find_memory()) as server:
        yield server


@pytest.fixture(scope="session")
def migrated_postgresql(postgresql: postgres.Server) -> str:
    """Name of an empty PostgreSQL database of this version's schema, to be copied."""
    name = postgresql.create()
    database = Database(postgresql.url(name))
    upgrade_database(database)
    database.close()
    return name


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty database. Tests of the store ask for every kind there is."""
    if request.param == "postgresql":
        server: postgres.Server = request.getfixturevalue("postgresql")
        return server.url(server.create(request.getfixturevalue("migrated_postgresql")))
    file = tmp_path / "home" / "faultwatch.db"
    file.parent.mkdir()
    file.write_bytes(empty_database())
    return f"sqlite:///{file}"


@pytest.fixture
def config(tmp_path: Path, database_url: str) -> Config:
    """Settings that keep everything in the test's folder."""
    return Config.from_environment({"FAULTWATCH_HOME": str(tmp_path / "home"), "DATABASE_URL": database_url})


@pytest.fixture
def app(config: Config) -> Iterator[APIFlask]:
    """A fresh application."""
    app = create_app(config)
    yield app
    with app.app_context():
        app_resources.get_database().close()


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
    yield database
    database.close()
