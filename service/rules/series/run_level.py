"""What a run's samples come down to: one level for each metric. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runner.contract import Reading, Status
from runner.contract.level import median
from service.schemas.history import Number


class RunLevel(NamedTuple):
    """One metric of one run."""

    status: Status
    value: Number | None
    samples: tuple[Number, ...]

    @property
    def low(self) -> Number | None:
        """The smallest sample."""
        return min(self.samples, default=None)

    @property
    def high(self) -> Number | None:
        """The largest sample."""
        return max(self.samples, default=None)


def run_level(readings: Sequence[Reading]) -> RunLevel:
    """Summarise the readings of one metric over the samples of a run."""
    samples = tuple([reading.value for reading in readings if reading.value is not None])
    return RunLevel(_status(readings), median(samples), samples)


def _status(readings: Sequence[Reading]) -> Status:
    """Return how the level came about: an estimate in it makes it one; without any value, the first reason why."""
    found = readings[0].status
    for reading in readings:
        if reading.status is Status.MULTIPLEXED:
            return Status.MULTIPLEXED
        if reading.status is Status.COUNTED:
            found = Status.COUNTED
    return found
