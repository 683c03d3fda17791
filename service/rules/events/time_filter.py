"""Parses the time since which a reader wants to see events: a date, a day of the week, or a number of days."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGO_TEXT = re.compile(r"([0-9]{1,4})([hdw])")
_HOURS_OF_UNIT = {"h": 1, "d": 24, "w": 7 * 24}
_UNIT_NAMES = {"h": "hour", "d": "day", "w": "week"}


def parse_since(text: str, now: datetime) -> datetime:
    """Return the time that a text stands for, in UTC.

    ``2026-11-20`` stands for the beginning of this day, the name of a day of the week for the beginning of the last
    such day before today, and ``36h``, ``7d`` and ``4w`` for that long ago. A time with a zone (ISO 8601) is also
    accepted.

    Raises
    ------
    ValueError
        If the text is none of these; the message lists valid texts.
    """
    lower_text = text.strip().lower()
    duration = _AGO_TEXT.fullmatch(lower_text)
    if duration:
        return now - timedelta(hours=int(duration[1]) * _HOURS_OF_UNIT[duration[2]])
    if lower_text in DAYS:
        today = now.astimezone(UTC).date()
        days_passed = (today.weekday() - DAYS.index(lower_text)) % len(DAYS)
        if days_passed == 0:  # today's name means a week ago
            days_passed = len(DAYS)
        return datetime.combine(today - timedelta(days=days_passed), time(), UTC)
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a date: write 2026-11-20, friday or 7d") from None


def describe_since(text: str) -> str:
    """Return the text as a phrase: ``in the last 7 days``, ``since Friday``, ``since your last visit``.

    Parameters
    ----------
    text
        A text that :func:`parse_since` accepts, or ``visit`` for the reader's last visit.
    """
    lower_text = text.strip().lower()
    if lower_text == "visit":
        return "since your last visit"
    duration = _AGO_TEXT.fullmatch(lower_text)
    if duration:
        number = int(duration[1])
        unit = _UNIT_NAMES[duration[2]]
        return f"in the last {unit}" if number == 1 else f"in the last {number} {unit}s"
    return f"since {lower_text.capitalize() if lower_text in DAYS else text.strip()}"
