"""Updates what a series stores of its points, so that lists need not read them: their number and the newest level."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from runner.contract.judging import Judging
from service.store.models import Point, Revision, Run, Series

SERIES_COLUMNS = ("version", "n_points", "latest", "latest_revision_id", "latest_at", "judged", "budget")
"""The columns of a series that new points change."""


@dataclass(slots=True)
class SeriesUpdate:
    """A series with the points added to it so far."""

    metric: str
    latest_position: int | None
    """The position of the revision with the newest level; None if no revision has a level."""
    latest_at: datetime | None
    """When the newest level was measured."""
    id: int
    version: int
    n_points: int
    latest: str | None
    latest_revision_id: int | None
    judged: bool
    budget: str | None
    points: list[tuple[object, ...]] = field(default_factory=list)

    def update_judging(self, judging: Judging, measured_at: datetime) -> None:
        """Set whether and with which budget the metric is judged, according to the workload of a report.

        A report that arrives late, and was measured before the newest level, changes nothing.
        """
        if self.latest_at is not None and measured_at < self.latest_at:
            return
        self.judged = judging.is_judged_in_history(self.metric)
        self.budget = json.dumps(judging.budgets[self.metric]) if self.metric in judging.budgets else None

    def update_latest_level(self, value: str, revision_id: int, position: int, moment: datetime) -> None:
        """Set the newest level, unless the series has a newer one."""
        if (
            self.latest_position is None
            or self.latest_at is None
            or (position, moment) >= (self.latest_position, self.latest_at)
        ):
            self.latest = value
            self.latest_revision_id = revision_id
            self.latest_position = position
            self.latest_at = moment

    def as_update_row(self) -> tuple[object, ...]:
        """Return the id and the columns that the new points change, in the order of ``SERIES_COLUMNS``."""
        n_points = self.n_points + len(self.points)
        latest_columns = (self.latest, self.latest_revision_id, self.latest_at)
        return (self.id, self.version + 1, n_points, *latest_columns, self.judged, self.budget)


def recompute_newest_levels(session: Session, subject_id: int) -> None:
    """Recompute the newest level of every series of a subject whose commits have new positions."""
    newest_first = func.row_number().over(
        partition_by=Point.series_id, order_by=(Revision.position.desc(), Run.started_at.desc(), Run.number.desc())
    )
    ranked_points = (
        select(Point.series_id, Point.value, Run.revision_id, Run.started_at, newest_first.label("rank"))
        .join(Series, Point.series_id == Series.id)
        .join(Run, Point.run_number == Run.number)
        .join(Revision, Run.revision_id == Revision.id)
        .where(Series.subject_id == subject_id, Point.value.is_not(None), Run.quarantine.is_(None))
        .subquery()
    )
    session.execute(
        update(Series)
        .where(Series.id == ranked_points.c.series_id, ranked_points.c.rank == 1)
        .values(
            latest=ranked_points.c.value,
            latest_revision_id=ranked_points.c.revision_id,
            latest_at=ranked_points.c.started_at,
        )
        .execution_options(synchronize_session=False)
    )
