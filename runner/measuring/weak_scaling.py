"""Weak scaling: N processes that run at the same time do N times the work of one, ideally in the same time."""

import re
from collections.abc import Iterable
from statistics import median

from runner.contract.base import Parameter
from runner.contract.report import Case, Reading, Report, Sample
from runner.workload import Workload
from runner.workload.bound_case import get_process_count

SCALING_EFFICIENCY = "scaling-efficiency"


def add_scaling_efficiency(report: Report, reports: Iterable[Report], workload: Workload) -> Report:
    """Return a report with t(1) / t(N) added to each sample, if the revision was measured with one process too.

    t is the elapsed time; with several processes, that of the slowest.
    """
    if get_process_count(workload, report.case) == 1:
        return report
    single_process = next(
        (other_report for other_report in reports if _is_single_process_run(other_report, report, workload)), None
    )
    times = single_process.list_values("elapsed") if single_process else ()
    if not times:
        return report
    single_process_seconds = median(times)
    return report.model_copy(
        update={"samples": tuple(_add_efficiency(sample, single_process_seconds) for sample in report.samples)}
    )


def _is_single_process_run(other_report: Report, report: Report, workload: Workload) -> bool:
    """Return whether a run differs from that of ``report`` only in that it has a single process."""
    # Parameters that determine the number of processes may differ.
    process_parameters = set(re.findall(r"\{([A-Za-z0-9_.-]+)\}", str(workload.run.processes)))

    def select_other_parameters(case: Case) -> dict[str, Parameter]:
        return {name: value for name, value in case.parameters.items() if name not in process_parameters}

    return (
        get_process_count(workload, other_report.case) == 1
        and other_report.revision.commit == report.revision.commit
        and select_other_parameters(other_report.case) == select_other_parameters(report.case)
    )


def _add_efficiency(sample: Sample, single_process_seconds: float) -> Sample:
    """Return a sample with t(1) / t(N), where ``single_process_seconds`` is t(1)."""
    elapsed = sample.readings["elapsed"].value if "elapsed" in sample.readings else None
    if not elapsed:  # It was not counted, or is too short for the clock.
        return sample
    return sample.model_copy(
        update={"readings": sample.readings | {SCALING_EFFICIENCY: Reading(value=single_process_seconds / elapsed)}}
    )
