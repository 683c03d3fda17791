"""The list of events, and the page of an event with its drifts, its decisions and the form to decide. No JavaScript."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from flask import abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError
from sqlalchemy.orm import Session

from runner.contract.number_text import format_count
from service.pipeline import check_bisect_form, decide_events, judging_schedule, next_bisect, triage_events
from service.pipeline.expected_further_runs import FurtherRuns
from service.pipeline.resolve_commit_name import resolve_commit_name
from service.rules.access.scope import Scope
from service.rules.events import lifecycle
from service.rules.events.assignee_and_next_step_text import describe_assignees, describe_next_step
from service.rules.events.headline import split_headline
from service.rules.events.leading_drift import choose_leading_event_drift
from service.rules.imported_runs import has_imported
from service.schemas.audit import AuditAction
from service.schemas.certainty import Certainty
from service.schemas.history import Drift
from service.schemas.triage import (
    Action,
    DecisionRequest,
    EventDetail,
    State,
    TriageAction,
    TriageReceipt,
    TriageRequest,
)
from service.store.bisects import bisect_results
from service.store.events import decisions, events
from service.store.runs import runs
from service.store.series import drifts
from service.store.series import series as series_store
from service.web.access import audit_log, authorization
from service.web.access.public_view import redact_view_for_caller
from service.web.app_resources import get_database
from service.web.charts.drift_picture import draw_drift
from service.web.pages import evidence, inbox, overview
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("event")

_MAX_LISTED_EVENTS = 50
_ACTION_WORDS = {
    TriageAction.ACKNOWLEDGE: "acknowledged",
    TriageAction.EXPECT: "expected",
    TriageAction.DISMISS: "marked as a false alarm",
    TriageAction.REOPEN: "reopened",
    TriageAction.ASSIGN: "assigned",
    TriageAction.SNOOZE: "snoozed",
    TriageAction.WAKE: "put back into the list",
    TriageAction.SILENCE: "silenced",
}
_DEFAULT_SILENCE = timedelta(days=7)
"""How long series are silenced if the form names no date."""
_MAX_COMPLETIONS = 30
"""Largest number of commits with which the field of the fixing commit is completed."""


class UnknownCommitError(Exception):
    """A text does not identify exactly one known commit."""


@page(bp, "/events")
def index() -> Page:
    """List the events that the filters in the address select; without filters, all open events."""
    return _build_list_page(inbox.read_inbox(request.args, path="/events", since=inbox.ALL, limit=_MAX_LISTED_EVENTS))


def _build_list_page(listed_inbox: inbox.Inbox, **context: object) -> Page:
    """Return the page of a list of events, in all formats."""
    return Page(
        "events.html",
        inbox.build_context(listed_inbox, states=inbox.STATES, **context),
        document=lambda: listed_inbox.events,
        table=lambda: inbox.build_table(request.args, path="/events", since=inbox.ALL),
    )


@bp.post("/events/triage")
def triage() -> ResponseReturnValue:
    """Apply one decision to all events selected in a list, or to the one of a page, and show the list or page again."""
    form, event_ids = forms.read_form(), request.form.getlist("event")
    is_of_page = len(event_ids) == 1 and form.get("list") == url_for("event.show", event_id=event_ids[0])
    path, query = _parse_list_address(form.get("list", "/"))
    try:
        triage_request = TriageRequest.model_validate(_build_triage_fields(form, event_ids))
        with get_database().writing() as session:
            receipt = triage_events.triage_events(
                session, triage_request, triage_request.author or "", datetime.now(UTC)
            )
            audit_log.record_triage(session, triage_request, receipt, triage_request.author)
    except ValidationError as error:
        problem = forms.describe_errors(error) if event_ids else "Select at least one event."
        if is_of_page:
            return _show_problem(event_ids[0], form, problem, HTTPStatus.UNPROCESSABLE_ENTITY)
        form_context = {"form": form, "checked": event_ids, "problem": problem}
        if path == "/":
            list_page = overview.build_page(
                inbox.read_inbox(query, path=path, since=inbox.VISIT, limit=overview.EVENTS_PER_PAGE), **form_context
            )
        else:
            list_page = _build_list_page(
                inbox.read_inbox(query, path=path, since=inbox.ALL, limit=_MAX_LISTED_EVENTS), **form_context
            )
        return render_template(list_page.template, **list_page.context), HTTPStatus.UNPROCESSABLE_ENTITY
    judging_schedule.judge_or_defer_series(get_database())
    flash(_describe_receipt(triage_request.action, receipt))
    if is_of_page:
        return redirect(url_for("event.show", event_id=event_ids[0]), HTTPStatus.SEE_OTHER)
    endpoint = "overview.show" if path == "/" else "event.index"
    return redirect(url_for(endpoint, **query), HTTPStatus.SEE_OTHER)  # type: ignore[arg-type]


def _parse_list_address(address: str) -> tuple[str, dict[str, str]]:
    """Return the path of the list from which a form was sent, and those of its parameters that lists have.

    The path is ``/`` if the address is not that of the list of events. If it cannot be parsed, there are no parameters.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/", {}
    query = {name: value for name, value in parse_qsl(parts.query) if name in inbox.PARAMETERS}
    return ("/events" if parts.path == "/events" else "/"), query


