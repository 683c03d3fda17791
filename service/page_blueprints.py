"""Registers the pages with an application."""

from __future__ import annotations

from flask import Flask
from markupsafe import Markup

from service.lab import page as lab
from service.nightly import page as matrix
from service.releases import page as releases
from service.web import vendor
from service.web.pages import (
    audit,
    badges,
    bisect,
    compare,
    definitions,
    drift,
    drift_map,
    environments,
    error_pages,
    event,
    evidence,
    hosts,
    job,
    judged_series,
    overview,
    page_polling,
    profile,
    run,
    search,
    series,
    settings,
    silences,
    subjects,
    tokens,
    unmeasured,
    workloads,
)
from service.web.rendering import templates

_PAGES = (
    *(overview.bp, matrix.bp, series.bp, compare.bp, drift.bp, bisect.bp, event.bp, silences.bp, run.bp, profile.bp),
    *(evidence.bp, badges.bp),
    *(workloads.bp, hosts.bp, environments.bp, search.bp, page_polling.bp, job.bp, settings.bp, tokens.bp, audit.bp),
    *(subjects.bp, judged_series.bp, releases.bp, lab.bp, unmeasured.bp, drift_map.bp, definitions.bp),
)
_MAIN_PAGES = {
    "overview.show": "Inbox",
    "event.index": "Events",
    "matrix.show": "Matrix",
    "compare.show": "Compare",
    "releases.index": "Releases",
    "workloads.index": "Workloads",
    "run.index": "Runs",
    "jobs.index": "Jobs",
    "bisect.index": "Bisects",
    "profile.index": "Profiles",
    "hosts.index": "Hosts",
    "environments.index": "Environments",
}
"""The navigation links at the top of each page."""


def register_pages(app: Flask) -> None:
    """Give an application its pages, with their templates, scripts and error pages."""
    templates.register(app)
    app.jinja_env.globals |= {"main_pages": _MAIN_PAGES, "may_order": evidence.may_order, "follow": _build_watcher}
    for page in _PAGES:
        app.register_blueprint(page)
    app.register_blueprint(vendor.bp)
    error_pages.answer_unknown_addresses(app)


def _build_watcher(series_id: int | None = None, jobs: bool = False) -> Markup:
    """Return the element with which a page polls for news about one series or all, and optionally about jobs."""
    return Markup(page_polling.build_watcher(page_polling.read_current_state(series_id, jobs), series_id, jobs))  # noqa: S704 - a template of ours
