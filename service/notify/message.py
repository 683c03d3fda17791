"""Writes notification messages. Untrusted text, such as the title of a commit, cannot become markup or a new line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType

from service.rules.jobs.bisect_allowance import orders_bisects
from service.schemas.certainty import Certainty
from service.schemas.history import Cause
from service.schemas.triage import EventDirection, EventSummary, NextStep, State
from service.text.cause_text import prefix_provisional

MAX_EVENTS = 25
"""The largest number of events that a message lists; of further events, it gives only the number."""
_MAX_COMMAND_CHARACTERS = 1_000
_MAX_SUBJECT_CHARACTERS, _MAX_AUTHOR_CHARACTERS, _MAX_REASON_CHARACTERS = 60, 80, 500
"""The largest lengths of a subject's name, an author's name, and a reason in a line."""
_CONTROL_CHARACTER = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that end a line, change the direction of text, or are invalid in XML."""
_CAUSES = {
    Cause.COMMIT: "commit",
    Cause.CONFIG: "configuration",
    Cause.COMMIT_AND_CONFIG: (
        "commit and configuration changed together; a cross-measurement follows if the environments differ"
    ),
    Cause.UNKNOWN: "unknown: neither a commit nor a recorded setting explains the change",
}


@dataclass(frozen=True, slots=True)
class Message:
    """A notification.

    Attributes
    ----------
    key
        Identifies the message: it is the same if the message is sent again.
    subject
        The first line, which is one sentence.
    lines
        The lines of the body.
    links
        The lines that are addresses of this service. Other lines may contain untrusted text.
    """

    key: str
    subject: str
    lines: tuple[str, ...]
    links: frozenset[str] = frozenset()


def compose_message(
    key: str,
    events: Sequence[EventSummary],
    base_url: str,
    steps: Mapping[str, NextStep] = MappingProxyType({}),
    returned_events: Set[str] = frozenset(),
) -> Message:
    """Return the message about these events.

    Parameters
    ----------
    base_url
        The address with which links begin.
    steps
        By the id of an event: the bisect that the event needs.
    returned_events
        The ids of the events that were reported as withdrawn before.
    """
    links = frozenset((build_link(base_url), *(build_link(base_url, event) for event in events)))
    if len(events) == 1:
        return Message(
            key,
            compose_subject_line(events[0], has_returned=events[0].id in returned_events),
            (*_describe_event(events[0], base_url, steps), "", build_link(base_url)),
            links,
        )
    subject = f"[faultwatch] {len(events)} events: {_count_events_by_direction(events)}"
    above_floor = [event for event in events if not event.below_floor] or list(events)
    shown_events = above_floor[:MAX_EVENTS]
    lines = []
    for event in shown_events:
        # The headline replaces the first line about the event.
        _, *further_lines = _describe_event(event, base_url, steps)
        lines += [compose_subject_line(event, has_returned=event.id in returned_events), *further_lines, ""]
    if len(above_floor) > len(shown_events):
        lines += [f"… and {len(above_floor) - len(shown_events)} more.", ""]
    if len(events) > len(above_floor):
        lines += [
            f"{len(events) - len(above_floor)} more below the floor: changes this small occur even between runs "
            "of identical programs.",
            "",
        ]
    return Message(key, subject, (*lines, build_link(base_url)), links)


def _count_events_by_direction(events: Sequence[EventSummary]) -> str:
    """Return how many events are worse, mixed, better and withdrawn: ``3 worse, 1 mixed, 2 better``."""
    counts = Counter(event.direction for event in events if event.state is not State.WITHDRAWN)
    parts = [f"{counts[EventDirection.REGRESSION]} worse"]
    if n_mixed := counts[EventDirection.MIXED]:
        parts.append(f"{n_mixed} mixed")
    parts.append(f"{counts[EventDirection.IMPROVEMENT]} better")
    if n_withdrawn := len(events) - counts.total():
        parts.append(f"{n_withdrawn} withdrawn")
    return ", ".join(parts)


def compose_subject_line(event: EventSummary, *, has_returned: bool = False) -> str:
    """Return in one line what happened: the subject of a mail about an event, and its title in the feed."""
    prefix = ""
    if event.state is State.WITHDRAWN:
        prefix = "withdrawn: "
    elif event.state is State.REOPENED or has_returned:
        prefix = "again: "
    subject_name = make_single_line(event.subject, _MAX_SUBJECT_CHARACTERS)
    return f"[{subject_name}] {prefix}{make_single_line(event.full_headline)}"


def build_link(base_url: str, event: EventSummary | None = None) -> str:
    """Return the address of an event, or of the service."""
    root_url = base_url.rstrip("/")
    return f"{root_url}/" if event is None else f"{root_url}/events/{event.id}"


def make_single_line(text: str, max_characters: int = 200) -> str:
    """Return text as one line without control characters, including those that change the direction of writing."""
    line = " ".join(_CONTROL_CHARACTER.sub(" ", text).split())
    return line if len(line) <= max_characters else line[: max_characters - 1] + "…"


def describe_cause(event: EventSummary) -> str:
    """Return what caused an event. A commit and its author are named only if it is certainly the cause, or proven."""
    if event.cause is not Cause.COMMIT:
        words = _CAUSES[event.cause]
        return prefix_provisional(words) if event.certainty is Certainty.PROVISIONAL else words
    if len(event.culprits) == 1:
        culprit = event.culprits[0]
        author = make_single_line(culprit.author, _MAX_AUTHOR_CHARACTERS)
        culprit_text = f"commit {culprit.commit[:12]} “{make_single_line(culprit.title)}” by {author}"
    elif event.certainty is Certainty.SINGLE_COMMIT:
        author = make_single_line(event.author, _MAX_AUTHOR_CHARACTERS)
        culprit_text = f"commit {event.revision[:12]} “{make_single_line(event.title)}” by {author}"
    else:
        culprit_text = make_single_line(event.blamed)
    return f"{culprit_text}, proven by bisect {event.bisect}" if event.culprits else culprit_text


def _describe_event(event: EventSummary, base_url: str, steps: Mapping[str, NextStep]) -> tuple[str, ...]:
    """Return the lines about an event: what moved, the price, the cause, an offer to bisect, and the link."""
    decision = event.last_decision
    reason = decision.reason if event.state is State.WITHDRAWN and decision is not None else ""
    lines = [make_single_line(event.headline)]
    if reason:
        lines.append(f"Withdrawn: {make_single_line(reason, _MAX_REASON_CHARACTERS)}")
    if event.price:
        lines.append(f"Price: {make_single_line(event.price)}")
    lines.append(f"Cause: {describe_cause(event)}")
    series_phrase = f"{event.n_series} series of " if event.n_series else ""  # a suite shift belongs to no series
    lines.append(f"Where: {series_phrase}{make_single_line(event.subject, _MAX_SUBJECT_CHARACTERS)}")
    if event.id in steps:
        lines.append(_offer_bisect(steps[event.id]))
    lines.append(build_link(base_url, event))
    return tuple(lines)


def _offer_bisect(step: NextStep) -> str:
    """Return the line about the next bisect, with the command that starts it."""
    runs = f" with about {step.runs} measurements" if step.runs else ""
    if orders_bisects(step.policy):
        return f"Next: the service will bisect the commits{runs}"
    # Leave out a command that does not fit into the line unchanged, because it would do something else.
    fits_into_line = make_single_line(step.command, _MAX_COMMAND_CHARACTERS) == step.command
    command_clause = f", in a clone: {step.command}" if step.command and fits_into_line else ""
    return f"Next: bisect the commits{runs}{command_clause}"
