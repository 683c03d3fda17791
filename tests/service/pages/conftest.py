"""An application with a database of its own, empty or with a measured history, or with made-up answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from service import current
from service.app import create_app
from service.config import Config
from service.pages.source import EXTENSION
from tests.service.pages import history
from tests.service.pages.made import MadeSource


@pytest.fixture
def app(tmp_path: Path) -> Iterator[APIFlask]:
    """An application with an empty database."""
    app = create_app(Config(home=tmp_path, database_url=f"sqlite:///{tmp_path / 'faultwatch.db'}"))
    yield app
    with app.app_context():
        current.database().close()


@pytest.fixture
def empty(app: APIFlask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def client(app: APIFlask) -> FlaskClient:
    """A client of a service that got a history's reports."""
    client = app.test_client()
    history.send(client)
    return client


@pytest.fixture
def made(app: APIFlask) -> FlaskClient:
    """A client of a service whose pages meet everything that can be met."""
    app.extensions[EXTENSION] = MadeSource()
    return app.test_client()
