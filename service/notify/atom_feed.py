"""Writes events as an Atom feed (RFC 4287)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, register_namespace, tostring

from service.notify.message import build_link, compose_subject_line, describe_cause, make_single_line
from service.schemas.triage import EventSummary

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"
NAMESPACE = uuid.UUID("6a1c2d1e-6f5b-5d0e-9f38-2f0f3f6f9b1c")
_MAX_AUTHOR_CHARACTERS = 100
_TIME_OF_EMPTY_FEED = datetime(1970, 1, 1, tzinfo=UTC)


def build_feed(events: Sequence[EventSummary], base_url: str, path: str) -> bytes:
    """Return the feed of these events.

    Parameters
    ----------
    base_url
        The address at which people reach the service.
    path
        The path of the feed itself.
    """
    register_namespace("", ATOM)
    feed = Element(f"{{{ATOM}}}feed")
    _add_text(feed, "id", uuid.uuid5(NAMESPACE, "events").urn)
    _add_text(feed, "title", "Faultwatch events")
    _add_text(feed, "updated", _format_time(max((event.changed_at for event in events), default=_TIME_OF_EMPTY_FEED)))
    _add_text(feed, "generator", "Faultwatch")
    _add_link(feed, "self", base_url.rstrip("/") + path, MEDIA_TYPE)
    _add_link(feed, "alternate", build_link(base_url), "text/html")
    for event in events:
        _add_entry(feed, event, base_url)
    indent(feed)
    return bytes(tostring(feed, encoding="utf-8", xml_declaration=True))


def _add_entry(feed: Element, event: EventSummary, base_url: str) -> None:
    """Add an event to the feed."""
    entry = SubElement(feed, f"{{{ATOM}}}entry")
    _add_text(entry, "id", uuid.uuid5(NAMESPACE, event.id).urn)
    _add_text(entry, "title", compose_subject_line(event))
    _add_text(entry, "published", _format_time(event.first_seen_at))
    _add_text(entry, "updated", _format_time(event.changed_at))
    _add_link(entry, "alternate", build_link(base_url, event), "text/html")
    author = SubElement(entry, f"{{{ATOM}}}author")
    _add_text(author, "name", make_single_line(event.author, _MAX_AUTHOR_CHARACTERS) or "unknown")
    SubElement(entry, f"{{{ATOM}}}category", {"term": event.state.value, "label": event.state.replace("_", " ")})
    SubElement(entry, f"{{{ATOM}}}category", {"term": event.cause.value})
    silenced_remark = " Silenced." if event.silenced else ""
    _add_text(
        entry,
        "summary",
        f"State: {event.state.replace('_', ' ')}. Certainty: {event.certainty}. "
        f"Cause: {describe_cause(event)}.{silenced_remark}",
    )


def _add_text(parent: Element, name: str, text: str) -> None:
    SubElement(parent, f"{{{ATOM}}}{name}").text = text


def _add_link(parent: Element, relation: str, address: str, media_type: str) -> None:
    SubElement(parent, f"{{{ATOM}}}link", {"rel": relation, "href": address, "type": media_type})


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
