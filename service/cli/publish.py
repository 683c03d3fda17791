"""``faultwatch-service publish``: the pages as static files."""

from __future__ import annotations

from pathlib import Path

import click

from service.cli.opened_database import open_database
from service.cli.progress import show_progress

# The commands import lazily, so that --help stays fast.
# ruff: noqa: PLC0415


@click.command(short_help="Write the dashboard as static files that can be served, or opened from disk.")
@click.option(
    "--to",
    "site",
    type=click.Path(path_type=Path),
    required=True,
    metavar="SITE",
    help="The folder to write to: a new or empty one, or an earlier site, which is replaced.",
)
@click.option(
    "--with-details",
    is_flag=True,
    help="Also show the values of settings and the messages of failed builds. By default, the site shows only "
    "what FAULTWATCH_ANONYMOUS_READ lets everybody see.",
)
def publish(site: Path, with_details: bool) -> None:
    """Write the inbox, the drift map, the events and the series as static files into SITE.

    The files need no service and no web server: links are relative, and the charts contain their data.
    """
    from service.config.settings import Config
    from service.publishing.publish_site import publish_site

    # Open the database here to upgrade it, and to fail early if it cannot be used; publish_site opens it once more.
    with open_database(may_be_new=False):
        pass
    with show_progress("publishing") as report_progress:
        published = publish_site(Config.from_environment(), site, report_progress, with_details=with_details)
    click.echo(
        f"Wrote {published.pages:,} pages ({published.bytes / 1e6:,.1f} MB) to {site}. Open {site / 'index.html'}"
    )
