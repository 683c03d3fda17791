"""Writes moments in the one form of all formats: RFC 3339 in UTC, with a Z, as pydantic writes them in JSON."""

from __future__ import annotations

from datetime import UTC, datetime


def format_moment(moment: datetime) -> str:
    """Return a moment as ``2026-01-02T03:04:05Z``, with microseconds where it has any."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
