"""Carries out what the service orders: one module for each kind of job, each with ``run(work) -> Ended``."""

import importlib

from runner.contract.job import Question
from runner.jobs.claimed_job import JobHandler


def handler_of(question: Question) -> JobHandler:
    """Return what carries out a kind of job; imported only now, since each needs much that the others do not."""
    run: JobHandler = importlib.import_module(f"runner.jobs.{question.kind}_job").run
    return run
