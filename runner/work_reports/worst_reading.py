"""Finds the least certain of several readings of one metric, which decides how certain their combination is."""

from collections.abc import Sequence

from runner.contract.report import Reading, Status

_STATUSES_WORST_FIRST = (Status.NOT_SUPPORTED, Status.NOT_COUNTED, Status.MULTIPLEXED, Status.COUNTED)


def find_worst_reading(readings: Sequence[Reading]) -> Reading:
    """Return the reading that says least: one without a value, or the estimate from the shortest part of a run."""
    return min(
        readings,
        key=lambda reading: (
            _STATUSES_WORST_FIRST.index(reading.status),
            # Only an estimate has a percentage: a counter that was not multiplexed ran all the time.
            100 if reading.running_percent is None else reading.running_percent,
        ),
    )
