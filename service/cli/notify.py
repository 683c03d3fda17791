"""``faultwatch-service notify``."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import click

from service.config.settings import Config


@click.command(short_help="Tell what is new, once: e-mail and webhooks.")
def notify() -> None:
    """Tell what is new, once: e-mail and webhooks, see docs/notifications.md. A service that runs does so by itself."""
    from service.config import notifications as settings  # noqa: PLC0415
    from service.notify import delivery  # noqa: PLC0415
    from service.store.engine.database import Database  # noqa: PLC0415
    from service.store.engine.upgrade import upgrade  # noqa: PLC0415

    config = Config.from_environment()
    channels = settings.load(config.home, os.environ)
    database = Database(config.database_url)
    upgrade(database)
    outcome = delivery.run(database, channels, os.environ, datetime.now(UTC))
    click.echo(f"{outcome.sent} sent through {len(channels.channel)} channels, {len(outcome.failed)} of them failed")
    for reason in outcome.failed:
        click.echo(f"not sent: {reason}; it is tried again later", err=True)
    if outcome.failed:
        sys.exit(1)
