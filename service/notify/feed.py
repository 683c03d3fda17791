"""Writes events as an Atom feed (RFC 4287)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, register_namespace, tostring

from service.notify.message import cause, link, make_plain, subject
from service.schemas.triage import EventSummary

ATOM = "http://www.w3.org/2005/Atom"
MEDIA_TYPE = "application/atom+xml"
NAMESPACE = uuid.UUID("6a1c2d1e-6f5b-5d0e-9f38-2f0f3f6f9b1c")
_EMPTY = datetime(1970, 1, 1, tzinfo=UTC)


def write(events: Sequence[EventSummary], base: str, path: str) -> bytes:
    """Return the feed of some events.

    Parameters
    ----------
    base
        Address at which people reach the service.
    path
        Path of the feed itself.
    """
    register_namespace("", ATOM)
    feed = Element(f"{{{ATOM}}}feed")
    _add(feed, "id", uuid.uuid5(NAMESPACE, "events").urn)
    _add(feed, "title", "Faultwatch: events")
    _add(feed, "updated", _moment(max((event.changed_at for event in events), default=_EMPTY)))
    _add(feed, "generator", "Faultwatch")
    _link(feed, "self", base.rstrip("/") + path, MEDIA_TYPE)
    _link(feed, "alternate", link(base), "text/html")
    for event in events:
        _entry(feed, event, base)
    indent(feed)
    return bytes(tostring(feed, encoding="utf-8", xml_declaration=True))


def _entry(feed: Element, event: EventSummary, base: str) -> None:
    entry = SubElement(feed, f"{{{ATOM}}}entry")
    _add(entry, "id", uuid.uuid5(NAMESPACE, event.id).urn)
    _add(entry, "title", subject(event))
    _add(entry, "published", _moment(event.first_seen_at))
    _add(entry, "updated", _moment(event.changed_at))
    _link(entry, "alternate", link(base, event), "text/html")
    author = SubElement(entry, f"{{{ATOM}}}author")
    _add(author, "name", make_plain(event.author, 100) or "unknown")
    SubElement(entry, f"{{{ATOM}}}category", {"term": event.state.value, "label": event.state.replace("_", " ")})
    SubElement(entry, f"{{{ATOM}}}category", {"term": event.cause.value})
    silenced = " Silenced." if event.silenced else ""
    _add(
        entry,
        "summary",
        f"State: {event.state.replace('_', ' ')}. Certainty: {event.certainty}. Cause: {cause(event)}.{silenced}",
    )


def _add(parent: Element, name: str, text: str) -> None:
    SubElement(parent, f"{{{ATOM}}}{name}").text = text


def _link(parent: Element, relation: str, address: str, media_type: str) -> None:
    SubElement(parent, f"{{{ATOM}}}link", {"rel": relation, "href": address, "type": media_type})


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
