"""Marks on events that are not decisions: the assignee, and the end of a snooze."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from service.store.models import Event, EventDriftRow, Point, Run


def assign_event(event: Event, assignee: str) -> None:
    """Store the assignee of an event; empty for nobody."""
    event.assignee = assignee


def snooze_event(session: Session, event: Event, until: datetime | None) -> None:
    """Hide an event from the list until a time; without a time, until the next run of one of its series."""
    event.snoozed_until = until
    event.wakes_after = None if until else session.scalar(select(func.coalesce(func.max(Run.number), 0)))


def wake_event(event: Event) -> None:
    """End the snooze of an event, so that it is listed again."""
    event.snoozed_until, event.wakes_after = None, None


def wake_events_after_run(session: Session, series_ids: Collection[int]) -> None:
    """End the snooze of the events that were waiting for a run of one of these series."""
    newest_run_number = (
        select(func.max(Point.run_number)).where(Point.series_id == EventDriftRow.series_id).scalar_subquery()
    )
    has_newer_run = select(EventDriftRow.event_id).where(
        EventDriftRow.event_id == Event.id,
        EventDriftRow.series_id.in_(series_ids),
        Event.wakes_after < newest_run_number,
    )
    session.execute(
        update(Event)
        .where(Event.wakes_after.is_not(None), has_newer_run.exists())
        .values(wakes_after=None)
        .execution_options(synchronize_session=False)
    )
