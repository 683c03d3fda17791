"""Reduces the samples of a run to one level for each metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from runner.contract import Reading, Status
from runner.contract.level import compute_median
from service.schemas.history import Number


class RunLevel(NamedTuple):
    """The level of one metric in one run, with its samples."""

    status: Status
    value: Number | None
    samples: tuple[Number, ...]

    @property
    def low(self) -> Number | None:
        """The smallest sample; None if there are none."""
        return min(self.samples, default=None)

    @property
    def high(self) -> Number | None:
        """The largest sample; None if there are none."""
        return max(self.samples, default=None)


def compute_run_level(readings: Sequence[Reading]) -> RunLevel:
    """Return the level of one metric of a run from its readings, one per sample; there is at least one.

    The value of the level is None if no reading has one.
    """
    samples = tuple([reading.value for reading in readings if reading.value is not None])
    return RunLevel(_choose_status(readings), compute_median(samples), samples)


def _choose_status(readings: Sequence[Reading]) -> Status:
    """Return the level's status: estimated if any reading is, else counted if any is, else that of the first one."""
    status = readings[0].status
    for reading in readings:
        if reading.status is Status.MULTIPLEXED:
            return Status.MULTIPLEXED
        if reading.status is Status.COUNTED:
            status = Status.COUNTED
    return status
