"""The database and the settings of the application that serves this request."""

from __future__ import annotations

from typing import cast

from flask import Flask, current_app

from service.config.settings import Config
from service.store.engine.database import Database

_DATABASE = "faultwatch.database"
_CONFIG = "faultwatch.config"


def register(app: Flask, database: Database, config: Config) -> None:
    """Give an application its database and its settings."""
    app.extensions[_DATABASE] = database
    app.extensions[_CONFIG] = config


def get_database() -> Database:
    """Return the database of the application that serves this request."""
    return cast(Database, current_app.extensions[_DATABASE])


def get_config() -> Config:
    """Return the settings of the application that serves this request."""
    return cast(Config, current_app.extensions[_CONFIG])
