"""Events: drifts with one cause at one place, the decisions about them, and their authors."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint
from pydantic import AliasChoices, Field

from service.pipeline import decide_events, judging_schedule, next_bisect, triage_events
from service.rules.events import lifecycle
from service.schemas import triage as triage_schemas
from service.schemas.audit import AuditAction
from service.schemas.certainty import Certainty
from service.schemas.history import Cause
from service.schemas.triage import EventDirection, EventOrder, State, UtcMoment
from service.store.events import decisions, deliveries, events
from service.web.access import audit_log, authorization
from service.web.access.author import find_author
from service.web.access.public_view import redact_view_for_caller
from service.web.api.body import PageQuery
from service.web.app_resources import get_database
from service.web.problems import FieldError, ProblemError, make_not_found

bp = APIBlueprint("events", __name__)


class EventQuery(PageQuery):
    """The filters of a list of events."""

    subject: str | None = None
    state: State | None = None
    cause: Cause | None = None
    open: bool | None = None
    still_detected: bool | None = Field(default=None, validation_alias=AliasChoices("still_detected", "found"))
    direction: EventDirection | None = None
    """What happened in the event: something got worse, something got better, or both."""
    host: str | None = None
    """The host on which at least one of the event's drifts was found."""
    case: str | None = Field(default=None, max_length=200)
    """A part of the name of the case of at least one of the event's drifts."""
    metric: str | None = None
    """The metric of at least one of the event's drifts."""
    min_series: int | None = Field(default=None, ge=1, le=1_000_000)
    """The smallest number of series in which the event's drifts were found."""
    assignee: str | None = None
    """The assignee; empty if nobody is assigned."""
    certainty: Certainty | None = None
    since: UtcMoment | None = None
    """Found at or after this time."""
    below_floor: bool | None = None
    """Whether the changes are so small that even runs of the same program files can differ by that much."""
    snoozed: bool | None = None
    """Whether the event is left out of the list of open events for now."""
    order: EventOrder = EventOrder.COMMITTED
    """The order of the events."""


@bp.get("/events")
@bp.input(EventQuery, location="query")
@bp.output(triage_schemas.EventList)
def index(query_data: EventQuery) -> triage_schemas.EventList:
    """Return events, starting with the newest commits unless another order is given.

    With a host, a case or a metric, each event is described by its drifts in these series: direction, headline, price,
    and the numbers of drifts and series.
    """
    is_anonymous = authorization.is_anonymous()  # assignees are not public, and a filter would reveal them
    ignored_filters = {"assignee", "snoozed"} if is_anonymous else set()
    event_filter = events.EventFilter(**query_data.model_dump(exclude={"limit", "offset", "order", *ignored_filters}))
    with get_database().reading() as session:
        return redact_view_for_caller(
            events.list_page(session, event_filter, query_data.limit, query_data.offset, query_data.order)
        )


@bp.post("/events/triage")
@bp.input(triage_schemas.TriageRequest)
@bp.output(triage_schemas.TriageReceipt)
def triage(json_data: triage_schemas.TriageRequest) -> triage_schemas.TriageReceipt:
    """Decide once about several events: acknowledge, expect, dismiss, reopen, assign, snooze, wake or silence them.

    Events that do not allow the decision stay as they are, and the response says why.
    """
    author = find_author(json_data.author)
    with get_database().writing() as session:
        receipt = triage_events.triage_events(session, json_data, author, datetime.now(UTC))
        audit_log.record_triage(session, json_data, receipt, author)
    judging_schedule.judge_or_defer_series(get_database())
    return receipt


@bp.get("/events/<event_id>")
@bp.output(triage_schemas.EventDetail)
def get(event_id: str) -> triage_schemas.EventDetail:
    """Return one event with its drifts. A merged event is kept, and refers to the event into which it was merged."""
    with get_database().reading() as session:
        event = next_bisect.read_event_with_next_step(session, event_id, datetime.now(UTC))
    if event is None:
        raise make_not_found(f"event {event_id}")
    return redact_view_for_caller(event)


@bp.get("/events/<event_id>/decisions")
@bp.input(PageQuery, location="query")
@bp.output(triage_schemas.DecisionList)
def log(event_id: str, query_data: PageQuery) -> triage_schemas.DecisionList:
    """Return the decisions about an event, oldest first."""
    with get_database().reading() as session:
        if events.find_event(session, event_id) is None:
            raise make_not_found(f"event {event_id}")
        return decisions.list_page(session, event_id, query_data.limit, query_data.offset)


@bp.get("/events/<event_id>/deliveries")
@bp.input(PageQuery, location="query")
@bp.output(triage_schemas.DeliveryList)
def delivered(event_id: str, query_data: PageQuery) -> triage_schemas.DeliveryList:
    """Return the notifications about an event: the channel of each, when it was sent, and when it is tried again."""
    with get_database().reading() as session:
        if events.find_event(session, event_id) is None:
            raise make_not_found(f"event {event_id}")
        return deliveries.list_page(session, event_id, query_data.limit, query_data.offset)


@bp.post("/events/<event_id>/decisions")
@bp.input(triage_schemas.DecisionRequest)
@bp.output(triage_schemas.Decision, status_code=201)
def decide(event_id: str, json_data: triage_schemas.DecisionRequest) -> triage_schemas.Decision:
    """Decide on an event: acknowledge, expect, fix, dismiss (a false alarm) or reopen it."""
    author = find_author(json_data.author)
    with get_database().writing() as session:
        event = events.find_event(session, event_id)
        if event is None:
            raise make_not_found(f"event {event_id}")
        if event.merged_into is not None:
            raise ProblemError(
                HTTPStatus.CONFLICT,
                f"The event was merged into event {event.merged_into}: decide on that event.",
            )
        try:
            decision = decisions.build_view(decide_events.add_decision(session, event, json_data, author))
            audit_detail = {"decision": json_data.action.value, "reason": json_data.reason}
            audit_log.record_action(session, AuditAction.DECIDED, f"event {event_id}", audit_detail, author)
        except decide_events.DecisionNotAllowedError as error:
            allowed_actions = ", ".join(lifecycle.list_allowed_actions(error.state))
            detail = f"{json_data.action} is not allowed while the event is {error.state}; allowed: {allowed_actions}"
            raise ProblemError(
                HTTPStatus.CONFLICT, f"action: {detail}", [FieldError(field="action", detail=detail)]
            ) from error
    judging_schedule.judge_or_defer_series(get_database())
    return decision
