"""A claimed job: its question, where to measure, and how to report progress."""

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from runner.contract.job import Question
from runner.contract.report import Case
from runner.jobs.heartbeat import Heartbeat
from runner.measuring.trial import Bench
from runner.reporting.client import Service
from runner.settings import Settings
from runner.subject.build import Builder
from runner.subject.repository import Repository
from runner.workload import Workload


class JobResult(Struct, frozen=True):
    """The result of a job.

    Attributes
    ----------
    sentence
        The result in words, for people.
    result
        The result for programs; its keys depend on the kind of job.
    """

    sentence: str
    result: dict[str, Any] | None = None


class ClaimedJob(Struct):
    """A job that this runner has claimed, with everything needed to run it."""

    question: Question
    repository: Repository
    workload: Workload
    case: Case
    bench: Bench
    builder: Builder
    settings: Settings
    service: Service
    heartbeat: Heartbeat
    _runs_started_at: float = field(default_factory=time.monotonic)
    _announced_runs: int = 1
    _durations: list[float] = field(default_factory=list)

    def announce_runs(self, n_runs: int = 1) -> None:
        """Check that the job may continue. Must be called before runs are measured.

        Parameters
        ----------
        n_runs
            The number of runs that follow; 0 counts as 1. The time until :meth:`report_measured_runs` is divided by it.

        Raises
        ------
        JobStopped
            The job was paused or stopped.
        FaultwatchError
            The budget of the job is spent.
        """
        self.heartbeat.check_orders(n_runs)
        self._runs_started_at, self._announced_runs = time.monotonic(), max(1, n_runs)

    def report_measured_runs(self, sentence: str, runs_left: int | None = None) -> None:
        """Report progress after the runs that :meth:`announce_runs` announced were measured and sent.

        Parameters
        ----------
        sentence
            The progress in words.
        runs_left
            The expected number of remaining runs; None if unknown.
        """
        self._durations.append((time.monotonic() - self._runs_started_at) / self._announced_runs)
        self.report_progress(sentence, runs_left)

    def report_progress(self, sentence: str, runs_left: int | None = None) -> None:
        """Report what the job is doing, and the expected number of remaining runs (None if unknown)."""
        mean_seconds = sum(self._durations) / len(self._durations) if self._durations else None
        seconds = None if runs_left is None or mean_seconds is None else round(runs_left * mean_seconds, 1)
        self.heartbeat.report_progress(sentence, runs_left, seconds)


JobHandler = Callable[[ClaimedJob], JobResult]
"""Runs a claimed job to its end, and returns the result; raises if the job failed or was stopped."""
