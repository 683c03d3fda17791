"""An application on its own database."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apiflask import APIFlask

from service.app import create_app
from service.config.settings import Config
from service.web import app_resources


@contextmanager
def application(home: Path) -> Iterator[APIFlask]:
    app = create_app(Config(home=home, database_url=f"sqlite:///{home / 'faultwatch.db'}"))
    yield app
    with app.app_context():
        app_resources.get_database().close()
