"""Keeps the lease of a claimed job: sends heartbeats with the job's progress, and receives the service's orders."""

import re
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from runner.contract.job import Claim, Finish, Instruction, Job, Lease, Orders, Outcome, Progress
from runner.contract.profile import Profile
from runner.contract.report import Report
from runner.errors import FaultwatchError, RequestRefused
from runner.reporting.client import Service
from runner.reporting.service_retries import RETRY_SECONDS

_MAX_SENTENCE_CHARACTERS = 2000
"""The longest sentence that the contract accepts."""
_MAX_REPORTED_RUNS = 1000
"""The most runs that the contract accepts in one report."""


class JobStopped(Exception):
    """The job must stop: it was paused or cancelled, or another runner has it."""


class Heartbeat:
    """The connection between a running job and the service; within its context, a thread sends heartbeats."""

    def __init__(
        self,
        service: Service,
        lease: Lease,
        claim: Claim,
        print_message: Callable[[str], None],
        *,
        verbose: bool = False,
    ) -> None:
        """Take over a job.

        Parameters
        ----------
        lease
            The job, and the service's permission to work on it, which every heartbeat extends.
        claim
            The request for the job, which is repeated if the service has declared the job lost.
        """
        self._verbose = verbose
        self.job: Job = lease.job
        self._service, self._claim, self._print_message = service, claim, print_message
        self._lease, self._interval_seconds = lease.lease, lease.heartbeat_seconds
        self._orders = Orders(instruction=Instruction.CONTINUE)
        self._unreported_runs: list[UUID] = []
        self._runs = set(lease.job.runs)
        self._progress = Progress(lease=lease.lease)
        self._lock = threading.Lock()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run_heartbeat, daemon=True, name="heartbeat")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._has_ended.set()
        self._thread.join()

    def report_progress(
        self, sentence: str = "", runs_left: int | None = None, seconds_left: float | None = None
    ) -> None:
        """Report the progress of the job. If the service does not answer, the next heartbeat carries the report.

        An empty sentence keeps the last one; None stands for an unknown number of runs or seconds.
        """
        with self._lock:
            update = {
                "sentence": _make_sentence_acceptable(sentence) or self._progress.sentence,
                "runs_left": runs_left,
                "seconds_left": seconds_left,
            }
            self._progress = self._progress.model_copy(update=update)
            self._send_progress()
        if self._verbose and sentence:
            self._print_message(sentence)

    def count_run(self, document: Report | Profile) -> None:
        """Count a run toward the job's budget, and report it to the service.

        Must be called before the run is sent, in case the runner is killed. Profiles, and runs of another subject or
        case, are not counted; an experimental run is counted under any name.
        """
        question = self.job.question
        if not isinstance(document, Report) or document.subject != question.subject:
            return
        # An experimental run of the case can have another name, because its settings differ.
        if document.case.name != question.case and not document.experimental:
            return
        with self._lock:
            if document.run_id not in self._runs:
                self._runs.add(document.run_id)
                self._unreported_runs.append(document.run_id)
                self._send_progress()

    def check_orders(self, n_runs: int = 0) -> None:
        """Check that the job may continue, and that its budget allows this many further runs.

        Raises
        ------
        JobStopped
            The job was paused or stopped.
        FaultwatchError
            The budget of the job is spent.
        """
        with self._lock:
            if self._orders.instruction is not Instruction.CONTINUE:
                verb = "paused" if self._orders.instruction is Instruction.PAUSE else "stopped"
                raise JobStopped(f"job {self.job.id} was {verb}: {self._orders.reason or 'no reason given'}")
        max_runs = self.job.max_runs
        if max_runs is not None and len(self._runs) + n_runs > max_runs:
            budget_text = f"the job's budget of {max_runs} {'run' if max_runs == 1 else 'runs'}"
            state_text = (
                "is spent" if len(self._runs) >= max_runs else f"is not enough: the job needs {n_runs} more now"
            )
            raise FaultwatchError(f"{budget_text} {state_text}", "order the job again with a larger budget")

    def finish(self, outcome: Outcome, sentence: str, result: dict[str, Any] | None = None) -> Job:
        """Report how the job ended.

        Raises
        ------
        FaultwatchError
            The service does not accept the report.
        """
        with self._lock:
            service = self._service.clone_connection(RETRY_SECONDS)
            while len(self._unreported_runs) > _MAX_REPORTED_RUNS:
                self._report_runs(service)
            finish = Finish(
                lease=self._lease,
                outcome=outcome,
                measured=tuple(self._unreported_runs),
                sentence=_make_sentence_acceptable(sentence),
                result=result,
            )
            return service.finish_job(self.job.id, finish)

    def _run_heartbeat(self) -> None:
        while not self._has_ended.wait(self._interval_seconds):
            with self._lock:
                self._send_progress()

    def _send_progress(self) -> None:
        """Report the progress of the job, and take the service's orders; the caller holds the lock.

        If the service has declared the job lost, claim it again. If the service does not answer, change nothing: a
        later call reports the same.
        """
        try:
            self._report_runs(self._service)
        except RequestRefused as error:
            self._reclaim_job(error)
        except FaultwatchError:
            return  # A later heartbeat reports it; until then, new runs are safe on disk.

    def _report_runs(self, service: Service) -> None:
        """Report the progress with as many unreported runs as the contract accepts, and take the service's orders.

        Raises
        ------
        FaultwatchError
            The service does not accept the report, or does not answer.
        """
        measured_runs = tuple(self._unreported_runs[:_MAX_REPORTED_RUNS])
        progress = self._progress.model_copy(update={"lease": self._lease, "measured": measured_runs})
        self._orders = service.report_progress(self.job.id, progress)
        del self._unreported_runs[: len(measured_runs)]

    def _reclaim_job(self, error: RequestRefused) -> None:
        """Claim the job again, because the service declared it lost when no heartbeat arrived.

        If the service refuses, the job is ordered to stop, for the reason in ``error``.
        """
        try:
            self._lease = self._service.claim_job(self.job.id, self._claim).lease
        except RequestRefused:
            self._orders = Orders(instruction=Instruction.STOP, reason=error.what)
        except FaultwatchError:
            return
        else:
            self._print_message(f"the service had declared job {self.job.id} lost; this runner has claimed it again")


def _make_sentence_acceptable(sentence: str) -> str:
    """Return a sentence that the contract accepts: it may quote a path that is not text, or the output of a program."""
    return re.sub(r"[\0\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", sentence)[:_MAX_SENTENCE_CHARACTERS]
