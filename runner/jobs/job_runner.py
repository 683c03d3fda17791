"""Takes a job on, carries it out, and tells the end, whatever that is."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from runner.contract.job import Backend, Claim, Job, Lease, Outcome
from runner.errors import FaultwatchError, RequestRefused, ServiceUnavailable
from runner.host.lock import host_lock
from runner.jobs.claimed_job import ClaimedJob, JobHandler, JobResult
from runner.jobs.handlers import handler_of
from runner.jobs.heartbeat import RETRY_SECONDS, Heartbeat, JobStopped
from runner.reporting.client import Service
from runner.settings import Settings

_LONGEST_WAIT = 30.0

Prepare = Callable[[Job, Service, Heartbeat], ClaimedJob]


@dataclass(frozen=True, slots=True)
class JobRunner:
    """Carries out jobs on this host, one at a time.

    Attributes
    ----------
    say
        Is told what a person should know.
    log_url
        Where the log of this process can be read.
    verbose
        Whether to say how far a job is, too.
    """

    settings: Settings
    service: Service
    say: Callable[[str], None]
    log_url: str = ""
    verbose: bool = False

    def run(self, job_id: int, prepare: Prepare, handler: JobHandler | None = None) -> Job:
        """Carry out a job; return it as it stands afterwards.

        Parameters
        ----------
        job_id
            Number of the job.
        prepare
            Finds what the job needs on this host.
        work
            What carries it out; None for what its kind has.

        Raises
        ------
        Over
            Where it is done already.
        FaultwatchError
            Where it cannot be had, or failed.
        """
        claim = Claim(host=self.settings.host, log_url=self.log_url)
        with host_lock(self.settings, self.say):
            lease = self._claim(job_id, claim)
            with Heartbeat(self.service.new_connection(), lease, claim, self.say, verbose=self.verbose) as heartbeat:
                patient = self.service.new_connection(RETRY_SECONDS)
                patient.before_send = heartbeat.count_run
                handler = handler or handler_of(lease.job.question)
                return self._run_claimed(heartbeat, lambda: handler(prepare(lease.job, patient, heartbeat)))

    def _run_claimed(self, heartbeat: Heartbeat, work: Callable[[], JobResult]) -> Job:
        """Work on a job that was claimed, and tell the end."""
        try:
            ended = work()
        except JobStopped as stop:
            self.say(str(stop))
            return _stopped(heartbeat, str(stop))
        except ServiceUnavailable:
            raise  # nobody can be told; the service finds it lost, and orders it again
        except FaultwatchError as error:
            heartbeat.finish(Outcome.FAILED, str(error))
            raise
        except KeyboardInterrupt:
            if heartbeat.job.backend is Backend.CALLER:
                _stopped(heartbeat, "It was interrupted by hand.")
            raise
        except Exception as error:
            heartbeat.finish(Outcome.FAILED, f"{type(error).__name__}: {error}")
            raise
        return heartbeat.finish(Outcome.DONE, ended.sentence, ended.result)

    def _claim(self, job_id: int, claim: Claim) -> Lease:
        """Take a job on; where this host or another one is busy with something else, wait."""
        told = False
        while True:
            try:
                return self.service.claim_job(job_id, claim)
            except RequestRefused as error:
                if error.retry_after is None:
                    raise
                if not told:
                    self.say(error.what)
                told = True
                time.sleep(min(error.retry_after, _LONGEST_WAIT))


def _stopped(heartbeat: Heartbeat, why: str) -> Job:
    try:
        return heartbeat.finish(Outcome.STOPPED, why)
    except FaultwatchError:  # it is another runner's by now, or nobody can be told
        return heartbeat.job
