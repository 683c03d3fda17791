"""What every template can use: filters that write numbers, times and names, and addresses of the page that is shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from flask import Flask
from jinja2 import FileSystemLoader
from markupsafe import Markup, escape

from runner.contract import metric
from service.rules.access.scope import Scope, anonymous_may
from service.text import numbers
from service.web import vendor
from service.web.access import guard
from service.web.rendering.formats import address_with, format_addresses

FOLDER = Path(__file__).resolve().parents[3] / "templates"


def register(app: Flask) -> None:
    """Give an application its templates, with their filters and functions."""
    app.jinja_loader = FileSystemLoader(FOLDER)
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
        "format_addresses": format_addresses,
        "address_with": address_with,
        "may_administer": lambda: guard.caller().may(Scope.ADMIN),
        "is_anonymous": guard.is_anonymous,
        "may_see": _may_see,
        "signed_in": _name_signed_in,
        "htmx": _htmx,
        "moment_element": _moment_element,
        "commit_element": _commit_element,
    }


def _may_see(endpoint: str) -> bool:
    """Return whether a link to a page leads an anonymous caller there and not to the sign-in form."""
    return not guard.is_anonymous() or anonymous_may(endpoint, "GET")


def _name_signed_in() -> str | None:
    """Return the name of the caller's token; None if the service asks for no tokens."""
    return guard.caller().name or None if guard.asks_for_tokens() else None


def _htmx() -> str | None:
    """Return the address of htmx; None if it is not installed, and pages do without it."""
    return None if vendor.describe_missing() else vendor.address("htmx.org")


def _breakable(name: str) -> Markup:
    """Let the name of a case or a setting wrap where its parts meet, not within a part."""
    return Markup(re.sub(r"(?=\[)|(?<=[,._:/])", "<wbr>", str(escape(name))))  # noqa: S704 - escaped just before


def _moment_element(moment: datetime) -> Markup:
    """Return an element with a time in UTC; the browser puts it into the reader's zone."""
    exact = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    text = _utc_text(moment)
    return Markup(f'<time datetime="{exact}Z" title="{text}">{text}</time>')  # noqa: S704 - digits alone


def _commit_element(hash_: str) -> Markup:
    """Return an element with the first ten digits of a commit's hash."""
    return Markup('<code title="{}">{}</code>').format(hash_, hash_[:10])


def _utc_text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC).isoformat(' ', 'minutes')[:16]} UTC"
