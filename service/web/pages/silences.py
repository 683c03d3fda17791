"""Silences: which series send no notifications, until when, why, and by whom."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import groupby

from flask import abort, redirect, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from service.schemas import triage
from service.schemas.audit import AuditAction
from service.store.events import silences
from service.web.access import audit_log
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering import forms
from service.web.rendering.formats import Page, Table, page

bp = page_blueprint("silences")

_MAX_LISTED = 200
_MAX_DAYS = 365


@page(bp, "/silences")
def index() -> Page:
    """List silences, active and over."""
    with database().reading() as session:
        silence_list = silences.page(session, None, _MAX_LISTED, 0)
    columns = ("id", "subject", "host", "case", "metric", "author", "reason", "created_at", "until", "active")
    return Page(
        "silences.html",
        {"groups": _group_silences(silence_list.items), "author": forms.author()},
        document=lambda: silence_list,
        table=lambda: Table.from_records(silence_list.items, *columns),
    )


def _group_silences(found: Iterable[triage.Silence]) -> list[list[triage.Silence]]:
    """Put the silences together that were made at once and last as long: one decision about many series is one row."""

    def made(silence: triage.Silence) -> tuple[object, ...]:
        return silence.created_at, silence.author, silence.reason, silence.until, silence.ended_at, silence.ended_by

    return [list(group) for _, group in groupby(found, made)]


@bp.post("/series/<int:series_id>/silence")
def add(series_id: int) -> ResponseReturnValue:
    """Silence one series for some days."""
    form, now = forms.given(), datetime.now(UTC)
    days = request.form.get("days", 0, int)
    if not 0 < days <= _MAX_DAYS:
        abort(422, f"A silence lasts from 1 to {_MAX_DAYS} days.")
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
    return redirect(url_for("silences.index"), HTTPStatus.SEE_OTHER)


@bp.post("/silences/end")
def end() -> ResponseReturnValue:
    """End all silences of one row before their time."""
    author, now = forms.given()["author"], datetime.now(UTC)
    if not author:
        abort(422, "Your name is missing: write who ends the silence.")
    with database().writing() as session:
        for silence_id in request.form.getlist("silence", int):
            if silences.end(session, silence_id, author, now) is None:
                abort(404, "There is no such silence.")
            audit_log.record(session, AuditAction.SILENCE_ENDED, f"silence {silence_id}", author=author)
    return redirect(url_for("silences.index"), HTTPStatus.SEE_OTHER)
