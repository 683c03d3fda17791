"""Detected drifts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from service.schemas.history import Cause, DriftList, ListedDrift
from service.schemas.history import Drift as DriftView
from service.store.engine import bulk
from service.store.models import Case, DriftRow, Event, Host, Series, Subject

_SERIES_PER_QUERY = 500
"""At most this many series per query, because SQLite limits the number of parameters."""
_SELECT_WITH_FLOOR = select(DriftRow.document, Event.below_floor).join(
    Event, Event.id == DriftRow.event_id, isouter=True
)
"""Drifts with whether their events are below the floor, so that every list treats such drifts alike."""


@dataclass(frozen=True, slots=True)
class DriftFilter:
    """Selects drifts; None selects all."""

    subject: str | None = None
    metric: str | None = None
    cause: Cause | None = None
    case: str | None = None
    host: str | None = None
    definition: str | None = None

    def list_conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the table of drifts only: the series are selected by a subquery."""
        filters = (
            (Subject.name, self.subject),
            (Series.metric, self.metric),
            (Case.name, self.case),
            (Host.name, self.host),
            (Case.definition, self.definition),
        )
        series_conditions = [column == value for column, value in filters if value is not None]
        conditions: list[ColumnElement[bool]] = [] if self.cause is None else [DriftRow.cause == self.cause]
        if series_conditions:
            series_query = (
                select(Series.id)
                .join(Subject, Series.subject_id == Subject.id)
                .join(Case, Series.case_id == Case.id)
                .join(Host, Series.host_id == Host.id)
            )
            conditions.append(DriftRow.series_id.in_(series_query.where(*series_conditions)))
        return conditions


def make_row(drift: DriftView, position: int) -> DriftRow:
    """Return a drift as it is stored, with the position of its revision in the history."""
    return DriftRow(
        id=drift.id,
        series_id=drift.series_id,
        cause=drift.cause,
        committed_at=drift.committed_at,
        position=position,
        document=drift.model_dump(mode="json"),
    )


def do_differ(rows: Iterable[DriftRow], former_rows: Iterable[DriftRow]) -> bool:
    """Return whether rows differ from the former rows, ignoring their order."""
    documents = {(row.id, row.position): row.document for row in rows}
    former_documents = {(row.id, row.position): row.document for row in former_rows}
    return documents != former_documents


def replace_drifts(session: Session, rows: Mapping[int, Sequence[DriftRow]]) -> None:
    """Replace all drifts of the given series, by the id of the series."""
    session.execute(delete(DriftRow).where(DriftRow.series_id.in_(rows)))
    session.add_all([row for rows_of_series in rows.values() for row in rows_of_series])


def list_drifts(session: Session, drift_filter: DriftFilter, limit: int, offset: int = 0) -> DriftList:
    """Return a page of drifts, those of the newest commits first."""
    return list_newest_drifts(session, drift_filter.list_conditions(), limit, offset)


def list_newest_drifts(
    session: Session, conditions: Sequence[ColumnElement[bool]], limit: int, offset: int = 0
) -> DriftList:
    """Return a page of the drifts that satisfy the conditions; drifts of the newest commits come first."""
    total = session.scalar(select(func.count()).select_from(DriftRow).where(*conditions)) or 0
    order = (DriftRow.committed_at.desc(), DriftRow.position.desc(), DriftRow.series_id, DriftRow.id)
    rows = session.execute(_SELECT_WITH_FLOOR.where(*conditions).order_by(*order).limit(limit).offset(offset))
    items = [_build_view(document, below_floor) for document, below_floor in rows]
    return DriftList(items=items, total=total, limit=limit, offset=offset)


def find_drift(session: Session, identity: str) -> ListedDrift | None:
    """Return the drift with this id; None if there is none, or it is no longer detected."""
    row = session.execute(_SELECT_WITH_FLOOR.where(DriftRow.id == identity)).one_or_none()
    return None if row is None else _build_view(row.document, row.below_floor)


def _build_view(document: Mapping[str, Any], below_floor: bool | None) -> ListedDrift:
    return ListedDrift.model_validate({**document, "below_floor": bool(below_floor)})


def map_level_starts(session: Session, oldest_positions: Mapping[int, int]) -> dict[UUID, bool]:
    """Return whether each drift of the given series is certain, by the id of the first run on its new level.

    Parameters
    ----------
    oldest_positions
        For each series, the position in the history from which on drifts are returned; some older ones may be included.
    """
    document = DriftRow.document
    columns = document["run_after"].as_string(), document["evidence"]["wants_rerun"].as_boolean()
    level_starts: dict[UUID, bool] = {}
    # Series with similar positions share a query, which begins at the oldest of these positions.
    sorted_series = sorted(oldest_positions, key=lambda series: oldest_positions[series])
    for chunk in bulk.split_into_chunks(sorted_series, _SERIES_PER_QUERY):
        # The position is compared before any document is parsed.
        recent = DriftRow.series_id.in_(chunk), DriftRow.position >= oldest_positions[chunk[0]]
        level_starts |= {UUID(run): not unsure for run, unsure in session.execute(select(*columns).where(*recent))}
    return level_starts


def list_series_drifts(session: Session, series_id: int) -> list[DriftView]:
    """Return the drifts of one series, in the order of the history."""
    return [DriftView.model_validate(row.document) for row in map_rows_by_series(session, [series_id])[series_id]]


def map_rows_by_series(session: Session, series_ids: Collection[int]) -> dict[int, list[DriftRow]]:
    """Return the drifts of series in the order of the history, by the id of the series."""
    rows = session.scalars(
        select(DriftRow).where(DriftRow.series_id.in_(series_ids)).order_by(DriftRow.position, DriftRow.id)
    )
    rows_by_series: dict[int, list[DriftRow]] = {series_id: [] for series_id in series_ids}
    for row in rows:
        rows_by_series[row.series_id].append(row)
    return rows_by_series
