"""Carries out what the service orders: one module for each kind of job, each with ``carry_out(work) -> Ended``."""

import importlib

from runner.contract.job import Question
from runner.jobs.claimed_job import CarryOut


def kind(question: Question) -> CarryOut:
    """Return what carries out a kind of job; imported only now, since each needs much that the others do not."""
    carry_out: CarryOut = importlib.import_module(f"runner.jobs.{question.kind}_job").carry_out
    return carry_out
