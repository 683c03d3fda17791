"""Bisects that were ordered before."""

from datetime import UTC, datetime, timedelta

from runner.contract.job import State
from service.rules.jobs.repeated_bisects import OrderedBisect

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def ended(state: State = State.FAILED, *, hours: float = 1, runs: int = 0, by_service: bool = True) -> OrderedBisect:
    at = NOW - timedelta(hours=hours)
    return OrderedBisect(at, state, runs, None if state.open else at, by_service)
