"""``faultwatch-service config``."""

from __future__ import annotations

import json
import os

import click

from service.errors import ServiceError


@click.command(short_help="Show the settings and where each comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config(as_json: bool) -> None:
    """Show each setting, its value, and where it comes from: default, environment, or a file.

    Secrets are never shown.
    """
    from service.config import notifications  # noqa: PLC0415
    from service.config.settings_list import list_settings  # noqa: PLC0415
    from service.forges.registry import SETTINGS, read_config  # noqa: PLC0415

    settings = read_config()
    try:
        channels: notifications.NotificationSettings | str = notifications.load_notification_settings(
            settings.home, settings.notifications.file
        )
    except ServiceError as error:
        channels = str(error)
    groups = list_settings(settings, SETTINGS, os.environ, channels)
    if as_json:
        click.echo(json.dumps([group.model_dump() for group in groups], indent=2))
        return
    for number, group in enumerate(groups):
        if number:
            click.echo()
        click.echo(group.title)
        width = max((len(setting.variable or setting.name) for setting in group.settings), default=0)
        for setting in group.settings:
            click.echo(f"  {setting.variable or setting.name:{width}}  {setting.value}  ({setting.source})")
        if not group.settings:
            click.echo(f"  {group.empty}")
