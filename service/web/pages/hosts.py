"""Hosts: when each last reported, whether its canary counts right, and which declared settings differ."""

from __future__ import annotations

from flask import abort

from service.rules.environment_difference import name_environments
from service.schemas.directory import HostEntry
from service.store import environments, hosts
from service.store.runs import runs
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.csv_tables import build_run_table
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("hosts")

_MAX_RUNS = 20


@page(bp, "/hosts")
def index() -> Page:
    """List all hosts."""
    with get_database().reading() as session:
        host_list = hosts.list_hosts(session)
    return Page("hosts.html", {"hosts": host_list}, document=lambda: host_list, table=lambda: _build_table(host_list))


@page(bp, "/hosts/<name>")
def show(name: str) -> Page:
    """Show one host with its environments and its newest runs."""
    with get_database().reading() as session:
        host_list = hosts.list_hosts(session, name)
        environment_list = environments.list_environments(session, name) if host_list else []
        newest_runs = runs.list_page(session, runs.RunFilter(host=name), _MAX_RUNS, 0)
    if not host_list:
        abort(404, "No host with this name has reported anything yet.")
    (host,) = host_list
    return Page(
        "host.html",
        {"host": host, "environments": name_environments(environment_list), "runs": newest_runs},
        document=lambda: {"host": host, "environments": environment_list, "runs": newest_runs.items},
        table=lambda: build_run_table(newest_runs.items),
    )


def _build_table(hosts: list[HostEntry]) -> Table:
    """Return the list of hosts as a table for CSV."""
    return Table.from_records(
        hosts,
        ("host", lambda host: host.name),
        *("last_seen", "runs", "environment", "quarantine", "canary_holds", "canary"),
        ("mismatches", lambda host: " ".join(setting.name for setting in host.mismatches)),
    )
