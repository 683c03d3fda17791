"""An application on its own database, which is a copy of one that was filled once."""

import fcntl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from jinja2 import StrictUndefined, Undefined
from jinja2.runtime import missing

from service.app import create_app
from service.config.settings import Config
from service.store.engine.database import Database
from service.store.engine.upgrade import upgrade_database
from service.web import app_resources, settings_changes

Fill = Callable[[FlaskClient], None]


class StrictNames(StrictUndefined):
    """Makes an error of a name that no page gives its template, and of an attribute that an object does not have.

    For readers both render as nothing. A mapping, such as a form, may lack a key.
    """

    def __new__(cls, hint: str | None = None, obj: object = missing, *arguments: Any, **named: Any) -> Any:
        """Return a lenient value for a missing key."""
        return Undefined(hint, obj, *arguments, **named) if isinstance(obj, Mapping) else super().__new__(cls)


_shared: list[Path] = []


@contextmanager
def shared_databases(folder: Path) -> Iterator[None]:
    """Share filled databases with the other processes of this test session: one fills, the others copy."""
    _shared.append(folder)
    yield
    _shared.pop()


@contextmanager
def application(home: Path, fill: Fill | None = None) -> Iterator[APIFlask]:
    """Create an application whose database has what a function of a module sends."""
    (home / "faultwatch.db").write_bytes(empty_database() if fill is None else filled_database(fill))
    with _create(home) as app:
        yield app


@cache
def empty_database() -> bytes:
    """Return the SQLite file of this version's schema."""
    with TemporaryDirectory(prefix="faultwatch-") as folder:
        database = Database(f"sqlite:///{folder}/faultwatch.db")
        upgrade_database(database)
        database.close()
        return _read(Path(folder))


@cache
def filled_database(fill: Fill) -> bytes:
    """Return the SQLite file that a service has after a function has sent something."""
    if not _shared:
        return _fill(fill)
    file = _shared[0] / f"{fill.__module__}.{fill.__qualname__}.db"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            unfinished = file.with_suffix(".unfinished")
            unfinished.write_bytes(_fill(fill))
            unfinished.replace(file)
        return file.read_bytes()


def _fill(fill: Fill) -> bytes:
    with TemporaryDirectory(prefix="faultwatch-") as folder:
        with pytest.MonkeyPatch.context() as patch:
            # The copy's own start is the first of which it records the settings.
            patch.setattr(settings_changes, "record_changes", lambda *_: None)
            with _create(Path(folder)) as app:
                fill(app.test_client())
        return _read(Path(folder))


def _read(folder: Path) -> bytes:
    assert not list(folder.glob("*-wal")), "something still uses the database"
    return (folder / "faultwatch.db").read_bytes()


@contextmanager
def _create(home: Path) -> Iterator[APIFlask]:
    app = create_app(Config(home=home, database_url=f"sqlite:///{home / 'faultwatch.db'}"))
    app.jinja_env.undefined = StrictNames
    try:
        yield app
    finally:
        with app.app_context():
            app_resources.get_database().close()
