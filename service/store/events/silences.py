"""Silences: they suppress the notifications of matching drifts until a time."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.rules.events import silence
from service.schemas import triage
from service.schemas.history import SeriesHead
from service.store.models import SilenceRow
from service.store.series import series


def add_silence(session: Session, request: triage.SilenceRequest, author: str, now: datetime) -> SilenceRow | None:
    """Store a silence for a series or for patterns, and return its row; None if the request names an unknown series."""
    patterns = {"subject": request.subject, "host": request.host, "case": request.case, "metric": request.metric}
    if request.series_id is not None:
        silenced_series = series.find_series(session, request.series_id)
        if silenced_series is None:
            return None
        names = {
            "subject": silenced_series.subject.name,
            "host": silenced_series.host.name,
            "case": silenced_series.case.name,
            "metric": silenced_series.metric,
        }
        patterns = {field: silence.make_literal_pattern(name) for field, name in names.items()}
    row = SilenceRow(**patterns, author=author, reason=request.reason, created_at=now, until=request.until)
    session.add(row)
    session.flush()
    return row


def end_silence(session: Session, silence_id: int, author: str, now: datetime) -> SilenceRow | None:
    """End a silence early, and return it; None if it does not exist. A silence that has ended does not change."""
    row = session.get(SilenceRow, silence_id)
    if row is not None and row.ended_at is None and row.until > now:
        row.ended_at, row.ended_by = now, author
    return row


def find_silence(session: Session, silence_id: int, now: datetime) -> triage.Silence | None:
    """Return one silence as the API serves it; None if it does not exist."""
    row = session.get(SilenceRow, silence_id)
    return None if row is None else build_view(row, now)


def list_page(session: Session, active: bool | None, limit: int, offset: int) -> triage.SilenceList:
    """Return a page of silences, the newest first.

    Parameters
    ----------
    active
        True for silences in force, False for silences that have ended, None for both.
    """
    now = datetime.now(UTC)
    query = select(SilenceRow)
    if active is not None:
        is_active = SilenceRow.ended_at.is_(None) & (SilenceRow.until > now)
        query = query.where(is_active if active else ~is_active)
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    rows = session.scalars(query.order_by(SilenceRow.id.desc()).limit(limit).offset(offset))
    return triage.SilenceList(items=[build_view(row, now) for row in rows], total=total, limit=limit, offset=offset)


def list_active_silences(session: Session, now: datetime) -> list[silence.SilencePattern]:
    """Return the silences in force."""
    rows = session.scalars(select(SilenceRow).where(SilenceRow.ended_at.is_(None), SilenceRow.until > now))
    return [silence.SilencePattern(row.subject, row.host, row.case, row.metric, row.until) for row in rows]


def find_end_of_silence(session: Session, entry: SeriesHead, now: datetime) -> datetime | None:
    """Return until when the drifts of a series are silenced; None if they are not."""
    location = (entry.subject, entry.host, entry.case, entry.metric)
    return silence.find_end_of_silence(list_active_silences(session, now), location, now)


def build_view(row: SilenceRow, now: datetime) -> triage.Silence:
    """Return a silence as the API serves it."""
    return triage.Silence(
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


def summarise_silence(row: SilenceRow | triage.Silence) -> tuple[str, dict[str, str]]:
    """Return the entry of a new silence in the audit log: its name, and what it covers."""
    covered_fields = {name: getattr(row, name) for name in ("subject", "host", "case", "metric", "reason")}
    return f"silence {row.id}", covered_fields | {"until": row.until.isoformat()}