def _build_triage_fields(form: dict[str, str], event_ids: list[str]) -> dict[str, Any]:
    """Return the fields of the request. The form has the fields of all actions; those of other actions are left out."""
    action = form.get("action", "")
    fields: dict[str, Any] = {"events": event_ids, "action": action, "author": form["author"]}
    if reason := form.get("reason"):
        fields["reason"] = reason
    if action == TriageAction.ASSIGN:
        fields["assignee"] = form.get("assignee") or form["author"]
    day = form.get("until", "")
    if action in {TriageAction.SNOOZE, TriageAction.SILENCE} and day:
        try:
            fields["until"] = datetime.combine(datetime.fromisoformat(day).date(), time(), UTC)
        except ValueError:
            fields["until"] = day  # Left as it is: the model of the request refuses it with an explanation.
    elif action == TriageAction.SILENCE:
        fields["until"] = datetime.now(UTC) + _DEFAULT_SILENCE
    return fields


def _describe_receipt(action: TriageAction, receipt: TriageReceipt) -> str:
    """Return the outcome of a decision in words: how many events changed, and why others did not."""
    number = len(receipt.done)
    text = f"{format_count(number, 'event')} {_ACTION_WORDS[action]}."
    if receipt.silences:
        series = f"{len(receipt.silences):,} series" if len(receipt.silences) > 1 else "one series"
        # All silences of one decision end at the same time.
        text += f" Nobody is notified of changes in {series} until {receipt.silences[0].until:%Y-%m-%d}."
    elif action is TriageAction.SILENCE and number:
        were = "Their series were" if number > 1 else "Its series was"
        text += f" {were} already silenced for at least as long."
    if receipt.refused:  # The reason for the first one is enough: the list is shown again with the state of each.
        text += f" {len(receipt.refused):,} unchanged: {receipt.refused[0].reason}"
    return text


@page(bp, "/events/<event_id>")
def show(event_id: str) -> Page:
    """Show one event."""
    context = _build_context(event_id)
    return Page(
        "event.html",
        context,
        document=lambda: {"event": context["event"], "decisions": context["log"]},
        table=lambda: _build_drift_table(context["event"]),
    )


