"""What is left of a report once it is old. Pure."""

from __future__ import annotations

from runner.contract import Report


def thin(report: Report) -> Report:
    """Return a report without perf's own output, the readings of single processes, and logs.

    Everything that a level, a drift or a page's number comes from stays.
    """
    samples = tuple(sample.model_copy(update={"perf_output": "", "processes": ()}) for sample in report.samples)
    build = report.build and report.build.model_copy(update={"log": ""})
    failure = report.failure and report.failure.model_copy(update={"log": ""})
    return report.model_copy(update={"samples": samples, "build": build, "failure": failure})
