"""Events: the list, and the page of one with its drifts, its decisions and the form to decide. No JavaScript."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from service.pipeline import decide_events, detect_drifts, next_bisect
from service.rules.access.scope import Scope
from service.schemas.audit import AuditAction
from service.schemas.triage import Action, DecisionRequest, EventDetail, EventSummary, State
from service.store import bisect_results, decisions, events
from service.web.access import audit_log, guard
from service.web.access.public_view import published
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering import forms
from service.web.rendering.formats import Page, Table, page

bp = page_blueprint("event")

_LISTED = 100


@page(bp, "/events")
def listed() -> Page:
    """List the open events, those in one state, or all."""
    shown = request.args.get("state", "open")
    state = State(shown) if shown in set(State) else None
    filter_ = events.EventFilter(state=state, open=True if shown == "open" else None)
    offset = min(max(request.args.get("offset", 0, int), 0), 2**31)
    with database().reading() as session:
        event_list = published(events.page(session, filter_, _LISTED, offset))
    return Page(
        "events.html",
        {"events": event_list, "shown": shown, "states": ["open", *(state.value for state in State), "all"]},
        document=lambda: event_list,
        table=lambda: _event_table(event_list.items),
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
    """Decide about an event, by the form of its page."""
    form = forms.given()
    if form.get("action") != Action.FIX:
        form.pop("commit", None)
    try:
        decision = DecisionRequest.model_validate(form)
        with database().writing() as session:
            event = events.find(session, event_id)
            if event is None:
                abort(404, "There is no such event.")
            if event.merged_into is not None:
                return redirect(url_for("event.show", event_id=event.merged_into), HTTPStatus.SEE_OTHER)
            decide_events.decide(session, event, decision, decision.author or "")
            detail = {"decision": decision.action.value, "reason": decision.reason}
            audit_log.record(session, AuditAction.DECIDED, f"event {event_id}", detail, decision.author)
    except ValidationError as error:
        return _again(event_id, form, forms.wrong(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    except decide_events.DecisionNotAllowedError as error:
        state = error.state.replace("_", " ")
        return _again(event_id, form, f"Somebody decided before you: the event is {state} now.", HTTPStatus.CONFLICT)
    detect_drifts.refresh(database())
    return redirect(url_for("event.show", event_id=event_id), HTTPStatus.SEE_OTHER)


def _again(event_id: str, form: dict[str, str], problem: str, status: HTTPStatus) -> ResponseReturnValue:
    return render_template("event.html", **(_context(event_id) | {"form": form, "problem": problem})), status


def _context(event_id: str) -> dict[str, Any]:
    with database().reading() as session:
        event = next_bisect.detail(session, event_id, datetime.now(UTC))
        log = decisions.listed(session, event_id).items if event else []
        bisects = bisect_results.of_event(session, event.subject, event_id) if event else []
    if event is None:
        abort(404, "There is no such event. It may belong to another Faultwatch service.")
    if guard.is_anonymous():
        log, bisects = [], []
    return {
        "event": published(event),
        "log": log,
        "bisects": bisects,
        "may_bisect": guard.caller().may(Scope.ORDER),
        "author": forms.author(),
        "form": {},
        "problem": None,
    }


def _event_table(summaries: list[EventSummary]) -> Table:
    columns = ("id", "subject", "state", "cause", "direction", "headline", "revision", "committed_at", "drifts")
    return Table(
        (*columns, "silenced"),
        (
            (
                *(event.id, event.subject, event.state.value, event.cause.value, event.direction.value, event.headline),
                *(event.revision, event.committed_at, event.n_drifts, event.silenced),
            )
            for event in summaries
        ),
    )


def _drift_table(event: EventDetail) -> Table:
    columns = ("drift", "host", "case", "metric", "unit", "direction", "before", "after", "change", "percent")
    return Table(
        columns,
        (
            (
                *(drift.drift_id, drift.host, drift.case, drift.metric, drift.unit, drift.direction.value),
                *(drift.before, drift.after, drift.change, drift.percent),
            )
            for drift in event.drifts
        ),
    )
