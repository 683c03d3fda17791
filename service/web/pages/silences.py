"""Silences: which series send no notifications, until when, why, and by whom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from http import HTTPStatus

from flask import abort, redirect, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from service.schemas import triage
from service.schemas.audit import AuditAction
from service.store import silences
from service.web.access import audit_log
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering import forms
from service.web.rendering.formats import Page, Table, page

bp = page_blueprint("silences")

_LISTED = 200
_LONGEST = 365


@page(bp, "/silences")
def listed() -> Page:
    """List silences, active and over."""
    with database().reading() as session:
        silence_list = silences.page(session, None, _LISTED, 0)
    columns = ("id", "subject", "host", "case", "metric", "author", "reason", "created_at", "until", "active")
    return Page(
        "silences.html",
        {"silences": silence_list, "author": forms.author()},
        document=lambda: silence_list,
        table=lambda: Table(
            columns,
            (
                (
                    *(
                        silence.id,
                        silence.subject,
                        silence.host,
                        silence.case,
                        silence.metric,
                        silence.author,
                        silence.reason,
                    ),
                    *(silence.created_at, silence.until, silence.active),
                )
                for silence in silence_list.items
            ),
        ),
    )


@bp.post("/series/<int:series_id>/silence")
def add(series_id: int) -> ResponseReturnValue:
    """Silence one series for some days."""
    form, now = forms.given(), datetime.now(UTC)
    days = request.form.get("days", 0, int)
    if not 0 < days <= _LONGEST:
        abort(422, f"A silence lasts from 1 to {_LONGEST} days.")
    pattern = {"series_id": series_id, "until": now + timedelta(days=days)}
    try:
        silence = triage.SilenceRequest.model_validate(
            pattern | {name: form.get(name, "") for name in ("author", "reason")}
        )
    except ValidationError as error:
        abort(422, forms.wrong(error))
    with database().writing() as session:
        made = silences.add(session, silence, silence.author or "", now)
        if made is None:
            abort(404, "There is no such series.")
        session.flush()
        audit_log.record(session, AuditAction.SILENCED, *silences.summary(made), silence.author)
    return redirect(url_for("silences.listed"), HTTPStatus.SEE_OTHER)


@bp.post("/silences/<int:silence_id>/end")
def end(silence_id: int) -> ResponseReturnValue:
    """End a silence before its time."""
    author = forms.given()["author"]
    if not author:
        abort(422, "author: say who ends it.")
    with database().writing() as session:
        if silences.end(session, silence_id, author, datetime.now(UTC)) is None:
            abort(404, "There is no such silence.")
        audit_log.record(session, AuditAction.SILENCE_ENDED, f"silence {silence_id}", author=author)
    return redirect(url_for("silences.listed"), HTTPStatus.SEE_OTHER)
