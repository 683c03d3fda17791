"""The database of the application that serves this request."""

from __future__ import annotations

from typing import cast

from flask import Flask, current_app

from service.store.database import Database

_EXTENSION = "faultwatch.database"


def use(app: Flask, database: Database) -> None:
    """Give an application its database."""
    app.extensions[_EXTENSION] = database


def database() -> Database:
    """Return the database of the application that serves this request."""
    return cast(Database, current_app.extensions[_EXTENSION])
