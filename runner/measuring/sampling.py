"""When enough samples are taken: once more of them cannot change the verdict. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from runner.contract.level import Number, bounds, majority, median
from runner.contract.metrics import metric
from runner.contract.report import Reading, Sample
from runner.workload import Workload

ERROR = 0.05
"""Chance that the true median of a metric ever lies outside of the bounds from which its precision is told."""
FAR = 5.0
"""A value is an outlier where it lies this many standard deviations off, estimated from the median absolute deviation.

As recommended by C. Leys et al., "Detecting outliers: do not use standard deviation around the mean, use absolute
deviation around the median", Journal of Experimental Social Psychology 49(4), 2013, but wider: noise here is skewed.
"""
FEW = 8
"""Samples below which a noisy metric is not told what is far off."""
_DEVIATION = 1.4826
"""Standard deviation of normal noise over its median absolute deviation."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many samples a case needs.

    Exact counts are known once more than half of the samples, and at least two, agree. A sample that repeats what the
    history expects agrees with that, so one is enough. Noisy metrics steer only where they have a precision.

    Attributes
    ----------
    least, most
        Numbers of samples.
    precision
        Percent of the level to which the median of a noisy metric has to be known, by metric.
    expected
        Levels of exact counts that the history shows for this case in this environment.
    """

    least: int = 2
    most: int = 10
    precision: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, Number] = field(default_factory=dict)

    @classmethod
    def of(cls, workload: Workload, fixed: int | None = None, expected: Mapping[str, Number] | None = None) -> Self:
        """Return what a workload asks for, or a fixed number of samples."""
        if fixed is not None:
            return cls(least=fixed, most=fixed)
        precision = workload.metrics.precision
        least = workload.workload.samples
        most = workload.workload.max_samples or (100 if precision else 10)
        return cls(least, max(least, most), precision, expected or {})

    def wants_more(self, samples: Sequence[Sample]) -> bool:
        """Tell whether another sample is needed."""
        if len(samples) >= self.most:
            return False
        if self._as_expected(samples):
            return not self._precise(samples)
        return len(samples) < self.least or not (_agree(samples) and self._precise(samples))

    def _as_expected(self, samples: Sequence[Sample]) -> bool:
        names = _exact_metrics(samples)
        return bool(names) and all(
            name in self.expected and all(value == self.expected[name] for value in _values(samples, name))
            for name in names
        )

    def _precise(self, samples: Sequence[Sample]) -> bool:
        return all(_is_precise(_values(samples, name), percent) for name, percent in self.precision.items())


def mark_outliers(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Mark the values that lie off their metric's other samples; nothing is dropped."""
    names = dict.fromkeys(name for sample in samples for name in sample.readings)
    ordinary = {name: _ordinary(name, _values(samples, name)) for name in names}
    return tuple(
        sample.model_copy(
            update={"readings": {name: _marked(reading, ordinary[name]) for name, reading in sample.readings.items()}}
        )
        for sample in samples
    )


def levels(samples: Sequence[Sample]) -> dict[str, Number]:
    """Return what the exact counts of a run come down to, for the next run to be compared with."""
    found = {name: majority(_values(samples, name)) for name in _exact_metrics(samples)}
    return {name: agreed[0] for name, agreed in found.items() if agreed}


def _marked(reading: Reading, ordinary: tuple[Number, Number] | None) -> Reading:
    if reading.value is None or ordinary is None or ordinary[0] <= reading.value <= ordinary[1]:
        return reading
    return reading.model_copy(update={"outlier": True})


def _ordinary(name: str, values: Sequence[Number]) -> tuple[Number, Number] | None:
    """Return between which values those of a metric are no outliers; None where that cannot be told."""
    if metric(name).exact:
        agreed = majority(values)
        return (agreed[0], agreed[0]) if agreed and agreed[1] >= 2 else None
    middle = median(values)
    if middle is None or len(values) < FEW:
        return None
    reach = FAR * _DEVIATION * (median([abs(value - middle) for value in values]) or 0)
    return (middle - reach, middle + reach) if reach else None


def _agree(samples: Sequence[Sample]) -> bool:
    for name in _exact_metrics(samples):
        values = _values(samples, name)
        agreed = majority(values)
        # The workload may ask for one sample only; from two on, two have to agree.
        if agreed is None or agreed[1] < min(2, len(values)):
            return False
    return True


def _is_precise(values: Sequence[Number], percent: float) -> bool:
    """Tell whether the median is known to within some percent; a metric without values cannot become so by sampling."""
    found = bounds(values, ERROR)
    if found is None:
        return not values
    low, high = found
    return high - low <= percent / 100 * abs(low + high)


def _exact_metrics(samples: Iterable[Sample]) -> list[str]:
    """Return the exact counts of which any sample has a value."""
    return list(
        dict.fromkeys(
            name
            for sample in samples
            for name, reading in sample.readings.items()
            if reading.value is not None and metric(name).exact
        )
    )


def _values(samples: Iterable[Sample], name: str) -> list[Number]:
    readings = [sample.readings[name] for sample in samples if name in sample.readings]
    return [reading.value for reading in readings if reading.value is not None]
