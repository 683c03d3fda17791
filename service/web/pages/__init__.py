"""The pages that people read: one blueprint a page, rendered on the server."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from pathlib import Path

from flask import Flask, render_template, request
from flask.typing import ResponseReturnValue
from jinja2 import FileSystemLoader
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException, NotFound

from runner.contract import metric
from service.rules.access.scope import Scope
from service.text import numbers
from service.web import vendor
from service.web.access import guard
from service.web.pages import (
    bisect,
    compare,
    drift,
    environments,
    event,
    evidence,
    hosts,
    jobs,
    live,
    matrix,
    overview,
    profile,
    run,
    search,
    series,
    settings,
    silences,
    tokens,
    workloads,
)
from service.web.pages.source import EXTENSION, StoreSource
from service.web.problems import ProblemError, http_problem
from service.web.rendering.formats import address_with, negotiated, twin_addresses

log = logging.getLogger(__name__)

TEMPLATES = Path(__file__).resolve().parents[3] / "templates"
_NOWHERE = "Nothing lies at this address. The search box finds commits, cases, hosts and knobs by a part of their name."
_CRASHED = "The service has an error of its own, or cannot read its database. Its log says more."
_PAGES = (
    *(overview.bp, matrix.bp, series.bp, compare.bp, drift.bp, bisect.bp, event.bp, silences.bp, run.bp, profile.bp),
    evidence.bp,
    *(workloads.bp, hosts.bp, environments.bp, search.bp, live.bp, jobs.bp, settings.bp, tokens.bp),
)
_MAIN = {
    "overview.show": "Overview",
    "event.listed": "Events",
    "matrix.show": "Matrix",
    "compare.show": "Compare",
    "workloads.listed": "Workloads",
    "run.listed": "Runs",
    "jobs.listed": "Jobs",
    "bisect.listed": "Bisects",
    "profile.listed": "Profiles",
    "hosts.listed": "Hosts",
    "environments.listed": "Environments",
}
"""What the head of each page leads to."""


def register(app: Flask) -> None:
    """Give an application its pages, which read from its database."""
    app.extensions[EXTENSION] = StoreSource()
    app.jinja_loader = FileSystemLoader(TEMPLATES)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters |= {
        "number": numbers.number,
        "quantity": numbers.quantity,
        "difference": numbers.difference,
        "span": numbers.span,
        "amount": numbers.amount,
        "duration": numbers.duration,
        "percent": numbers.percent,
        "utc_text": _utc_text,
        "breakable": _breakable,
        "metric": metric,
    }
    app.jinja_env.globals |= {
        "twin_addresses": twin_addresses,
        "address_with": address_with,
        "may_order": evidence.may_order,
        "main_pages": _MAIN,
        "may_administer": lambda: guard.caller().may(Scope.ADMIN),
        "signed_in": _signed_in,
        "htmx": _htmx,
        "moment_element": _moment,
        "commit_element": _commit,
        "follow": follow,
    }
    for page in _PAGES:
        app.register_blueprint(page)
    app.register_blueprint(vendor.bp)
    app.register_error_handler(404, _nowhere)


def _signed_in() -> str | None:
    """Return who is signed in; None where nobody has to be."""
    return guard.caller().name or None if guard.by_token() else None


def _htmx() -> str | None:
    """Return the address of htmx; None where it is not installed, and pages do without."""
    return None if vendor.missing() else vendor.address("htmx.org")


def follow(series_id: int | None = None, jobs: bool = False) -> Markup:
    """Have the page follow what is measured: of one series, or of all; and how far jobs are."""
    return Markup(live.watcher(live.current_state(series_id, jobs), series_id, jobs))  # noqa: S704 - a template of ours


def _problem(error: HTTPException) -> ResponseReturnValue:
    """Answer people with a page, and who asked for a twin with a problem document."""
    if (request.endpoint or "").endswith(("_json", "_csv")) or negotiated() != "html":
        return http_problem(error)
    description = _NOWHERE if error.description == NotFound.description else error.description
    return render_template("problem.html", name=error.name, description=description), error.code or 500


def _nowhere(error: HTTPException) -> ResponseReturnValue:
    """Answer an address that nothing lies at: with a page to people, with a problem document to programs."""
    in_page = request.blueprint is not None or request.accept_mimetypes.accept_html
    return _problem(error) if in_page and not request.path.startswith("/api/") else http_problem(error)


def _refused(error: ProblemError) -> ResponseReturnValue:
    """Tell people on a page what programs get as a problem document."""
    return render_template("problem.html", name=error.status.phrase, description=str(error)), error.status


def _crash(error: Exception) -> tuple[str, int]:
    log.error("a page crashed", exc_info=error)
    return render_template("problem.html", name="This page cannot be shown", description=_CRASHED), 500


def _breakable(name: str) -> Markup:
    """Let the name of a case or a knob wrap where its parts meet, not within one."""
    return Markup(re.sub(r"(?=\[)|(?<=[,._:/])", "<wbr>", str(escape(name))))  # noqa: S704 - escaped just before


def _moment(value: datetime) -> Markup:
    """Write a time in UTC; the browser puts it into the reader's zone."""
    exact = value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    text = _utc_text(value)
    return Markup(f'<time datetime="{exact}Z" title="{text}">{text}</time>')  # noqa: S704 - digits alone


def _commit(hash_: str) -> Markup:
    return Markup('<code title="{}">{}</code>').format(hash_, hash_[:10])


def _utc_text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC).isoformat(' ', 'minutes')[:16]} UTC"


for _page in _PAGES:
    _page.register_error_handler(HTTPException, _problem)
    _page.register_error_handler(ProblemError, _refused)
    _page.register_error_handler(Exception, _crash)
