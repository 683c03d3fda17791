"""Combines the samples of processes that ran at the same time into one sample, which keeps the readings of each."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from runner.contract.metrics import Kind, get_metric
from runner.contract.report import Reading, Sample
from runner.work_reports.worst_reading import find_worst_reading

_MAX_OUTPUT_CHARACTERS = 100_000
"""The longest output of perf that a sample can hold."""


def combine_processes(samples: Sequence[Sample], group_readings: Mapping[str, Reading]) -> Sample:
    """Combine the samples of processes that started together, and add the readings of the group as a whole.

    Counts, CPU times and rates are added up. The elapsed time is that of the slowest process, a size is that of the
    largest process, and a ratio is the mean. If the reading of one process has no value, the combined one has none for
    the same reason. A metric that not every process has is left out.
    """
    if len(samples) == 1:  # Its readings are the totals, so they are not listed once more as those of a process.
        return samples[0].model_copy(update={"readings": samples[0].readings | dict(group_readings)})
    names = dict.fromkeys(name for sample in samples for name in sample.readings)
    shared_names = [name for name in names if all(name in sample.readings for sample in samples)]
    combined_readings = {
        name: _combine_readings(name, [sample.readings[name] for sample in samples]) for name in shared_names
    }
    texts = (f"# process {number}\n{sample.perf_output}" for number, sample in enumerate(samples, start=1))
    return Sample(
        readings=combined_readings | dict(group_readings),
        perf_output="\n".join(texts)[:_MAX_OUTPUT_CHARACTERS],
        processes=tuple(sample.readings for sample in samples),
    )


def _combine_readings(name: str, readings: Sequence[Reading]) -> Reading:
    """Combine the readings of one metric from several processes; if a value is missing, return the worst reading."""
    worst_reading = find_worst_reading(readings)
    values = [reading.value for reading in readings if reading.value is not None]
    if len(values) < len(readings):
        return worst_reading
    return worst_reading.model_copy(update={"value": _combine_values(name, values)})


def _combine_values(metric: str, values: Sequence[int | float]) -> int | float:
    """Return the largest elapsed time or size, the mean of ratios, and the sum of all others, CPU times included."""
    kind = get_metric(metric).kind
    if metric == "elapsed" or kind is Kind.SIZE:
        return max(values)
    return fmean(values) if kind is Kind.RATIO else sum(values)
