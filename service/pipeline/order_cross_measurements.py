"""Orders cross-measurements: the old revision in the new environment, and the new revision in the old one."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.schemas.history import Cause, Drift
from service.store.events import event_drifts
from service.store.models import CrossMeasurementRow, Environment, Revision


def order_cross_measurements(session: Session, subject_id: int, drift_ids: Iterable[str]) -> None:
    """Order one cross-measurement for each of the given drifts at which commit and configuration changed together."""
    for drift in event_drifts.read_drifts(session, sorted(drift_ids), Cause.COMMIT_AND_CONFIG):
        # If its two nearest runs share the commit or the environment, there is no other combination to measure: the
        # configuration is a cause because a system file was upgraded, or because the drift is located only roughly.
        if drift.previous_revision != drift.revision and drift.environment_before != drift.environment_after:
            _store_order(session, subject_id, drift)


def _store_order(session: Session, subject_id: int, drift: Drift) -> None:
    """Store the order of a drift's cross-measurement, unless it is already stored."""

    def find_revision_id(commit: str) -> int:
        return session.scalars(
            select(Revision.id).where(Revision.subject_id == subject_id, Revision.commit == commit)
        ).one()

    def find_environment_id(environment_hash: str) -> int:
        return session.scalars(select(Environment.id).where(Environment.hash == environment_hash)).one()

    key = {
        "series_id": drift.series_id,
        "revision_before_id": find_revision_id(drift.previous_revision),
        "revision_after_id": find_revision_id(drift.revision),
        "environment_before_id": find_environment_id(drift.environment_before),
        "environment_after_id": find_environment_id(drift.environment_after),
    }
    if session.scalar(select(CrossMeasurementRow.id).filter_by(**key)) is None:
        session.add(CrossMeasurementRow(**key))
        session.flush()
