"""Claims a job, and runs it when it is its turn on this host."""

import importlib
import time
from collections.abc import Callable

from msgspec import Struct

from runner.contract.job import Claim, Job, Lease, Question
from runner.errors import RequestRefused
from runner.host.host_turn import HostTurn
from runner.jobs.claimed_job import ClaimedJob, JobHandler, JobResult
from runner.jobs.heartbeat import Heartbeat
from runner.jobs.job_end import run_and_report_end
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

            return run_and_report_end(heartbeat, run_handler, self.print_message)

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
