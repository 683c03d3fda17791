"""Takes a job on, carries it out, and tells the end, whatever that is."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from runner.contract.job import Backend, Claim, Job, Lease, Outcome
from runner.errors import Away, FaultwatchError, Refused
from runner.host.lock import alone
from runner.jobs import kind
from runner.jobs.claimed_job import CarryOut, Ended, Work
from runner.jobs.heartbeat import PATIENCE, Keeper, Stopped
from runner.reporting.client import Service
from runner.settings import Settings

_LONGEST_WAIT = 30.0

Prepare = Callable[[Job, Service, Keeper], Work]


@dataclass(frozen=True, slots=True)
class Carrier:
    """Carries out jobs on this host, one at a time.

    Attributes
    ----------
    said
        Is told what a person should know.
    log_url
        Where the log of this process can be read.
    loud
        Whether to say how far a job is, too.
    """

    settings: Settings
    service: Service
    said: Callable[[str], None]
    log_url: str = ""
    loud: bool = False

    def carry_out(self, job_id: int, prepare: Prepare, work: CarryOut | None = None) -> Job:
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
        with alone(self.settings, self.said):
            lease = self._claimed(job_id, claim)
            with Keeper(self.service.another(), lease, claim, self.said, loud=self.loud) as keeper:
                patient = self.service.another(PATIENCE)
                patient.before_send = keeper.count
                carried = work or kind(lease.job.question)
                return self._kept(keeper, lambda: carried(prepare(lease.job, patient, keeper)))

    def _kept(self, keeper: Keeper, work: Callable[[], Ended]) -> Job:
        """Work on a job that was claimed, and tell the end."""
        try:
            ended = work()
        except Stopped as stop:
            self.said(str(stop))
            return _stopped(keeper, str(stop))
        except Away:
            raise  # nobody can be told; the service finds it lost, and orders it again
        except FaultwatchError as error:
            keeper.finish(Outcome.FAILED, str(error))
            raise
        except KeyboardInterrupt:
            if keeper.job.backend is Backend.CALLER:
                _stopped(keeper, "It was interrupted by hand.")
            raise
        except Exception as error:
            keeper.finish(Outcome.FAILED, f"{type(error).__name__}: {error}")
            raise
        return keeper.finish(Outcome.DONE, ended.sentence, ended.result)

    def _claimed(self, job_id: int, claim: Claim) -> Lease:
        """Take a job on; where this host or another one is busy with something else, wait."""
        told = False
        while True:
            try:
                return self.service.claim_job(job_id, claim)
            except Refused as error:
                if error.retry_after is None:
                    raise
                if not told:
                    self.said(error.what)
                told = True
                time.sleep(min(error.retry_after, _LONGEST_WAIT))


def _stopped(keeper: Keeper, why: str) -> Job:
    try:
        return keeper.finish(Outcome.STOPPED, why)
    except FaultwatchError:  # it is another runner's by now, or nobody can be told
        return keeper.job
