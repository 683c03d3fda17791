"""Finds the handler of a kind of job."""

import importlib

from runner.contract.job import Question
from runner.jobs.claimed_job import JobHandler


def handler_of(question: Question) -> JobHandler:
    """Return the handler of a kind of job. Each is imported only when needed: they import much that others do not."""
    run: JobHandler = importlib.import_module(f"runner.jobs.{question.kind}_job").run
    return run
