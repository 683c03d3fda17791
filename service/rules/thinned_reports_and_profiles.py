"""Decides which parts of an old report or profile are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto

from runner.contract import Kind, Reading, Report, get_metric
from runner.contract.judging import Judging
from runner.contract.profile import Frame, Profile, Stack, StackProfile
from service.rules.series.run_level import compute_run_level
from service.schemas.history import Number

_MAX_STACKS = 200
"""How many of the heaviest stacks of each kind are kept."""
_MERGED_STACKS_FRAME = Frame(function="[lighter stacks, merged by retention]")


def thin_report(report: Report) -> Report:
    """Return a report without perf's output, the readings of single processes, and logs.

    All data from which levels, drifts and the numbers on pages are computed is kept.
    """
    samples = tuple(sample.model_copy(update={"perf_output": "", "processes": ()}) for sample in report.samples)
    build = None if report.build is None else report.build.model_copy(update={"log": ""})
    failure = None if report.failure is None else report.failure.model_copy(update={"log": ""})
    return report.model_copy(update={"samples": samples, "build": build, "failure": failure})


def reduce_report(report: Report) -> tuple[Report, Mapping[str, Sequence[Number]]]:
    """Return a report without texts (see :func:`thin_report`) in which some metrics keep only some values, and those.

    A noisy metric that is judged, in the history or in comparisons, keeps its lowest sample, its level and its highest
    sample; a metric that is not judged keeps only its level. Counts that are judged in the history keep all samples,
    because each of them can prove a drift; so do metrics whose samples are all equal. The points computed from the
    report keep their levels, and the same drifts are detected in them.
    """
    thinned_report = thin_report(report)
    kept_readings = dict(_list_reduced_readings(report))
    samples = []
    for index, sample in enumerate(thinned_report.samples):
        sample_readings = {name: reading for name, reading in sample.readings.items() if name not in kept_readings}
        # The readings that a metric keeps are moved to the first samples.
        sample_readings |= {name: readings[index] for name, readings in kept_readings.items() if index < len(readings)}
        if sample_readings:
            samples.append(sample.model_copy(update={"readings": sample_readings}))
    kept_values = {name: [reading.value or 0 for reading in readings] for name, readings in kept_readings.items()}
    return thinned_report.model_copy(update={"samples": tuple(samples)}), kept_values


def _list_reduced_readings(report: Report) -> Iterator[tuple[str, list[Reading]]]:
    """Yield each metric that loses readings, with the readings that it keeps."""
    for name in dict.fromkeys(name for sample in report.samples for name in sample.readings):
        readings = [sample.readings[name] for sample in report.samples if name in sample.readings]
        status, level, samples = compute_run_level(readings)
        remaining_samples = _select_samples(samples, level, _find_use(name, report.judging))
        if len(remaining_samples) < len(samples) and len(set(samples)) > 1:
            # A reading with the status of the level, so that the level of the kept readings also has this status.
            template_reading = next(reading for reading in readings if reading.status is status)
            kept_readings = [
                template_reading.model_copy(update={"value": value, "outlier": False}) for value in remaining_samples
            ]
            yield name, kept_readings


class _Use(Enum):
    """The use of a metric's samples in old runs."""

    ALL = auto()
    EXTREMES = auto()
    LEVEL = auto()


def _find_use(metric: str, judging: Judging) -> _Use:
    """Return the use of a metric's samples in old runs."""
    if get_metric(metric).kind is Kind.COUNT and judging.is_judged_in_history(metric):
        return _Use.ALL  # detection reads every sample of a count, to see whether it repeats
    return _Use.EXTREMES if judging.is_judged_in_history(metric) or judging.decides_comparison(metric) else _Use.LEVEL


def _select_samples(samples: Sequence[Number], level: Number | None, use: _Use) -> Sequence[Number]:
    """Return the samples that are kept: all, the level, or the level and the extremes."""
    if level is None or use is _Use.ALL:
        return samples
    return (level,) if use is _Use.LEVEL else (min(samples), level, max(samples))


def thin_profile(profile: Profile) -> Profile:
    """Return a profile with only its heaviest stacks; the others are merged into one, so that all sums are kept."""
    frames = (*profile.frames, _MERGED_STACKS_FRAME)
    merged_frame = len(profile.frames)
    stack_profiles: dict[str, StackProfile | None] = {
        "faults": profile.faults,
        "on_cpu": profile.on_cpu,
        "off_cpu": profile.off_cpu,
        "returned": profile.returned,
        "requested": profile.requested,
    }
    thinned_stacks = {
        name: _keep_heaviest_stacks(stacks, merged_frame)
        for name, stacks in stack_profiles.items()
        if stacks is not None
    }
    # Drop the frames that no remaining stack contains.
    used_frames = sorted(
        {index for stacks in thinned_stacks.values() for stack in stacks.stacks for index in stack.frames}
    )
    new_indices = {old_index: new_index for new_index, old_index in enumerate(used_frames)}
    renumbered_stacks = {name: _renumber_frames(stacks, new_indices) for name, stacks in thinned_stacks.items()}
    return profile.model_copy(update={**renumbered_stacks, "frames": tuple(frames[index] for index in used_frames)})


def _keep_heaviest_stacks(profile: StackProfile, merged_frame: int) -> StackProfile:
    """Return a stack profile with only its heaviest stacks; the others become one stack of ``merged_frame``."""
    sorted_stacks = sorted(profile.stacks, key=lambda stack: -stack.weight)
    kept_stacks = sorted_stacks[:_MAX_STACKS]
    merged_stacks = sorted_stacks[_MAX_STACKS:]
    if merged_stacks:
        kept_stacks.append(Stack(frames=(merged_frame,), weight=sum(stack.weight for stack in merged_stacks)))
    return profile.model_copy(update={"stacks": tuple(kept_stacks)})


def _renumber_frames(profile: StackProfile, indices: dict[int, int]) -> StackProfile:
    """Return a stack profile with new indices of its frames."""
    stacks = tuple(
        stack.model_copy(update={"frames": tuple(indices[index] for index in stack.frames)}) for stack in profile.stacks
    )
    return profile.model_copy(update={"stacks": stacks})
