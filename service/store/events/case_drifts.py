"""The drifts of one case on all hosts, each with the decision about its event, and the events themselves."""

from __future__ import annotations

from sqlalchemy import Select, func, select
from sqlalchemy import case as when
from sqlalchemy.orm import Session

from service.rules.events.lifecycle import CLOSED
from service.schemas.triage import CaseDrift, CaseDriftList
from service.store.events.events import MOST_IMPORTANT_FIRST
from service.store.models import Case, DriftRow, Event, EventDriftRow, Series


def list_case_drifts(session: Session, case_key: str, limit: int) -> CaseDriftList:
    """Return the drifts of a case: of open events first, below the floor after others, otherwise newest first.

    Changes below the floor are so small that even runs of identical programs differ by as much.
    """
    is_of_case = DriftRow.series_id.in_(_select_series(case_key))
    total = session.scalar(select(func.count()).select_from(DriftRow).where(is_of_case)) or 0
    is_closed = when((Event.state.in_(CLOSED), 1), else_=0)
    is_below_floor = when((Event.below_floor, 1), else_=0)
    newest_first = DriftRow.committed_at.desc(), DriftRow.position.desc(), DriftRow.series_id, DriftRow.id
    rows = session.execute(
        select(DriftRow.document, Event.below_floor, Event.id, Event.state)
        .join(Event, Event.id == DriftRow.event_id, isouter=True)
        .where(is_of_case)
        .order_by(is_closed, is_below_floor, *newest_first)
        .limit(limit)
    )
    return CaseDriftList(
        items=[
            CaseDrift.model_validate(
                {**document, "below_floor": bool(below_floor), "event_id": event_id, "state": state}
            )
            for document, below_floor, event_id, state in rows
        ],
        total=total,
    )


def list_case_events(session: Session, case_key: str, limit: int) -> tuple[list[str], int]:
    """Return the ids of the events in which a drift of a case was found, and how many such events there are.

    Open events come first, then those whose changes are above the floor (the difference between runs of identical
    programs), then the most important ones. At most ``limit`` ids are returned.
    """
    event_ids = select(EventDriftRow.event_id).where(
        EventDriftRow.series_id.in_(_select_series(case_key)), EventDriftRow.still_detected
    )
    is_of_case = Event.id.in_(event_ids)
    total = session.scalar(select(func.count()).select_from(Event).where(is_of_case)) or 0
    is_closed = when((Event.state.in_(CLOSED), 1), else_=0)
    open_first = select(Event.id).where(is_of_case).order_by(is_closed, *MOST_IMPORTANT_FIRST)
    return list(session.scalars(open_first.limit(limit))), total


def _select_series(case_key: str) -> Select[int]:
    """Return a query of the ids of the series of a case."""
    return select(Series.id).join(Case, Series.case_id == Case.id).where(Case.key == case_key)
