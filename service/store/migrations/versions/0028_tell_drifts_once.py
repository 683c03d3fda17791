"""Know which night told of a drift, so that no other one tells of it again."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

_TOLD = sa.text("told_in IS NOT NULL")
_MOMENT = sa.DateTime(timezone=True)
_NIGHT = sa.table("night", sa.column("name"), sa.column("started_at", _MOMENT), sa.column("document", sa.JSON()))
_MEASURED = sa.text(
    "SELECT event_drift.drift_id, subject.name AS subject, host.name AS host, run.started_at FROM event_drift "
    "JOIN run ON run.id = event_drift.run_after JOIN series ON series.id = event_drift.series_id "
    "JOIN subject ON subject.id = series.subject_id JOIN host ON host.id = series.host_id WHERE event_drift.found"
).columns(sa.column("drift_id"), sa.column("subject"), sa.column("host"), sa.column("started_at", _MOMENT))


class _Turn(NamedTuple):
    """A night in which a host measured a subject."""

    began: datetime
    night: str


def upgrade() -> None:
    """Add the columns, and fill in the nights of before: they told what was measured since they began."""
    op.add_column("series", sa.Column("first_night_at", _MOMENT))
    op.add_column("series", sa.Column("last_night_at", _MOMENT))
    op.add_column("event_drift", sa.Column("found_at", _MOMENT))
    op.add_column("event_drift", sa.Column("told_in", sa.String(length=100)))
    turns: dict[tuple[str, str], list[_Turn]] = {}
    for night in op.get_bind().execute(sa.select(_NIGHT).order_by(_NIGHT.c.started_at)):
        for place in _measured(night.document):
            turns.setdefault(place, []).append(_Turn(night.started_at, night.name))
    told = []
    for drift in op.get_bind().execute(_MEASURED) if turns else ():
        nights = turns.get((drift.subject, drift.host), [])
        before = bisect_right(nights, drift.started_at, key=lambda turn: turn.began)
        if before:
            told.append({"drift": drift.drift_id, "night": nights[before - 1].night})
    if told:
        op.get_bind().execute(sa.text("UPDATE event_drift SET told_in = :night WHERE drift_id = :drift"), told)
    op.create_index("ix_event_drift_told_in", "event_drift", ["told_in"], sqlite_where=_TOLD, postgresql_where=_TOLD)


def _measured(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Return what was measured in a night, and on which host."""
    cells = document.get("cells", []) if document else []
    return {(cell["subject"], cell["host"]) for cell in cells if cell.get("carried_out") and cell.get("subject")}
