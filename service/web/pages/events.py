"""Events: the list, and the page of one with its drifts, its decisions and the form to decide. No JavaScript."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError
from sqlalchemy.orm import Session

from service.pipeline import check_bisect, decide_events, detect_drifts, next_bisect
from service.rules.access.scope import Scope
from service.rules.events.headline import leading_of_event
from service.rules.imported_runs import any_imported
from service.schemas.audit import AuditAction
from service.schemas.history import Drift
from service.schemas.triage import Action, DecisionRequest, EventDetail, EventSummary, State
from service.store import bisect_results, decisions, drifts, events, revisions, runs
from service.store import series as series_store
from service.web.access import audit_log, guard
from service.web.access.public_view import published
from service.web.charts.drift_picture import drift_picture
from service.web.current import database
from service.web.pages import evidence
from service.web.pages.error_pages import page_blueprint
from service.web.rendering import forms
from service.web.rendering.formats import Page, Table, page

bp = page_blueprint("event")

_LISTED = 100
_COMPLETED = 30
"""Commits that the field of the fixing commit is completed from."""


class UnknownCommitError(Exception):
    """A text is not the first digits of one known commit."""


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
        decision = DecisionRequest.model_validate(form | _whole_commit(event_id, form))
        with database().writing() as session:
            event = events.find(session, event_id)
            if event is None:
                abort(404, "There is no such event.")
            if event.merged_into is not None:
                return redirect(url_for("event.show", event_id=event.merged_into), HTTPStatus.SEE_OTHER)
            decide_events.decide(session, event, decision, decision.author or "")
            detail = {"decision": decision.action.value, "reason": decision.reason}
            audit_log.record(session, AuditAction.DECIDED, f"event {event_id}", detail, decision.author)
    except UnknownCommitError as error:
        return _again(event_id, form, str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    except ValidationError as error:
        return _again(event_id, form, forms.wrong(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    except decide_events.DecisionNotAllowedError as error:
        state = error.state.replace("_", " ")
        return _again(event_id, form, f"Somebody decided before you: the event is {state} now.", HTTPStatus.CONFLICT)
    detect_drifts.refresh(database())
    return redirect(url_for("event.show", event_id=event_id), HTTPStatus.SEE_OTHER)


def _whole_commit(event_id: str, form: dict[str, str]) -> dict[str, str]:
    """Return the full hash of the commit that a form names by its first digits.

    Raises
    ------
    UnknownCommitError
        Where it is not one commit that is known; a full hash may be of a commit that is not measured yet.
    """
    text = form.get("commit", "")
    if not text or re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
        return {}
    with database().reading() as session:
        subject = events.subject_of(session, event_id)
        commit, why = check_bisect.resolve_commit(session, subject, text) if subject else (None, "")
    if commit is None:
        raise UnknownCommitError(why)
    return {"commit": commit}


def _again(event_id: str, form: dict[str, str], problem: str, status: HTTPStatus) -> ResponseReturnValue:
    return render_template("event.html", **(_context(event_id) | {"form": form, "problem": problem})), status


def _context(event_id: str) -> dict[str, Any]:
    with database().reading() as session:
        event = next_bisect.detail(session, event_id, datetime.now(UTC))
        log = decisions.listed(session, event_id).items if event else []
        commits = revisions.newest(session, event.subject, _COMPLETED) if event and not guard.is_anonymous() else []
        bisects = bisect_results.of_event(session, event.subject, event_id) if event else []
        drift = _leading_drift(session, event) if event else None
        detail = series_store.detail(session, drift.series_id) if drift and drift.series_id else None
        before, after = (runs.report(session, run) if drift else None for run in _sides(drift))
    if event is None:
        abort(404, "There is no such event. It may belong to another Faultwatch service.")
    profiled: dict[str, Any] = {}
    if drift and not guard.is_anonymous():
        profiled = evidence.of_drift(drift, before, after)
    if guard.is_anonymous():
        log, bisects = [], []
    return {
        "event": published(event),
        "drift": published(drift),
        "picture": drift_picture(detail, drift) if drift and detail else None,
        "imported": any_imported(before, after),
        **profiled,
        "completions": commits,
        "log": log,
        "bisects": bisects,
        "may_bisect": guard.caller().may(Scope.ORDER),
        "author": forms.author(),
        "form": {},
        "problem": None,
    }


def _leading_drift(session: Session, event: EventDetail) -> Drift | None:
    """Return the drift that the headline leads with; None where none is detected any more."""
    first = leading_of_event(event.drifts)
    return drifts.find(session, first.drift_id) if first is not None and first.drift_id is not None else None


def _sides(drift: Drift | None) -> tuple[UUID, UUID]:
    """Return the runs before and after a drift."""
    return (drift.run_before, drift.run_after) if drift else (UUID(int=0), UUID(int=0))


def _event_table(summaries: list[EventSummary]) -> Table:
    columns = (
        "id",
        "subject",
        "state",
        "cause",
        "direction",
        "headline",
        "certainty",
        "revision",
        "committed_at",
        "drifts",
    )
    return Table(
        (*columns, "silenced"),
        (
            (
                *(event.id, event.subject, event.state.value, event.cause.value, event.direction.value, event.headline),
                event.certainty.value,
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
