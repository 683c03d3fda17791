"""Silences: which drifts are not told for a time."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.rules.events import silence
from service.schemas import events
from service.store import series
from service.store.models import Silence


def add(session: Session, asked: events.SilenceRequest, author: str, now: datetime) -> Silence | None:
    """Store a silence; None where there is no such series."""
    patterns = {"subject": asked.subject, "host": asked.host, "case": asked.case, "metric": asked.metric}
    if asked.series_id is not None:
        row = series.find(session, asked.series_id)
        if row is None:
            return None
        patterns = {"subject": row.subject.name, "host": row.host.name, "case": row.case.name, "metric": row.metric}
    made = Silence(**patterns, author=author, reason=asked.reason, created_at=now, until=asked.until)
    session.add(made)
    session.flush()
    return made


def end(session: Session, silence_id: int, author: str, now: datetime) -> Silence | None:
    """End a silence before its time; None where there is none. One that is over stays as it is."""
    row = session.get(Silence, silence_id)
    if row is not None and row.ended_at is None and row.until > now:
        row.ended_at, row.ended_by = now, author
    return row


def page(session: Session, active: bool | None, limit: int, offset: int) -> events.SilenceList:
    """Return a page of silences, the newest first."""
    now = datetime.now(UTC)
    wanted = select(Silence)
    if active is not None:
        lasts = Silence.ended_at.is_(None) & (Silence.until > now)
        wanted = wanted.where(lasts if active else ~lasts)
    total = session.scalar(select(func.count()).select_from(wanted.subquery())) or 0
    rows = session.scalars(wanted.order_by(Silence.id.desc()).limit(limit).offset(offset))
    return events.SilenceList(items=[view(row, now) for row in rows], total=total, limit=limit, offset=offset)


def active(session: Session, now: datetime) -> list[silence.SilencePattern]:
    """Return the silences that hold."""
    rows = session.scalars(select(Silence).where(Silence.ended_at.is_(None), Silence.until > now))
    return [silence.SilencePattern(row.subject, row.host, row.case, row.metric, row.until) for row in rows]


def view(row: Silence, now: datetime) -> events.Silence:
    """Return a silence as it is told."""
    return events.Silence(
        id=row.id,
        subject=row.subject,
        host=row.host,
        case=row.case,
        metric=row.metric,
        author=row.author,
        reason=row.reason,
        created_at=row.created_at,
        until=row.until,
        active=row.ended_at is None and row.until > now,
        ended_at=row.ended_at,
        ended_by=row.ended_by,
    )
