"""The series that a page offers as overlays of another one, with the few columns that distinguish them."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import get_metric
from service.schemas.history import SeriesHead
from service.store.models import Case, Host, Series, Subject


class Sibling(NamedTuple):
    """Another series of the same subject."""

    id: int
    host: str
    case: str
    definition: str
    metric: str

    @property
    def title(self) -> str:
        """Title of the metric."""
        return get_metric(self.metric).title


def list_siblings(session: Session, entry: SeriesHead, limit: int) -> list[Sibling]:
    """Return the other metrics of a series' case, and the same metric of other cases: up to ``limit`` of each."""
    query = (
        select(Series.id, Host.name, Case.name, Case.definition, Series.metric)
        .join(Series.subject)
        .join(Series.case)
        .join(Series.host)
        .where(Subject.name == entry.subject, Series.id != entry.id)
        .order_by(Host.name, Case.name, Series.metric, Series.id)
        .limit(limit)
    )
    rows_of_case = session.execute(query.where(Case.name == entry.case, Case.definition == entry.definition))
    rows_of_metric = session.execute(query.where(Case.name != entry.case, Series.metric == entry.metric))
    return [Sibling._make(row) for rows in (rows_of_case, rows_of_metric) for row in rows]