@bp.post("/events/<event_id>/decide")
def decide(event_id: str) -> ResponseReturnValue:
    """Carry out the decision in the form of an event's page."""
    form = forms.read_form()
    if form.get("action") != Action.FIX:
        form.pop("commit", None)  # The form always has this field, but it is meant only for fixes.
    try:
        decision = DecisionRequest.model_validate(form | _complete_commit(event_id, form))
        with get_database().writing() as session:
            event = events.find_event(session, event_id)
            if event is None:
                abort(404, "There is no such event.")
            if event.merged_into is not None:
                return redirect(url_for("event.show", event_id=event.merged_into), HTTPStatus.SEE_OTHER)
            decide_events.add_decision(session, event, decision, decision.author or "")
            outcome = _describe_state(event.state)
            detail = {"decision": decision.action.value, "reason": decision.reason}
            audit_log.record_action(session, AuditAction.DECIDED, f"event {event_id}", detail, decision.author)
    except UnknownCommitError as error:
        return _show_problem(event_id, form, str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    except ValidationError as error:
        return _show_problem(event_id, form, forms.describe_errors(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    except decide_events.DecisionNotAllowedError as error:
        state = error.state.replace("_", " ")
        problem = f"The event has changed in the meantime: its state is now “{state}”. Decide again if needed."
        return _show_problem(event_id, form, problem, HTTPStatus.CONFLICT)
    judging_schedule.judge_or_defer_series(get_database())
    flash(outcome)
    return redirect(url_for("event.show", event_id=event_id), HTTPStatus.SEE_OTHER)


def _describe_state(state: State) -> str:
    """Return the state that a decision led to, and whether the event still waits for a decision."""
    stays = "It stays" if state in lifecycle.OPEN else "It is no longer"
    return f"The event is {state.value.replace('_', ' ')}. {stays} among the open events."


def _complete_commit(event_id: str, form: dict[str, str]) -> dict[str, str]:
    """Return the full hash of the commit that a form names, as its field; empty if the form need not be completed.

    Raises
    ------
    UnknownCommitError
        If the text does not identify exactly one known commit. A full hash is accepted even if it is not known yet.
    """
    text = form.get("commit", "")
    if not text or re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
        return {}
    with get_database().reading() as session:
        subject = events.find_subject(session, event_id)
        entry, problem = resolve_commit_name(session, text, subject)
    if entry is None:
        raise UnknownCommitError(problem)
    return {"commit": entry.commit}


def _show_problem(event_id: str, form: dict[str, str], problem: str, status: HTTPStatus) -> ResponseReturnValue:
    return render_template("event.html", **(_build_context(event_id) | {"form": form, "problem": problem})), status


def _build_context(event_id: str) -> dict[str, Any]:
    """Return the context of an event's template."""
    # Read the event, what was decided and searched about it, and the runs on both sides of its leading drift.
    with get_database().reading() as session:
        event = next_bisect.read_event_with_next_step(session, event_id, datetime.now(UTC))
        if event is None:
            abort(404, "There is no such event. It may belong to another Faultwatch service.")
        log = decisions.list_decisions(session, event_id)
        commits = check_bisect_form.list_known_commits(session, event.subject, _MAX_COMPLETIONS)
        bisects = bisect_results.list_event_bisects(session, event.subject, event_id)
        drift = _find_leading_drift(session, event)
        detail = series_store.read_series(session, drift.series_id) if drift and drift.series_id else None
        before = runs.find_report(session, drift.run_before) if drift else None
        after = runs.find_report(session, drift.run_after) if drift else None
        further_runs = FurtherRuns(session, datetime.now(UTC))
        doubt = further_runs.describe_end_of_doubt(drift) if drift else ""
        can_be_confirmed = inbox.can_be_confirmed(event, drift, further_runs)
        needs_bisect = event.open and event.certainty is Certainty.COMMIT_RANGE and not (event.next_step or bisects)
        missing_bisect = further_runs.explain_missing_bisect(drift) if drift and needs_bisect else ""
        bisect_command = next_bisect.build_command(session, drift) if drift and missing_bisect else ""
    # Leave out what only people with access may see.
    profile_context: dict[str, Any] = {}
    if drift and not authorization.is_anonymous():
        profile_context = evidence.find_drift_profiles(drift, before, after)
    if authorization.is_anonymous():
        log, bisects, commits, bisect_command = [], [], [], ""  # The command has the values of variables.
    event = redact_view_for_caller(event)
    return {
        "event": event,
        "headline": split_headline(event.headline, drift.case if drift else ""),
        "assignees": describe_assignees(event, can_be_confirmed=can_be_confirmed),
        "to_do": describe_next_step(event, can_be_confirmed=can_be_confirmed),
        "drift": redact_view_for_caller(drift),
        "picture": draw_drift(detail, drift) if drift and detail else None,
        "imported": has_imported(before, after),
        "doubt": doubt,
        "missing_bisect": missing_bisect if bisect_command else "",
        "bisect_command": bisect_command,
        **profile_context,
        "completions": commits,
        "log": log,
        "bisects": bisects,
        "may_bisect": authorization.find_caller().may(Scope.ORDER),
        "author": forms.find_likely_author(),
        "form": {},
        "problem": None,
    }


def _find_leading_drift(session: Session, event: EventDetail) -> Drift | None:
    """Return the drift that the headline begins with; None if no drift of the event is still detected."""
    leading_drift = choose_leading_event_drift(event.drifts)
    return (
        drifts.find_drift(session, leading_drift.drift_id)
        if leading_drift is not None and leading_drift.drift_id is not None
        else None
    )


def _build_drift_table(event: EventDetail) -> Table:
    """Return the drifts of an event as a table for CSV."""
    return Table.from_records(
        event.drifts,
        ("drift", lambda drift: drift.drift_id),
        *("host", "case", "metric", "unit", "direction", "before", "after", "change", "percent"),
    )
