"""Faults by what they hit: files, other memory, and what the kernel copies for the program. Pure."""

from collections.abc import Sequence

from runner.contract.report import Reading, Sample, Status
from runner.perf.fault_places import FaultPlaces

FILE, ANONYMOUS, KERNEL = "file-faults", "anonymous-faults", "kernel-faults"
NAMES = (FILE, ANONYMOUS, KERNEL)


def with_fault_kinds(samples: Sequence[Sample], places: FaultPlaces | None, processes: int = 1) -> list[Sample]:
    """Add to a sample what an execution that was followed took its faults in, where both took as many.

    Parameters
    ----------
    places
        Where the faults of that execution were; None where it could not be followed.
    processes
        How many ran at once: only the first of several is followed.
    """
    counts = [_count(sample) for sample in samples]
    exact = places is not None and not places.lost and processes == 1
    number = counts.index(places.total) if places and exact and places.total in counts else 0
    added = _kinds(places) if places and exact and places.total in counts else _absent(places, processes)
    return [
        sample.model_copy(update={"readings": sample.readings | added}) if place == number else sample
        for place, sample in enumerate(samples)
    ]


def _kinds(places: FaultPlaces) -> dict[str, Reading]:
    if places.in_kernel is None:
        reason = "the kernel's own faults are not counted: kernel.perf_event_paranoid forbids it to this user"
        kernel = Reading(status=Status.NOT_SUPPORTED, reason=reason)
    else:
        kernel = Reading(value=places.in_kernel)
    return {
        FILE: Reading(value=places.in_files),
        ANONYMOUS: Reading(value=places.total - places.in_files),
        KERNEL: kernel,
    }


def _absent(places: FaultPlaces | None, processes: int) -> dict[str, Reading]:
    status, reason = Status.NOT_COUNTED, ""
    if processes > 1:
        status, reason = Status.NOT_SUPPORTED, "only one of the processes that ran at once was followed"
    elif places is None:
        status, reason = Status.NOT_SUPPORTED, "no execution could be followed on this host"
    elif places.lost:
        reason = f"there was no room for {places.lost} records of the execution that was followed"
    else:
        reason = f"the execution that was followed took {places.total} faults, and no sample did"
    return dict.fromkeys(NAMES, Reading(status=status, reason=reason))


def _count(sample: Sample) -> int | float | None:
    reading = sample.readings.get("page-faults")
    return None if reading is None else reading.value
