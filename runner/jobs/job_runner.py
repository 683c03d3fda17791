"""Claims a job, runs it, and reports how it ended."""

import importlib
import time
from collections.abc import Callable

from msgspec import Struct

from runner.contract.job import Backend, Claim, Job, Lease, Outcome, Question
from runner.errors import FaultwatchError, RequestRefused, ServiceUnavailable
from runner.host.host_turn import HostTurn
from runner.jobs.claimed_job import ClaimedJob, JobHandler, JobResult
from runner.jobs.heartbeat import Heartbeat, JobStopped
from runner.reporting.client import Service
from runner.settings import Settings

_MAX_WAIT_SECONDS = 30.0

Prepare = Callable[[Job, Service, Heartbeat, Callable[[], None]], ClaimedJob]
"""Finds the repository, the workload and the case of a job on this host. The last argument waits for the turn: it is
called when the job is known to be valid."""


class JobRunner(Struct, frozen=True):
    """Runs jobs on this host, one at a time.

    Attributes
    ----------
    turn
        The turn of the command on this host.
    print_message
        Shows a message to the user.
    log_url
        The address of the log of this process.
    verbose
        Whether to show the progress of a job as well.
    """

    settings: Settings
    service: Service
    turn: HostTurn
    print_message: Callable[[str], None]
    log_url: str = ""
    verbose: bool = False

    def run(self, job_id: int, prepare: Prepare, handler: JobHandler | None = None) -> Job:
        """Run a job; return its state afterwards.

        Parameters
        ----------
        job_id
            Number of the job.
        prepare
            Finds the repository, the workload and the case on this host, and waits for the turn.
        handler
            Runs the job; None for the handler of its kind.

        Raises
        ------
        AlreadyEnded
            The job has ended already.
        FaultwatchError
            The job cannot be claimed, or it failed.
        """
        claim = Claim(host=self.settings.host, log_url=self.log_url)
        lease = self._claim_job(job_id, claim)
        with Heartbeat(
            self.service.clone_connection(), lease, claim, self.print_message, verbose=self.verbose
        ) as heartbeat:
            service = self.service.connect_with_retries(self.print_message, self.turn.pause)
            service.before_send = heartbeat.count_run
            handler = handler or _find_handler(lease.job.question)

            def report_waiting(line: str) -> None:
                if not self.verbose:  # In verbose mode, the heartbeat shows it.
                    self.print_message(line)
                heartbeat.report_progress(line)

            def begin_turn() -> None:
                # Heartbeats continue during the wait, so the service does not declare the job lost.
                self.turn.begin(report_waiting)
                heartbeat.check_orders()

            def run_handler() -> JobResult:
                return handler(prepare(lease.job, service, heartbeat, begin_turn))

            return self._run_claimed_job(heartbeat, run_handler)

    def _run_claimed_job(self, heartbeat: Heartbeat, run_handler: Callable[[], JobResult]) -> Job:
        """Run a claimed job, and report how it ended."""
        try:
            result = run_handler()
        except JobStopped as stop:
            self.print_message(str(stop))
            return _report_stopped_job(heartbeat, str(stop))
        except ServiceUnavailable:
            raise  # The end cannot be reported, but the service notices the lost job and orders it again.
        except FaultwatchError as error:
            self._report_failed_job(heartbeat, str(error))
            raise
        except KeyboardInterrupt:
            # The service starts jobs of other backends again when their heartbeats stop.
            if heartbeat.job.backend is Backend.CALLER:
                _report_stopped_job(heartbeat, "The job was interrupted by the user.")
            raise
        except Exception as error:
            self._report_failed_job(heartbeat, f"{type(error).__name__}: {error}")
            raise
        return heartbeat.finish(Outcome.DONE, result.sentence, result.result)

    def _report_failed_job(self, heartbeat: Heartbeat, reason: str) -> None:
        """Report that the job failed; if the service does not accept the report, say so, and raise nothing."""
        try:
            heartbeat.finish(Outcome.FAILED, reason)
        except FaultwatchError as error:
            self.print_message(
                f"the failure of job {heartbeat.job.id} could not be reported: {error}; the service will "
                "count the job as lost"
            )

    def _claim_job(self, job_id: int, claim: Claim) -> Lease:
        """Claim a job; wait while this host has another one, or another host has this one."""
        has_announced_wait = False
        while True:
            try:
                return self.service.claim_job(job_id, claim)
            except RequestRefused as error:
                if error.retry_after is None:
                    raise
                if not has_announced_wait:
                    self.print_message(error.reason)
                has_announced_wait = True
                time.sleep(min(error.retry_after, _MAX_WAIT_SECONDS))


def _find_handler(question: Question) -> JobHandler:
    """Return the handler of the kind of job that a question orders.

    Only this one is imported, because each imports much that others do not.
    """
    run_job: JobHandler = importlib.import_module(f"runner.jobs.{question.kind}_job").run
    return run_job


def _report_stopped_job(heartbeat: Heartbeat, reason: str) -> Job:
    """Report that the job was stopped, if the service still accepts the report; return the job."""
    try:
        return heartbeat.finish(Outcome.STOPPED, reason)
    except FaultwatchError:  # Another runner has the job by now, or the service does not answer.
        return heartbeat.job
