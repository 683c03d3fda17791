"""Services that ask for tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.web import app_resources

Start = Callable[..., FlaskClient]


@pytest.fixture
def start(config: Config) -> Iterator[Start]:
    """Start a process of the service, with changes of its settings."""
    apps = []

    def make(**changes: Any) -> FlaskClient:
        apps.append(create_app(config.copy_with_values(access=Access.TOKENS, **changes)))
        return apps[-1].test_client()

    yield make
    for app in apps:
        with app.app_context():
            app_resources.get_database().close()


@pytest.fixture
def closed(start: Start) -> FlaskClient:
    """A service that asks for tokens."""
    return start()
