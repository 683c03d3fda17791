"""Settings: the values in use, and the source of each value. Secrets are never shown."""

from __future__ import annotations

import os

from service.config import notifications as settings
from service.config.settings_list import list_settings
from service.errors import ServiceError
from service.forges.registry import SETTINGS
from service.installed_version import VERSION
from service.web.app_resources import get_config
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("settings")


@page(bp, "/settings")
def show() -> Page:
    """Show all settings."""
    config = get_config()
    try:
        channels: settings.NotificationSettings | str = settings.load_notification_settings(
            config.home, config.notifications.file
        )
    except ServiceError as error:
        channels = str(error)
    groups = list_settings(config, SETTINGS, os.environ, channels)
    return Page(
        "settings.html",
        {"groups": groups, "version": VERSION},
        document=lambda: {"version": VERSION, "groups": groups},
        table=lambda: Table(
            ("group", "name", "variable", "value", "source", "meaning"),
            (
                (group.title, setting.name, setting.variable, setting.value, setting.source, setting.meaning)
                for group in groups
                for setting in group.settings
            ),
        ),
    )
