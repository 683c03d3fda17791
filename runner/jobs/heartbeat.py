"""Keeps a job that was claimed: tells the service that its runner is there and how far it is, and hears what to do."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from runner.contract.job import Claim, Finish, Go, Job, Lease, Orders, Outcome, Progress
from runner.contract.profile import Profile
from runner.contract.report import Report
from runner.errors import FaultwatchError, RequestRefused
from runner.reporting.client import Service

RETRY_SECONDS = 900.0
"""Seconds for which a job bears that the service is away."""


class JobStopped(Exception):
    """The job is not to go on: somebody paused or cancelled it, or another runner has it."""


class Heartbeat:
    """Speaks for one job. A thread of it gives the signs of life while the work takes long."""

    def __init__(
        self, service: Service, lease: Lease, claim: Claim, say: Callable[[str], None], *, verbose: bool = False
    ) -> None:
        self._verbose = verbose
        self.job: Job = lease.job
        self._service, self._claim, self._say = service, claim, say
        self._lease, self._every = lease.lease, lease.heartbeat_seconds
        self._orders = Orders(go=Go.ON)
        self._untold: list[UUID] = []
        self._runs = set(lease.job.runs)
        self._told = Progress(lease=lease.lease)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name="heartbeat")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def report_progress(
        self, sentence: str = "", runs_left: int | None = None, seconds_left: float | None = None
    ) -> None:
        """Tell how far the job is. Where the service does not answer, it is told with the next sign of life."""
        with self._lock:
            told = {"sentence": sentence or self._told.sentence, "runs_left": runs_left, "seconds_left": seconds_left}
            self._told = self._told.model_copy(update=told)
            self._send()
        if self._verbose and sentence:
            self._say(sentence)

    def count_run(self, document: Report | Profile) -> None:
        """Count a run that is about to be sent: a runner that is killed between the two has neither done."""
        asked = self.job.question
        if not isinstance(document, Report) or (document.subject, document.case.name) != (asked.subject, asked.case):
            return
        with self._lock:
            if document.run_id not in self._runs:
                self._runs.add(document.run_id)
                self._untold.append(document.run_id)
                self._send()

    def check_orders(self, runs: int = 0) -> None:
        """Make sure that the job is to go on, and that so many more runs may be measured.

        Raises
        ------
        Stopped
            Where it is not.
        FaultwatchError
            Where its budget is spent.
        """
        with self._lock:
            if self._orders.go is not Go.ON:
                verb = "paused" if self._orders.go is Go.PAUSE else "stopped"
                raise JobStopped(f"job {self.job.id} was {verb}: {self._orders.why or 'no reason given'}")
        most = self.job.most_runs
        if most is not None and len(self._runs) + runs > most:
            raise FaultwatchError(f"its budget of {most} {'run' if most == 1 else 'runs'} is spent")

    def finish(self, outcome: Outcome, sentence: str, result: dict[str, Any] | None = None) -> Job:
        """Tell the end.

        Raises
        ------
        FaultwatchError
            Where the service does not take it.
        """
        with self._lock:
            end = Finish(
                lease=self._lease,
                outcome=outcome,
                measured=tuple(self._untold),
                sentence=sentence[:2000],
                result=result,
            )
            return self._service.new_connection(RETRY_SECONDS).finish_job(self.job.id, end)

    def _beat(self) -> None:
        while not self._over.wait(self._every):
            with self._lock:
                self._send()

    def _send(self) -> None:
        told = self._told.model_copy(update={"lease": self._lease, "measured": tuple(self._untold[:1000])})
        try:
            self._orders = self._service.progress_job(self.job.id, told)
        except RequestRefused as error:
            self._claim_again(error)
        except FaultwatchError:
            return  # it is told later; what is measured meanwhile is on disk
        else:
            del self._untold[: len(told.measured)]

    def _claim_again(self, error: RequestRefused) -> None:
        """Take the job on once more: while nothing was heard of this runner, the service gave it up for lost."""
        try:
            self._lease = self._service.claim_job(self.job.id, self._claim).lease
        except RequestRefused:
            self._orders = Orders(go=Go.STOP, why=error.what)
        except FaultwatchError:
            return
        else:
            self._say(f"job {self.job.id} was given up for lost, and is this runner's again")
