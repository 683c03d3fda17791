"""Silences: which series send no notifications, and until when. A silence stays listed after its end."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint
from flask import url_for
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict

from service.schemas import triage
from service.schemas.audit import AuditAction
from service.store.events import silences
from service.web.access import audit_log
from service.web.access.author import find_author
from service.web.api.body import PageQuery
from service.web.app_resources import get_database
from service.web.problems import make_field_problem, make_not_found

bp = APIBlueprint("silences", __name__)


class SilenceQuery(PageQuery):
    """The filters of a list of silences."""

    active: bool | None = None


class EndQuery(BaseModel):
    """The end of a silence."""

    model_config = ConfigDict(extra="forbid")

    author: triage.Author | None = None


@bp.get("/silences")
@bp.input(SilenceQuery, location="query")
@bp.output(triage.SilenceList)
def index(query_data: SilenceQuery) -> triage.SilenceList:
    """Return silences, the newest first."""
    with get_database().reading() as session:
        return silences.list_page(session, query_data.active, query_data.limit, query_data.offset)


@bp.post("/silences")
@bp.input(triage.SilenceRequest)
@bp.output(triage.Silence, status_code=201)
def add(json_data: triage.SilenceRequest) -> ResponseReturnValue:
    """Silence one series, or all that match a pattern, until a given time. Drifts are still detected and listed."""
    now = datetime.now(UTC)
    if json_data.until <= now:
        raise make_field_problem("until", "must be in the future")
    author = find_author(json_data.author)
    with get_database().writing() as session:
        silence = silences.add_silence(session, json_data, author, now)
        if silence is None:
            raise make_field_problem("series_id", f"there is no series {json_data.series_id}")
        session.flush()
        target, detail = silences.summarise_silence(silence)
        audit_log.record_action(session, AuditAction.SILENCED, target, detail, author)
        (silence_view,) = silences.build_views(session, [silence], now)
    location = url_for("api.silences.get", silence_id=silence_view.id)
    return silence_view.model_dump(mode="json"), HTTPStatus.CREATED, {"Location": location}


@bp.get("/silences/<int:silence_id>")
@bp.output(triage.Silence)
def get(silence_id: int) -> triage.Silence:
    """Return one silence."""
    with get_database().reading() as session:
        silence = silences.find_silence(session, silence_id, datetime.now(UTC))
    if silence is None:
        raise make_not_found(f"silence {silence_id}")
    return silence


@bp.delete("/silences/<int:silence_id>")
@bp.input(EndQuery, location="query")
@bp.output(triage.Silence)
def end(silence_id: int, query_data: EndQuery) -> triage.Silence:
    """End a silence. It stays listed, with the author of its end. A silence that has already ended does not change."""
    now, author = datetime.now(UTC), find_author(query_data.author)
    with get_database().writing() as session:
        row = silences.end_silence(session, silence_id, author, now)
        if row is None:
            raise make_not_found(f"silence {silence_id}")
        if row.ended_at == now:  # Otherwise it had ended before, and this request changed nothing.
            audit_log.record_action(session, AuditAction.SILENCE_ENDED, f"silence {silence_id}", author=author)
        return silences.build_views(session, [row], now)[0]
