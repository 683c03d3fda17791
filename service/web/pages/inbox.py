"""The list of events with its filters and rows, which the first page and ``/events`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode

from flask import url_for
from sqlalchemy.orm import Session

from runner.contract import CATALOGUE
from service.pipeline.expected_further_runs import FurtherRuns
from service.rules.access.scope import Scope
from service.rules.events import time_filter
from service.rules.events.assignee_and_next_step_text import describe_assignees, describe_next_step
from service.rules.events.headline import name_cause, split_headline
from service.rules.events.visit import Visit
from service.rules.series.sparkline import Sparkline
from service.schemas.certainty import Certainty
from service.schemas.history import Cause, Drift
from service.schemas.triage import EventDirection, EventList, EventOrder, EventSummary, State
from service.store import hosts, subjects
from service.store.events import events, leading_drifts
from service.store.events.events import EventCounts, EventFilter
from service.store.events.leading_drifts import ALL_SERIES, SeriesSelection
from service.store.series import sparklines
from service.web.access import authorization
from service.web.access.public_view import redact_view_for_caller
from service.web.app_resources import get_database
from service.web.problems import make_field_problem
from service.web.rendering import forms, reader_visit
from service.web.rendering.csv_tables import EventRow, build_event_table
from service.web.rendering.page_formats import MAX_OFFSET, Table

ALL, VISIT, NOBODY = "all", "visit", "nobody"
FIRST_VISIT_SINCE = "7d"
"""The filter by time for a reader who has no earlier visit."""
STATES = ("open", *(state.value for state in State), ALL)
_SINCE_WORDS = {
    VISIT: "your last visit",
    "24h": "24 hours ago",
    "friday": "Friday",
    "7d": "7 days ago",
    "30d": "30 days ago",
    ALL: "the beginning",
}
PARAMETERS = (
    *("state", "since", "date", "committed", "direction", "subject", "host", "assignee", "certainty", "cause"),
    *("case", "metric", "series", "sort", "folded", "snoozed", "offset"),
)
"""The parameters that the address of a list may have."""
_FOLDED_ROWS = 100
_MAX_TABLE_EVENTS = 10_000
"""The largest number of events in the CSV format."""
_MAX_SERIES = 1_000_000
_MAX_SHORT_CHARACTERS, _MAX_NAME_CHARACTERS, _MAX_AUTHOR_CHARACTERS = 40, 200, 100
"""Number of characters to which a value is cut: a time or the name of a parameter; the name of a subject, host or case;
the name of a person."""

Member = TypeVar("Member", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class InboxQuery:
    """The filters, the order and the page of a list, as texts from its address; an empty text stands for all."""

    path: str
    state: str
    since: str
    direction: str = ""
    subject: str = ""
    host: str = ""
    assignee: str = ""
    certainty: str = ""
    cause: str = ""
    case: str = ""
    metric: str = ""
    series: str = ""
    committed: str = ""
    sort: str = EventOrder.IMPORTANCE.value
    folded: str = ""
    snoozed: str = ""
    offset: int = 0

    def build_address(self, **changes: object) -> str:
        """Return the address of the first page of this list, with some parameters changed.

        Parameters that are empty or have their default value are left out.
        """
        # A new selection starts at its first page, so `offset` is not kept. `since` contains the value of `date`.
        query = {name: getattr(self, name) for name in PARAMETERS if name not in {"date", "offset"}} | changes
        defaults = {"state": "open", "sort": EventOrder.IMPORTANCE.value}
        arguments = {name: value for name, value in query.items() if value and value != defaults.get(name)}
        return f"{self.path}?{urlencode(arguments)}" if arguments else self.path

    @property
    def filtered(self) -> bool:
        """Whether any filter other than the time is set."""
        return bool(self.subject) or self.selects_within_map

    @property
    def selects_within_map(self) -> bool:
        """Whether a filter is set that the map above the list does not follow, unlike that of the subject."""
        return any((self.direction, self.host, self.cause, self.has_further_filters))

    @property
    def has_further_filters(self) -> bool:
        """Whether a filter in the folded part of the form is set."""
        return any((self.committed, self.assignee, self.certainty, self.case, self.metric, self.series))

    def build_filter(self, since: datetime | None, committed_since: datetime | None) -> EventFilter:
        """Return the filter of the store. Without a state, events of all states are selected."""
        assignee: str | None = self.assignee or None
        if authorization.is_anonymous():
            assignee = None  # Assignees are not public, and filtering by one would reveal them.
        elif self.assignee == NOBODY:
            assignee = ""
        return EventFilter(
            subject=self.subject or None,
            state=State(self.state) if self.state in set(State) else None,
            open=True if self.state == "open" else None,
            direction=EventDirection(self.direction) if self.direction else None,
            host=self.host or None,
            assignee=assignee,
            certainty=Certainty(self.certainty) if self.certainty else None,
            cause=Cause(self.cause) if self.cause else None,
            case=self.case or None,
            metric=self.metric or None,
            min_series=int(self.series) if self.series else None,
            since=since,
            committed_since=committed_since,
        )


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """An event as the list shows it, with its leading drift, which is None if none of its drifts is still detected."""

    event: EventSummary
    drift: Drift | None
    trend: Sparkline | None
    assignees: str
    next_step: str

    @property
    def headline(self) -> tuple[str, str]:
        """The two parts of the headline: about the leading drift, and about the others."""
        return split_headline(self.event.headline, self.drift.case if self.drift else "")

    @property
    def cause(self) -> str:
        """The cause in one line; empty without a drift."""
        return name_cause(self.event, self.drift) if self.drift else ""


@dataclass(frozen=True, slots=True)
class Inbox:
    """The list of events, and everything else that the template of the list needs.

    Attributes
    ----------
    since
        The time since which events are listed; None for all events.
    since_choice, since_words
        The value of the filter by time in the address, and its wording in a sentence.
    committed_words
        The wording of the filter by the date of the commit; empty without this filter.
    counts
        The events that the filters select.
    older
        The number of further events before ``since`` that the filters select.
    nothing_new
        Whether nothing was found since the last visit, and all open events are listed instead.
    rows, folded_rows
        One page of the selected events, and the events below their floors if the reader unfolds them.
    """

    query: InboxQuery
    since: datetime | None
    since_choice: str
    since_words: str
    committed_words: str
    counts: EventCounts
    older: int
    nothing_new: bool
    events: EventList
    rows: list[ListedEvent]
    folded_rows: list[ListedEvent]
    choices: Mapping[str, Sequence[tuple[str, str]]]


def build_table(args: Mapping[str, str], *, path: str, since: str) -> Table:
    """Return all events that an address asks for, from its offset on, as a table; for the parameters, see below."""
    rows = read_inbox(args, path=path, since=since, limit=_MAX_TABLE_EVENTS).rows
    return build_event_table(EventRow(row.event, row.drift, row.cause, row.assignees, row.next_step) for row in rows)


def read_inbox(args: Mapping[str, str], *, path: str, since: str, limit: int) -> Inbox:
    """Return the list of events that an address asks for.

    Parameters
    ----------
    args
        The query of the address.
    path
        The address of the page without its query.
    since
        The filter by time to use if the query has none.
    limit
        The largest number of events on one page.

    Raises
    ------
    ProblemError
        If the query has an invalid value.
    """
    # The start of the period; FIRST_VISIT_SINCE for a reader without an earlier visit.
    query, now = _read_query(args, path, since), datetime.now(UTC)
    visit = reader_visit.find_current_visit(now) if since == VISIT else None
    since_choice = query.since
    if since_choice == VISIT and (visit is None or visit.since is None):
        since_choice = FIRST_VISIT_SINCE
    start = _find_start(since_choice, visit, now)
    committed_since = _parse_moment("committed", query.committed, now) if query.committed else None
    with get_database().reading() as store:
        # Count the matching events; if none is new, count all open events instead.
        event_filter = query.build_filter(start, committed_since)
        counts, counts_at_any_time = events.count_events(store, event_filter)
        has_nothing_new = "since" not in args and since == VISIT and not counts.total and bool(counts_at_any_time.total)
        if has_nothing_new:
            event_filter, counts = query.build_filter(None, committed_since), counts_at_any_time
        # The events of this page. Those below the floor are listed separately if the reader unfolds them; only the
        # list of snoozed events contains them among the others (None selects both).
        shown_filter = replace(event_filter, below_floor=None if query.snoozed else False, snoozed=bool(query.snoozed))
        order = EventOrder(query.sort)
        total = counts.snoozed if query.snoozed else counts.total
        event_list = redact_view_for_caller(events.list_page(store, shown_filter, limit, query.offset, order, total))
        folded_events = (
            redact_view_for_caller(
                events.list_page(
                    store, replace(shown_filter, below_floor=True), _FOLDED_ROWS, 0, order, counts.below_floor
                )
            ).items
            if query.folded
            else []
        )
        rows = build_rows(store, [*event_list.items, *folded_events], event_filter.selection)
        choices = _list_choices(store, query)
    return Inbox(
        query=query,
        since=start,
        since_choice=since_choice,
        since_words=time_filter.describe_since(since_choice),
        committed_words=time_filter.describe_since(query.committed) if query.committed else "",
        counts=counts,
        older=0 if has_nothing_new else counts_at_any_time.total - counts.total,
        nothing_new=has_nothing_new,
        events=event_list,
        rows=rows[: len(event_list.items)],
        folded_rows=rows[len(event_list.items) :],
        choices=choices,
    )


def _read_query(args: Mapping[str, str], path: str, since: str) -> InboxQuery:
    """Return the filters in an address; refuse unknown parameters and invalid choices.

    An invalid offset counts as 0, and long texts are cut. A ``date`` that was typed takes precedence over the chosen
    ``since``.
    """
    for name in args:
        if name not in PARAMETERS:
            raise make_field_problem(
                name[:_MAX_SHORT_CHARACTERS],
                f"is not a parameter of this list; its parameters are {', '.join(PARAMETERS)}",
            )
    sort = _read_choice(EventOrder, args, "sort") or EventOrder.IMPORTANCE.value
    state = args.get("state") or "open"
    if state not in STATES:
        raise make_field_problem("state", f"must be one of {', '.join(STATES)}")
    try:
        offset = min(max(int(args.get("offset", "0")), 0), MAX_OFFSET)
    except ValueError:
        offset = 0
    return InboxQuery(
        path=path,
        state=state,
        since=(args.get("date") or args.get("since") or since)[:_MAX_SHORT_CHARACTERS],
        direction=_read_choice(EventDirection, args, "direction"),
        subject=args.get("subject", "")[:_MAX_NAME_CHARACTERS],
        host=args.get("host", "")[:_MAX_NAME_CHARACTERS],
        assignee=args.get("assignee", "")[:_MAX_AUTHOR_CHARACTERS],
        certainty=_read_choice(Certainty, args, "certainty"),
        cause=_read_choice(Cause, args, "cause"),
        case=args.get("case", "").strip()[:_MAX_NAME_CHARACTERS],
        metric=_read_metric(args),
        series=_read_min_series(args),
        committed=args.get("committed", "")[:_MAX_SHORT_CHARACTERS],
        sort=sort,
        folded="1" if args.get("folded") else "",
        snoozed="1" if args.get("snoozed") else "",
        offset=offset,
    )


def _read_choice(kind: type[Member], args: Mapping[str, str], name: str) -> str:
    """Return the value of a filter; refuse a value that does not exist."""
    value = args.get(name, "")
    if value and value not in set(kind):
        raise make_field_problem(name, f"must be one of {', '.join(kind)}")
    return value


def _read_metric(args: Mapping[str, str]) -> str:
    """Return the metric by which to filter; refuse a metric that does not exist."""
    value = args.get("metric", "")
    if value and value not in CATALOGUE:
        raise make_field_problem("metric", "must be the name of a metric, such as minor-faults")
    return value


def _read_min_series(args: Mapping[str, str]) -> str:
    """Return the smallest number of series by which to filter, as a text; refuse an invalid number."""
    value = args.get("series", "")
    is_number = value.isascii() and value.isdigit() and len(value) <= len(str(_MAX_SERIES))
    if value and not (is_number and 0 < int(value) <= _MAX_SERIES):
        raise make_field_problem("series", f"must be a number from 1 to {_MAX_SERIES:,}")
    return value


def _find_start(since: str, visit: Visit | None, now: datetime) -> datetime | None:
    """Return the time since which events are listed; None for all events."""
    if since == ALL:
        return None
    if since == VISIT:
        return visit.since if visit else None
    return _parse_moment("since", since, now, f", or {ALL}")


def _parse_moment(name: str, text: str, now: datetime, further_advice: str = "") -> datetime:
    """Return the time that the text of a parameter names; refuse an invalid text, and say what else to write."""
    try:
        return time_filter.parse_since(text, now)
    except ValueError as error:
        raise make_field_problem(name, f"{error}{further_advice}") from error


def build_rows(
    store: Session, items: Sequence[EventSummary], selection: SeriesSelection = ALL_SERIES
) -> list[ListedEvent]:
    """Return the rows of the list: each event with the drift that leads its headline, a sparkline and the next step.

    Parameters
    ----------
    selection
        The series by which the events are described.
    """
    drifts_of_event = leading_drifts.map_leading_drifts(store, [event.id for event in items], 1, selection)
    drift_of_event = {
        event_id: redact_view_for_caller(drifts[0]) for event_id, drifts in drifts_of_event.items() if drifts
    }
    sparkline_of_series = sparklines.read_sparklines(store, [drift.series_id for drift in drift_of_event.values()])
    rows = []
    further_runs = FurtherRuns(store, datetime.now(UTC))
    for event in items:
        drift = drift_of_event.get(event.id)
        is_confirmable = can_be_confirmed(event, drift, further_runs)
        rows.append(
            ListedEvent(
                event=event,
                drift=drift,
                trend=sparkline_of_series.get(drift.series_id) if drift else None,
                assignees=describe_assignees(event, can_be_confirmed=is_confirmable),
                next_step=describe_next_step(event, can_be_confirmed=is_confirmable),
            )
        )
    return rows


def can_be_confirmed(event: EventSummary, drift: Drift | None, further_runs: FurtherRuns) -> bool:
    """Return whether an event is certain, or runs that can make it certain are expected.

    The answer is True for an event without a drift, about which nothing is known.
    """
    return event.certainty is not Certainty.PROVISIONAL or drift is None or further_runs.are_expected(drift)


def _list_choices(store: Session, query: InboxQuery) -> dict[str, list[tuple[str, str]]]:
    """Return the choices of each filter, as pairs of the value in the address and the text that is shown."""
    subject_names = [entry.name for entry in subjects.list_subjects(store)]
    choices: dict[str, list[tuple[str, str]]] = {
        "since": list(_SINCE_WORDS.items()),
        "direction": [
            ("", "any direction"),
            ("regression", "worse"),
            ("improvement", "better"),
            ("mixed", "mixed: worse and better"),
        ],
        "certainty": [
            ("", "any certainty"),
            ("proven", "proven"),
            ("single", "only candidate"),
            ("confirmed", "certain, not caused by a commit"),
            ("range", "range of commits"),
            ("provisional", "suspected"),
        ],
        "cause": [
            ("", "any cause"),
            ("commit", "commit"),
            ("config", "configuration"),
            ("both", "commit or configuration"),
            ("unknown", "unknown"),
        ],
        "metric": [("", "any metric"), *((name, entry.title) for name, entry in CATALOGUE.items())],
        "series": [("", "any number"), *((str(number), f"{number} or more") for number in (2, 10, 100))],
        "sort": [
            ("importance", "most important"),
            ("size", "largest"),
            ("price", "most expensive"),
            ("found", "most recently found"),
            ("committed", "newest commit"),
        ],
        "subject": [("", "all subjects"), *((name, name) for name in subject_names)],
    }
    if not authorization.is_anonymous():
        choices["host"] = [("", "all hosts"), *((name, name) for name in hosts.list_host_names(store))]
        assignee_choices = [(name, name) for name in events.list_assignees(store)]
        choices["assignee"] = [("", "anybody"), (NOBODY, "unassigned"), *assignee_choices]
    if query.series and query.series not in dict(choices["series"]):
        choices["series"].append((query.series, f"{query.series} or more"))
    if query.since not in _SINCE_WORDS:
        choices["since"].insert(0, (query.since, query.since))
    return choices


def build_context(inbox: Inbox, **context: Any) -> dict[str, Any]:
    """Return the context of the templates of the list."""
    return {
        "inbox": inbox,
        "may_decide": authorization.find_caller().may(Scope.TRIAGE),
        "author": forms.find_likely_author(),
        "form": {},
        "checked": (),
        "problem": None,
        "triage_address": url_for("event.triage"),
        **context,
    }
