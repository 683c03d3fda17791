"""Stores profiles, and prices the drifts of their cases again."""

from __future__ import annotations

from sqlalchemy.orm import Session

from runner.contract.profile import Profile
from service.pipeline import judging_schedule, update_events
from service.rules.fault_price import PRICED_METRICS
from service.store import profiles
from service.store.engine.database import Database
from service.store.profiles import StoreResult
from service.store.series import series


def ingest_profile(database: Database, profile: Profile) -> StoreResult:
    """Store a profile; if it is new, judge the fault counts of its case again: it may show the cost of a fault."""
    prepared = profiles.prepare_profile(profile)
    case = series.SeriesFilter(profile.subject, profile.case.name, host=profile.host.name)

    def store_and_mark_stale(session: Session) -> tuple[StoreResult, list[int]]:
        """Store the profile; return the result, and the series whose drifts may get another price."""
        result = profiles.store_profile(session, prepared)
        if result is not StoreResult.CREATED:
            return result, []
        return result, series.mark_stale(session, case, PRICED_METRICS)

    result, repriced_series = database.write([profile.subject], store_and_mark_stale)
    if repriced_series:
        judging_schedule.judge_or_defer_series(database)
        with database.writing([profile.subject]) as session:
            update_events.refresh_prices(session, repriced_series)
    return result
