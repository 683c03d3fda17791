"""What carries out a job is given: the question, where to measure, and whom to tell how far it is."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runner.contract.job import Question
from runner.contract.report import Case
from runner.jobs.heartbeat import Heartbeat
from runner.measuring.trial import Bench
from runner.reporting.client import Service
from runner.settings import Settings
from runner.subject.build import Builder
from runner.subject.repository import Repository
from runner.workload import Workload


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came of a job.

    Attributes
    ----------
    sentence
        In words.
    result
        For programs; what it holds depends on the kind.
    """

    sentence: str
    result: dict[str, Any] | None = None


@dataclass(slots=True)
class ClaimedJob:
    """A job that this runner has claimed."""

    question: Question
    repository: Repository
    workload: Workload
    case: Case
    bench: Bench
    builder: Builder
    settings: Settings
    service: Service
    heartbeat: Heartbeat
    _since: float = field(default_factory=time.monotonic)
    _runs: int = 1
    _durations: list[float] = field(default_factory=list)

    def about_to_measure(self, runs: int = 1) -> None:
        """Call before each run: whoever wants the job paused or stopped is heard here.

        Raises
        ------
        Stopped
            Where the job is not to go on.
        FaultwatchError
            Where its budget is spent.
        """
        self.heartbeat.check_orders(runs)
        self._since, self._runs = time.monotonic(), max(1, runs)

    def measured(self, sentence: str, left: int | None = None) -> None:
        """Call after what :meth:`about_to_measure` announced was measured and sent.

        Parameters
        ----------
        sentence
            How far it is, in words.
        left
            Runs that are expected to be left.
        """
        self._durations.append((time.monotonic() - self._since) / self._runs)
        self.report_progress(sentence, left)

    def report_progress(self, sentence: str, left: int | None = None) -> None:
        """Tell what is being done, and how many runs are expected to be left."""
        each = sum(self._durations) / len(self._durations) if self._durations else None
        seconds = None if left is None or each is None else round(left * each, 1)
        self.heartbeat.report_progress(sentence, left, seconds)


JobHandler = Callable[[ClaimedJob], JobResult]
