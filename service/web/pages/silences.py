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
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.page_formats import Page, Table, page, read_offset
from service.web.row_ids import MAX_ROW_ID

bp = make_page_blueprint("silences")

_MAX_LISTED_SILENCES = 200
_MAX_DAYS = 365


@page(bp, "/silences")
def index() -> Page:
    """List active and past silences, the newest first."""
    with get_database().reading() as session:
        silence_list = silences.list_page(session, None, _MAX_LISTED_SILENCES, read_offset())
    columns = ("id", "series_id", *("subject", "host", "case", "metric"), "author", "reason", "created_at")
    return Page(
        "silences.html",
        {
            "silences": silence_list,
            "groups": _group_silences(silence_list.items),
            "author": forms.find_likely_author(),
        },
        document=lambda: silence_list,
        table=lambda: Table.from_records(silence_list.items, *columns, "until", "active"),
    )


def _group_silences(silences: Iterable[triage.Silence]) -> list[list[triage.Silence]]:
    """Group silences with the same start and end, so that one decision about many series becomes one row."""

    def get_occasion(silence: triage.Silence) -> tuple[object, ...]:
        return silence.created_at, silence.author, silence.reason, silence.until, silence.ended_at, silence.ended_by

    return [list(group) for _, group in groupby(silences, get_occasion)]


@bp.post("/series/<int:series_id>/silence")
def add(series_id: int) -> ResponseReturnValue:
    """Silence one series for the number of days in the form."""
    form, now = forms.read_form(), datetime.now(UTC)
    days = request.form.get("days", 0, int)
    if not 0 < days <= _MAX_DAYS:
        abort(422, f"A silence lasts from 1 to {_MAX_DAYS} days.")
    fields = {
        "series_id": series_id,
        "until": now + timedelta(days=days),
        "author": form.get("author", ""),
        "reason": form.get("reason", ""),
    }
    try:
        silence = triage.SilenceRequest.model_validate(fields)
    except ValidationError as error:
        abort(422, forms.describe_errors(error))
    with get_database().writing() as session:
        stored_silence = silences.add_silence(session, silence, silence.author or "", now)
        if stored_silence is None:
            abort(404, "There is no such series.")
        session.flush()
        target, detail = silences.summarise_silence(stored_silence)
        audit_log.record_action(session, AuditAction.SILENCED, target, detail, silence.author)
    return redirect(url_for("silences.index"), HTTPStatus.SEE_OTHER)


@bp.post("/silences/end")
def end() -> ResponseReturnValue:
    """End all silences of one row early."""
    author, now = forms.read_form()["author"], datetime.now(UTC)
    if not author:
        abort(422, "Enter your name, so that the list shows who ended the silence.")
    with get_database().writing() as session:
        for silence_id in request.form.getlist("silence", int):
            is_possible = 0 <= silence_id <= MAX_ROW_ID
            ended_silence = silences.end_silence(session, silence_id, author, now) if is_possible else None
            if ended_silence is None:
                abort(404, "There is no such silence.")
            if ended_silence.ended_at == now:  # Otherwise it had ended before, and this request changed nothing.
                audit_log.record_action(session, AuditAction.SILENCE_ENDED, f"silence {silence_id}", author=author)
    return redirect(url_for("silences.index"), HTTPStatus.SEE_OTHER)
