"""Decides whether a case has enough samples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.level import Number, compute_median, compute_median_bounds, find_majority
from runner.contract.metrics import get_metric
from runner.contract.report import Reading, Sample
from runner.workload import Workload

MEDIAN_ERROR_PROBABILITY = 0.05
"""Probability that the true median of a metric is ever outside its confidence interval, which shows the precision."""
MIN_OUTLIER_SIGMA = 5.0
"""A value is an outlier if it is at least this many standard deviations from the median.

The standard deviation is estimated from the median absolute deviation, as recommended by C. Leys et al., "Detecting
outliers: do not use standard deviation around the mean, use absolute deviation around the median", Journal of
Experimental Social Psychology 49(4), 2013. The limit is wider than theirs, because the noise here is skewed.
"""
MIN_SAMPLES_FOR_OUTLIERS = 8
"""The smallest number of samples in which outliers of a noisy metric are marked."""
_SIGMA_PER_DEVIATION = 1.4826
"""The standard deviation of normal noise divided by its median absolute deviation."""
_MAX_SAMPLES = 10
"""The largest number of samples of a case, unless its workload sets it."""
_MAX_SAMPLES_WITH_PRECISION = 100
"""The largest number of samples if the workload asks for a precision of a noisy metric, unless it sets the number."""


class Sampling(Struct, frozen=True):
    """How many samples a case needs.

    An exact count is known when more than half of the samples, and at least two, agree. A single sample is enough if it
    repeats the counts of the history. Noisy metrics require more samples only if a precision is given for them.

    Attributes
    ----------
    min_samples, max_samples
        The limits of the number of samples.
    precision
        By noisy metric: the precision to which its median must be known, in percent.
    expected
        By exact metric: the level in the history of this case in this environment.
    """

    min_samples: int = 2
    max_samples: int = _MAX_SAMPLES
    precision: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, Number] = field(default_factory=dict)

    @classmethod
    def from_workload(
        cls, workload: Workload, sample_count: int | None = None, expected: Mapping[str, Number] | None = None
    ) -> Self:
        """Return the sampling that a workload asks for, or a fixed number of samples.

        Parameters
        ----------
        sample_count
            The fixed number; None for the number that the workload asks for.
        expected
            See :class:`Sampling`. It has no effect on a fixed number of samples.
        """
        if sample_count is not None:
            return cls(min_samples=sample_count, max_samples=sample_count)
        precision = workload.metrics.precision
        min_samples = workload.workload.samples
        default_max_samples = _MAX_SAMPLES_WITH_PRECISION if precision else _MAX_SAMPLES
        max_samples = workload.workload.max_samples or default_max_samples
        return cls(min_samples, max(min_samples, max_samples), precision, expected or {})

    def sample_all_unless_expected(self) -> Self:
        """Return a sampling that takes ``max_samples`` samples, unless they have the expected counts."""
        return replace(self, min_samples=self.max_samples)

    def needs_more_samples(self, samples: Sequence[Sample]) -> bool:
        """Return whether another sample is needed."""
        if len(samples) >= self.max_samples:
            return False
        if self._are_counts_expected(samples):
            return not self._are_metrics_precise(samples)
        if len(samples) < self.min_samples:
            return True
        return not (_do_samples_agree(samples) and self._are_metrics_precise(samples))

    def _are_counts_expected(self, samples: Sequence[Sample]) -> bool:
        """Return whether all exact counts of all samples are those that are expected from the history."""
        names = _list_exact_metrics(samples)
        return bool(names) and all(
            name in self.expected and all(value == self.expected[name] for value in _list_values(samples, name))
            for name in names
        )

    def _are_metrics_precise(self, samples: Sequence[Sample]) -> bool:
        return all(_is_median_precise(_list_values(samples, name), percent) for name, percent in self.precision.items())


def mark_outliers(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the samples with the outliers of each metric marked; no sample is left out."""
    names = dict.fromkeys(name for sample in samples for name in sample.readings)
    ordinary_ranges = {name: _find_ordinary_range(name, _list_values(samples, name)) for name in names}
    marked_samples = []
    for sample in samples:
        readings = {name: _mark_reading(reading, ordinary_ranges[name]) for name, reading in sample.readings.items()}
        marked_samples.append(sample.model_copy(update={"readings": readings}))
    return tuple(marked_samples)


def compute_levels(samples: Sequence[Sample]) -> dict[str, Number]:
    """Return the levels of the exact counts of a run, by metric; the next run is compared with them."""
    majorities = {name: find_majority(_list_values(samples, name)) for name in _list_exact_metrics(samples)}
    return {name: majority[0] for name, majority in majorities.items() if majority}


def _mark_reading(reading: Reading, ordinary_range: tuple[Number, Number] | None) -> Reading:
    """Return a reading, marked as an outlier if it is outside of the ordinary range; None means an unknown range."""
    if reading.value is None or ordinary_range is None or ordinary_range[0] <= reading.value <= ordinary_range[1]:
        return reading
    return reading.model_copy(update={"outlier": True})


def _find_ordinary_range(metric: str, values: Sequence[Number]) -> tuple[Number, Number] | None:
    """Return the range of a metric's values that are not outliers; None if it is unknown."""
    if get_metric(metric).exact:
        majority = find_majority(values)
        if majority is None:
            return None
        count, n_samples = majority
        return (count, count) if n_samples >= 2 else None  # A single sample shows no level.
    center = compute_median(values)
    if center is None or len(values) < MIN_SAMPLES_FOR_OUTLIERS:
        return None
    median_absolute_deviation = compute_median([abs(value - center) for value in values]) or 0
    max_distance = MIN_OUTLIER_SIGMA * _SIGMA_PER_DEVIATION * median_absolute_deviation
    # The deviation is 0 if most values are equal. It then says nothing about the noise, so no value is an outlier.
    return (center - max_distance, center + max_distance) if max_distance else None


def _do_samples_agree(samples: Sequence[Sample]) -> bool:
    """Return whether a majority of the samples agrees on each exact count."""
    for name in _list_exact_metrics(samples):
        values = _list_values(samples, name)
        majority = find_majority(values)
        # The workload may ask for only one sample; of two or more samples, at least two must agree.
        if majority is None or majority[1] < min(2, len(values)):
            return False
    return True


def _is_median_precise(values: Sequence[Number], percent: float) -> bool:
    """Return whether the median is known to within ``percent``; True without values, because samples would not help."""
    median_bounds = compute_median_bounds(values, MEDIAN_ERROR_PROBABILITY)
    if median_bounds is None:
        return not values
    low, high = median_bounds
    # The middle is (low + high) / 2, so this asks whether both bounds are within ``percent`` of the middle.
    return high - low <= percent / 100 * abs(low + high)


def _list_exact_metrics(samples: Iterable[Sample]) -> list[str]:
    """Return the exact counts that have a value in any sample."""
    return list(
        dict.fromkeys(
            name
            for sample in samples
            for name, reading in sample.readings.items()
            if reading.value is not None and get_metric(name).exact
        )
    )


def _list_values(samples: Iterable[Sample], name: str) -> list[Number]:
    readings = [sample.readings[name] for sample in samples if name in sample.readings]
    return [reading.value for reading in readings if reading.value is not None]
