"""Takes a job on, carries it out, and tells the end, whatever that is."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from runner.alone import alone
from runner.client import Service
from runner.contract.job import Backend, Claim, Job, Lease, Outcome
from runner.errors import Away, FaultwatchError, Refused
from runner.jobs.keeper import Keeper, Stopped
from runner.jobs.work import CarryOut, CountingService, Work
from runner.settings import Settings

PATIENCE = 900.0
"""Seconds for which a job bears that the service is away."""
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

    def carry_out(self, job_id: int, prepare: Prepare, work: CarryOut) -> Job:
        """Carry out a job; return it as it stands afterwards.

        Raises
        ------
        FaultwatchError
            Where it cannot be had, or failed.
        """
        claim = Claim(host=self.settings.host, log_url=self.log_url)
        with alone(self.settings, self.said):
            lease = self._claimed(job_id, claim)
            with Keeper(self.service.another(), lease, claim, self.said, loud=self.loud) as keeper:
                try:
                    ended = work(prepare(lease.job, CountingService(self.service, keeper, PATIENCE), keeper))
                except Stopped as stop:
                    self.said(str(stop))
                    return self._stopped(job_id, keeper, str(stop))
                except Away:
                    raise  # nobody can be told; the service finds it lost, and orders it again
                except FaultwatchError as error:
                    keeper.finish(Outcome.FAILED, str(error))
                    raise
                except KeyboardInterrupt:
                    if lease.job.backend is Backend.CALLER:
                        self._stopped(job_id, keeper, "It was interrupted by hand.")
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
                    raise FaultwatchError(error.what) from None
                if not told:
                    self.said(error.what)
                told = True
                time.sleep(min(error.retry_after, _LONGEST_WAIT))

    def _stopped(self, job_id: int, keeper: Keeper, why: str) -> Job:
        try:
            return keeper.finish(Outcome.STOPPED, why)
        except Refused:  # it is another runner's
            return self.service.job(job_id)
