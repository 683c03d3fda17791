"""The database and the settings of the application that serves this request."""

from __future__ import annotations

from typing import cast

from flask import Flask, current_app

from service.config.settings import Config
from service.store.engine.database import Database

_DATABASE = "faultwatch.database"
_CONFIG = "faultwatch.config"
_PUBLISHED_KEY = "faultwatch.published"


def register(app: Flask, database: Database, config: Config) -> None:
    """Give an application its database and its settings."""
    app.extensions[_DATABASE] = database
    app.extensions[_CONFIG] = config


def mark_pages_as_published(app: Flask) -> None:
    """Record that the pages of an application are written to files of a static site."""
    app.extensions[_PUBLISHED_KEY] = True


def is_published() -> bool:
    """Return whether the current page is written to a file of a static site."""
    return _PUBLISHED_KEY in current_app.extensions


def get_database() -> Database:
    """Return the database of the application that serves this request."""
    return cast(Database, current_app.extensions[_DATABASE])


def get_config() -> Config:
    """Return the settings of the application that serves this request."""
    return cast(Config, current_app.extensions[_CONFIG])
