"""Applications with their own databases: empty, with a measured history, with extreme reports.

Pages only read, so one application of each kind serves all tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from tests.service.web import extreme_reports, history
from tests.service.web.application import application


@pytest.fixture(scope="session")
def measured_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[APIFlask]:
    """A service that got a history's reports."""
    with application(tmp_path_factory.mktemp("measured"), history.send) as app:
        yield app


@pytest.fixture(scope="session")
def extremes_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[APIFlask]:
    """A service whose pages meet everything that can be met."""
    with application(tmp_path_factory.mktemp("extremes"), extreme_reports.send) as app:
        yield app


@pytest.fixture(scope="session")
def empty_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[APIFlask]:
    """A service that got nothing yet."""
    with application(tmp_path_factory.mktemp("empty")) as app:
        yield app


@pytest.fixture
def client(measured_app: APIFlask) -> FlaskClient:
    return measured_app.test_client()


@pytest.fixture
def extremes(extremes_app: APIFlask) -> FlaskClient:
    return extremes_app.test_client()


@pytest.fixture
def empty(empty_app: APIFlask) -> FlaskClient:
    return empty_app.test_client()
