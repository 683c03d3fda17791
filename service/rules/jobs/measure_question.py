"""Makes the question that has a run repeated at another commit."""

from __future__ import annotations

from pydantic import ValidationError

from runner.contract import Report
from runner.contract.job import MeasureQuestion
from service.rules.jobs.job_variables import read_variables


def build_measure_question(report: Report, commit: str) -> MeasureQuestion | None:
    """Return the question what the case of a run counts at another commit, on its host and with its variables.

    None if no job can have it: a report may have longer names of cases than a job.
    """
    try:
        return MeasureQuestion(
            subject=report.subject,
            case=report.case.name,
            host=report.host.name,
            variables=read_variables(report.environment.settings),
            revision=commit,
        )
    except ValidationError:
        return None
