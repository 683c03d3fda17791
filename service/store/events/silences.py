"""Silences: they suppress the notifications of matching drifts until a time."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.rules.events import silence
from service.schemas import triage
from service.schemas.history import SeriesHead
from service.store.models import Case, Host, Series, SilenceRow, Subject
from service.store.series import series

_SeriesNames = tuple[str, str, str, str]
"""The subject, host, case and metric of a series."""


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
    return None if row is None else build_views(session, [row], now)[0]


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
    rows = session.scalars(query.order_by(SilenceRow.id.desc()).limit(limit).offset(offset)).all()
    return triage.SilenceList(items=build_views(session, rows, now), total=total, limit=limit, offset=offset)


def list_active_silences(session: Session, now: datetime) -> list[silence.SilencePattern]:
    """Return the silences in force."""
    rows = session.scalars(select(SilenceRow).where(SilenceRow.ended_at.is_(None), SilenceRow.until > now))
    return [silence.SilencePattern(row.subject, row.host, row.case, row.metric, row.until) for row in rows]


def find_end_of_silence(session: Session, entry: SeriesHead, now: datetime) -> datetime | None:
    """Return until when the drifts of a series are silenced; None if they are not."""
    location = (entry.subject, entry.host, entry.case, entry.metric)
    return silence.find_end_of_silence(list_active_silences(session, now), location, now)


def build_views(session: Session, rows: Sequence[SilenceRow], now: datetime) -> list[triage.Silence]:
    """Return silences as the API serves them, each with the series if it covers only one."""
    names_by_silence = {row.id: _read_names(row) for row in rows}
    series_ids = _map_series(session, {names[2] for names in names_by_silence.values() if names})
    return [_build_view(row, series_ids.get(names_by_silence[row.id]), now) for row in rows]


def _read_names(row: SilenceRow) -> _SeriesNames | None:
    """Return the subject, host, case and metric of the only series that a silence covers; None if it is a pattern."""
    subject, host, case, metric = map(silence.read_literal_pattern, (row.subject, row.host, row.case, row.metric))
    if subject is None or host is None or case is None or metric is None:
        return None
    return subject, host, case, metric


def _map_series(session: Session, cases: Set[str]) -> dict[_SeriesNames | None, int]:
    """Return the newest series with each subject, host, case and metric, for some cases."""
    query = (
        select(Subject.name, Host.name, Case.name, Series.metric, Series.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(Case.name.in_(cases))
        .order_by(Series.id)
    )
    return {
        (subject, host, case, metric): series_id
        for subject, host, case, metric, series_id in session.connection().execute(query)
    }


def _build_view(row: SilenceRow, series_id: int | None, now: datetime) -> triage.Silence:
    return triage.Silence(
        id=row.id,
        series_id=series_id,
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
