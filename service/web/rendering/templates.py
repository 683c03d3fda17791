"""The filters and functions of all templates: formats of numbers, times and names; addresses of the current page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from flask import Flask
from jinja2 import FileSystemLoader
from markupsafe import Markup, escape

from runner.contract import get_metric, number_text
from runner.contract.diagnosis import Difference
from runner.contract.explanation_text import describe_change
from runner.contract.profile import PROFILE_SCOPES
from service.rules.access.scope import Scope, may_read_anonymously
from service.web import vendor
from service.web.access import authorization
from service.web.rendering.page_formats import build_current_address, list_format_addresses

FOLDER = Path(__file__).resolve().parents[3] / "templates"


def register(app: Flask) -> None:
    """Give an application its templates, with their filters and functions."""
    app.jinja_loader = FileSystemLoader(FOLDER)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters |= {
        "number": number_text.format_number,
        "quantity": number_text.format_quantity,
        "difference": number_text.format_difference,
        "change_sentences": _describe_change,
        "difference_to": number_text.format_level_difference,
        "span": number_text.format_range,
        "amount": number_text.format_amount,
        "duration": number_text.format_duration,
        "percent": number_text.format_percent,
        "utc_text": _format_utc,
        "breakable": _make_name_breakable,
        "metric": get_metric,
        "profile_scope": PROFILE_SCOPES.__getitem__,
    }
    app.jinja_env.globals |= {
        "format_addresses": list_format_addresses,
        "address_with": build_current_address,
        "may_administer": lambda: authorization.find_caller().may(Scope.ADMIN),
        "is_anonymous": authorization.is_anonymous,
        "is_published": False,
        "may_see": _may_see,
        "signed_in": _get_reader_name,
        "htmx": lambda: vendor.find_address("htmx.org"),
        "moment_element": _build_time_element,
        "commit_element": _build_commit_element,
    }


def compile_templates(app: Flask) -> None:
    """Compile all pages of an application, so that the first reader of each page does not wait for this."""
    for name in app.jinja_env.list_templates(extensions=["html"]):
        app.jinja_env.get_template(name)


def _may_see(endpoint: str) -> bool:
    """Return whether the caller may open a page without being sent to the sign-in form."""
    return not authorization.is_anonymous() or may_read_anonymously(endpoint, "GET")


def _get_reader_name() -> str | None:
    """Return the name of the caller's token; None if the service asks for no tokens."""
    return authorization.find_caller().name or None if authorization.requires_tokens() else None


def _describe_change(difference: Difference) -> list[Markup]:
    """Return what a change has to do with a difference, as sentences that mark code as such."""
    return [_mark_code(sentence) for sentence in describe_change(difference, str)]


def _mark_code(sentence: str) -> Markup:
    """Return a sentence in which the code between two backticks is an element; a backtick without a second stays."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(sentence))))  # noqa: S704 - escaped just before


def _make_name_breakable(name: str) -> Markup:
    """Return the name of a case or a setting with line-break opportunities between its parts, not within them."""
    # Before "[", after "_", ":" and "/", and after "," and "." unless digits stand on both sides, as in 1.5.
    return Markup(re.sub(r"(?=\[)|(?<=[_:/])|(?<=[,.])(?<!\d[,.](?=\d))", "<wbr>", str(escape(name))))  # noqa: S704 - escaped just before


def _build_time_element(moment: datetime) -> Markup:
    """Return an element with a time in UTC, which a script in the browser converts to the reader's time zone."""
    exact_time = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    text = _format_utc(moment)
    return Markup(f'<time datetime="{exact_time}Z" title="{text}">{text}</time>')  # noqa: S704 - digits alone


def _build_commit_element(commit_hash: str) -> Markup:
    """Return an element with the first ten digits of a commit's hash."""
    return Markup('<code title="{}">{}</code>').format(commit_hash, commit_hash[:10])


def _format_utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC).isoformat(' ', 'minutes')[:16]} UTC"
