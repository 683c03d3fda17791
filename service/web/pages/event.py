"""An event: all drifts of one cause, and what people decide about them. Works without JavaScript."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from service.pipeline import detect_drifts
from service.schemas import events as told
from service.schemas.events import Action, State
from service.store import decisions, events
from service.web.current import database
from service.web.rendering import forms
from service.web.rendering.formats import Page, Table, page

bp = Blueprint("event", __name__)

_LISTED = 100


@page(bp, "/events")
def listed() -> Page:
    """List events: those that somebody has something to do about, or those of one state."""
    asked = request.args.get("state", "open")
    state = State(asked) if asked in set(State) else None
    wanted = events.EventFilter(state=state, open=True if asked == "open" else None)
    offset = min(max(request.args.get("offset", 0, int), 0), 2**31)
    with database().reading() as session:
        found = events.page(session, wanted, _LISTED, offset)
    return Page(
        "events.html",
        {"events": found, "asked": asked, "states": ["open", *(one.value for one in State), "all"]},
        document=lambda: found,
        table=lambda: _table(found.items),
    )


@page(bp, "/events/<event_id>")
def show(event_id: str) -> Page:
    """Show one event."""
    context = _context(event_id)
    return Page(
        "event.html",
        context,
        document=lambda: {"event": context["event"], "decisions": context["log"]},
        table=lambda: _drift_table(context["event"]),
    )


@bp.post("/events/<event_id>/decide")
def decide(event_id: str) -> ResponseReturnValue:
    """Take a decision from the form of an event's page."""
    form = forms.given()
    if form.get("action") != Action.FIX:
        form.pop("commit", None)
    try:
        asked = told.DecisionRequest.model_validate(form)
        with database().writing() as session:
            event = events.find(session, event_id)
            if event is None:
                abort(404, "There is no such event.")
            if event.merged_into is not None:
                return redirect(url_for("event.show", event_id=event.merged_into), HTTPStatus.SEE_OTHER)
            decisions.decide(session, event, asked, asked.author or "")
    except ValidationError as error:
        return _again(event_id, form, forms.wrong(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    except decisions.NotPossibleError as error:
        state = error.state.replace("_", " ")
        return _again(event_id, form, f"Somebody was quicker: the event is {state} already.", HTTPStatus.CONFLICT)
    detect_drifts.refresh(database())
    return redirect(url_for("event.show", event_id=event_id), HTTPStatus.SEE_OTHER)


def _again(event_id: str, form: dict[str, str], problem: str, status: HTTPStatus) -> ResponseReturnValue:
    return render_template("event.html", **(_context(event_id) | {"form": form, "problem": problem})), status


def _context(event_id: str) -> dict[str, Any]:
    with database().reading() as session:
        event = events.detail(session, event_id)
        log = decisions.listed(session, event_id).items if event else []
    if event is None:
        abort(404, "There is no such event. It may belong to another Faultwatch service.")
    return {"event": event, "log": log, "author": forms.author(), "form": {}, "problem": None}


def _table(found: list[told.EventSummary]) -> Table:
    columns = ("id", "subject", "state", "cause", "direction", "headline", "revision", "committed_at", "drifts")
    return Table(
        (*columns, "silenced"),
        (
            (
                *(one.id, one.subject, one.state.value, one.cause.value, one.direction.value, one.headline),
                *(one.revision, one.committed_at, one.n_drifts, one.silenced),
            )
            for one in found
        ),
    )


def _drift_table(event: told.EventDetail) -> Table:
    columns = ("drift", "host", "case", "metric", "unit", "direction", "before", "after", "change", "percent")
    return Table(
        columns,
        (
            (
                *(one.drift_id, one.host, one.case, one.metric, one.unit, one.direction.value),
                *(one.before, one.after, one.change, one.percent),
            )
            for one in event.drifts
        ),
    )
