"""Counts faults by kind: in files, in other memory, and on memory that the kernel copies for the program."""

from collections.abc import Sequence

from runner.contract.number_text import choose_unit
from runner.contract.report import Reading, Sample, Status
from runner.perf.faults_by_file import FaultsByFile

FILE, ANONYMOUS, KERNEL = "file-faults", "anonymous-faults", "kernel-faults"
FAULT_KIND_NAMES = (FILE, ANONYMOUS, KERNEL)


def add_fault_kinds(samples: Sequence[Sample], faults: FaultsByFile | None, n_processes: int = 1) -> list[Sample]:
    """Return the samples, with the watched execution's fault kinds added to the first one that has as many faults.

    If there is no such sample, the first one contains the reason why the kinds were not counted.

    Parameters
    ----------
    faults
        The faults of the watched execution; None if it could not be watched.
    n_processes
        How many processes ran at the same time; only the first of several was watched.
    """
    totals = [_get_page_faults(sample) for sample in samples]
    is_usable = faults is not None and not faults.lost and n_processes == 1
    if faults and is_usable and faults.total in totals:
        target_index, added_readings = totals.index(faults.total), _make_readings(faults)
    else:
        target_index, added_readings = 0, _make_missing_readings(faults, n_processes)
    return [
        sample.model_copy(update={"readings": sample.readings | added_readings}) if index == target_index else sample
        for index, sample in enumerate(samples)
    ]


def _make_readings(faults: FaultsByFile) -> dict[str, Reading]:
    """Return the faults of the watched execution by kind."""
    if faults.in_kernel is None:
        reason = "kernel.perf_event_paranoid does not let this user count the kernel's faults"
        kernel_reading = Reading(status=Status.NOT_SUPPORTED, reason=reason)
    else:
        kernel_reading = Reading(value=faults.in_kernel)
    return {
        FILE: Reading(value=faults.in_files),
        ANONYMOUS: Reading(value=faults.total - faults.in_files),
        KERNEL: kernel_reading,
    }


def _make_missing_readings(faults: FaultsByFile | None, n_processes: int) -> dict[str, Reading]:
    """Return readings without values, which contain the reason why the faults are not known by kind."""
    status = Status.NOT_COUNTED
    if n_processes > 1:
        status, reason = Status.NOT_SUPPORTED, "only one of the processes that ran at the same time was watched"
    elif faults is None:
        status, reason = Status.NOT_SUPPORTED, "no execution could be watched"
    elif faults.lost:
        lost_records = "1 record" if faults.lost == 1 else f"{faults.lost:,} records"
        verb = "was" if faults.lost == 1 else "were"
        reason = f"{lost_records} of the watched execution {verb} lost, because too many arrived at once"
    else:
        reason = (
            f"the watched execution had {faults.total:,} {choose_unit(faults.total, 'faults')}, and no sample had the "
            "same number"
        )
    return dict.fromkeys(FAULT_KIND_NAMES, Reading(status=status, reason=reason))


def _get_page_faults(sample: Sample) -> int | float | None:
    reading = sample.readings.get("page-faults")
    return None if reading is None else reading.value
