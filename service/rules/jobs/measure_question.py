"""Builds the question of a job that repeats a run at another commit."""

from __future__ import annotations

from pydantic import ValidationError

from runner.contract import Report
from runner.contract.job import MeasureQuestion
from service.rules.jobs.job_variables import read_variables


def build_measure_question(report: Report, commit: str) -> MeasureQuestion | None:
    """Return the question of what a run's case counts at another commit, on the same host with the same variables.

    None if the question is not valid for a job: a report may contain longer names of cases.
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
