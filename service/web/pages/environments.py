"""Environments: all settings that can move a count, and the differences between two environments."""

from __future__ import annotations

from flask import abort, request

from service.rules.environment_difference import name_environments
from service.rules.series.cause import list_setting_changes
from service.store import environments
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("environments")

_HASH_ADVICE = "no hash begins with these digits, or several do. Use a whole hash from the list of environments."


@page(bp, "/environments")
def index() -> Page:
    """List all environments, the most recently seen first."""
    with get_database().reading() as session:
        environment_list = environments.list_environments(session)
    return Page(
        "environments.html",
        {"environments": name_environments(environment_list)},
        document=lambda: environment_list,
        table=lambda: Table.from_records(
            environment_list,
            ("environment", lambda entry: entry.hash),
            ("hosts", lambda entry: " ".join(entry.hosts)),
            *("runs", "first_seen", "last_seen"),
        ),
    )


@page(bp, "/environments/<environment>")
def show(environment: str) -> Page:
    """Show the settings of an environment, compared with another one: by default, the previous one on its host."""
    with get_database().reading() as session:
        entry = environments.find_environment(session, environment)
        if entry is None:
            abort(404, f"This address does not identify exactly one environment: {_HASH_ADVICE}")
        other_hash = request.args.get("against") or environments.find_environment_before(session, entry)
        other_environment = environments.find_environment(session, other_hash) if other_hash else None
        if request.args.get("against") and other_environment is None:
            abort(404, f"The parameter “against” does not identify exactly one environment: {_HASH_ADVICE}")
        other_environments = [other for other in environments.list_environments(session) if other.hash != entry.hash]
    changes = list_setting_changes(other_environment.settings, entry.settings) if other_environment else []
    return Page(
        "environment.html",
        {"environment": entry, "against": other_environment, "changes": changes, "others": other_environments},
        document=lambda: {
            "environment": entry,
            "against": other_environment and other_environment.hash,
            "changes": changes,
        },
        table=lambda: Table(("setting", "value"), sorted(entry.settings.items())),
    )
