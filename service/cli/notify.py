"""``faultwatch-service notify``."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import click

from runner.contract.number_text import format_count
from service.cli.opened_database import open_database


@click.command(short_help="Send the notifications that are due.")
def notify() -> None:
    """Send the notifications that are due (see the guide “Notifications”). A running service does so by itself."""
    from service.config import notifications as settings  # noqa: PLC0415
    from service.config.settings import Config  # noqa: PLC0415
    from service.notify import notification_round  # noqa: PLC0415

    config = Config.from_environment()
    channels = settings.load_notification_settings(config.home, config.notifications.file)
    with open_database(may_be_new=True) as database:
        result = notification_round.run_round(database, channels, os.environ, datetime.now(UTC))
    messages = format_count(result.n_sent, "message")
    click.echo(f"{messages} sent; {len(result.failures)} of {len(channels.channel)} channels failed")
    for reason in result.failures:
        click.echo(f"not sent: {reason}; it will be retried", err=True)
    if result.failures:
        sys.exit(1)
