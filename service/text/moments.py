"""Writes times in the form that all formats share: RFC 3339 in UTC with a Z, as pydantic writes them in JSON."""

from __future__ import annotations

from datetime import UTC, datetime


def format_moment(moment: datetime) -> str:
    """Return a time as ``2026-01-02T03:04:05Z``, with microseconds unless they are zero."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
