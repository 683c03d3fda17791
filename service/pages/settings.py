"""Settings: what this service is set to, and where each value comes from. Secrets are never shown."""

from __future__ import annotations

import os

from flask import Blueprint

from service.access import guard
from service.current import config
from service.errors import ServiceError
from service.notify import settings
from service.pages.twins import Page, Table, page
from service.told_settings import told
from service.version import VERSION

bp = Blueprint("settings", __name__)


@page(bp, "/settings")
def show() -> Page:
    """Show all settings."""
    known = config()
    try:
        channels: settings.Settings | str = settings.load(known.home, os.environ)
    except ServiceError as error:
        channels = str(error)
    groups = told(known, guard.by_token(), os.environ, channels)
    return Page(
        "settings.html",
        {"groups": groups, "version": VERSION},
        document=lambda: {"version": VERSION, "groups": groups},
        table=lambda: Table(
            ("group", "name", "value", "source", "meaning"),
            ((group.title, one.name, one.value, one.source, one.meaning) for group in groups for one in group.settings),
        ),
    )
