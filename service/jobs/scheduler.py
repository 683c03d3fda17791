"""Sees to the jobs: takes orders, looks what is due, has the rest started, and has those told who asked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from runner.contract.job import Backend, Job, JobOrder, State
from service.config.settings import LEASE
from service.rules.jobs.due import SERVICE, Due, due
from service.rules.jobs.states import Act
from service.store import drifts, jobs
from service.store.engine.database import Database
from service.store.jobs import Asked
from service.store.models import Job as Row

log = logging.getLogger(__name__)

_TELLING = timedelta(minutes=3)
"""Longer than it takes to tell one thing to GitHub."""


class NotDispatched(Exception):
    """Something was not taken. It is tried again at a time, or given up where there is none."""

    def __init__(self, why: str, again_at: datetime | None) -> None:
        super().__init__(why)
        self.again_at = again_at


class WrongOrderError(ValueError):
    """An order that cannot be carried out: which part of it, and why."""

    def __init__(self, part: str, why: str) -> None:
        super().__init__(why)
        self.part = part


class Starter(Protocol):
    """Starts jobs somewhere."""

    def objection(self, asked: JobOrder) -> str:
        """Return why it cannot start what is asked for; nothing where it can."""

    def start(self, job: Job) -> str:
        """Have a runner started that claims the job; return where its log is, if that is known.

        Raises
        ------
        NotDispatched
            Where that failed.
        """


class Teller(Protocol):
    """Tells those who asked for a job."""

    def tell(self, job: Job, tellings: int) -> None:
        """Tell what came of a job, once, however often it is tried.

        Raises
        ------
        NotDispatched
            Where that failed.
        """


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class JobScheduler:
    """Everything it takes to see to the jobs.

    Attributes
    ----------
    awake_since
        Since when runners can reach the service. They could not be heard of before.
    bell
        Is called where there is something to do.
    """

    database: Database
    starters: dict[Backend, Starter] = field(default_factory=dict)
    teller: Teller | None = None
    lease: timedelta = LEASE
    now: Callable[[], datetime] = _now
    awake_since: datetime = field(default_factory=_now)
    bell: Callable[[], None] = lambda: None

    def order(self, asked: JobOrder, by: Asked) -> tuple[Job, bool]:
        """Take an order, and have it seen to; return the job, and whether it is new.

        Raises
        ------
        WrongOrderError
            Where it cannot be carried out.
        """
        now = self.now()
        if asked.deadline_at is not None and asked.deadline_at <= now:
            raise WrongOrderError("deadline_at", "is not in the future")
        with self.database.writing() as session:
            if asked.drift is not None:
                drift = drifts.find(session, asked.drift)
                if drift is None:
                    raise WrongOrderError("drift", f"there is no drift {asked.drift}")
                asked = asked.model_copy(update={"question": jobs.about(session, drift), "drift": None})
            if asked.github is None and asked.question is not None:
                asked = asked.model_copy(update={"github": jobs.github_of(session, asked.question.subject)})
            asked = asked.model_copy(update={"backend": self.backend(asked)})
            row, new = jobs.order(session, asked, by, now)
            found = jobs.view(row)
        self.bell()
        return found, new

    def backend(self, asked: JobOrder) -> Backend:
        """Return who is to start a job: who is named, else the first who can.

        Raises
        ------
        WrongOrderError
            Where the one who is named cannot.
        """
        if asked.backend is Backend.CALLER:
            return Backend.CALLER
        for backend in (Backend.GITHUB, Backend.LOCAL) if asked.backend is None else (asked.backend,):
            starter = self.starters.get(backend)
            objection = starter.objection(asked) if starter else f"this service starts no jobs by {backend}"
            if not objection:
                return backend
            if asked.backend is not None:
                raise WrongOrderError("backend", objection)
        return Backend.CALLER

    def work(self) -> None:
        """Do all that is due."""
        with self.database.reading() as session:
            waiting = [row.id for row in jobs.open_jobs(session) if self._due(row)]
        for job_id in waiting:
            while self._one(job_id):
                pass
        while self._tell():
            pass

    def _due(self, row: Row) -> Due | None:
        heard = row.leased_until and max(row.leased_until, self.awake_since + self.lease)
        found = due(replace(jobs.standing(row), leased_until=heard), self.now())
        if found is None or (found.act is Act.DISPATCH and row.backend not in self.starters):
            return None  # another process of the service may have what starts it
        return found

    def _one(self, job_id: int) -> bool:
        """Do what is due for one job; whether there may be more."""
        with self.database.writing() as session:
            row = jobs.find(session, job_id)
            found = self._due(row) if row else None
            if row is None or found is None:
                return False
            jobs.move(row, found.act, SERVICE, found.why, self.now())
            started = jobs.view(row) if found.act is Act.DISPATCH else None
        if started is not None:
            self._start(started)
        return started is None

    def _start(self, job: Job) -> None:
        why, again_at, log_url = "", None, ""
        try:
            log_url = self.starters[job.backend].start(job)
        except NotDispatched as error:
            why, again_at = str(error), error.again_at
        except Exception as error:
            log.exception("job %s could not be started", job.id)
            why, again_at = f"{type(error).__name__}: {error}", self.now() + timedelta(minutes=1)
        if why:
            log.warning("job %s was not started: %s", job.id, why)
        with self.database.writing() as session:
            row = jobs.find(session, job.id)
            if row is not None and why and row.state is State.DISPATCHED:
                jobs.not_started(row, why, again_at, self.now())
            elif row is not None and log_url:
                row.log_url = log_url

    def ended(self, job_id: int, why: str) -> None:
        """Take it that whatever carried out a job has ended, with or without a word of its own."""
        with self.database.writing() as session:
            row = jobs.find(session, job_id)
            if row is not None and row.state in {State.DISPATCHED, State.RUNNING}:
                jobs.move(row, Act.LOSE, SERVICE, why, self.now())
        self.bell()

    def ran(self, job_id: int, repository: str, log_url: str, conclusion: str | None) -> None:
        """Take it that a workflow of a repository carries out a job, or has ended.

        What it does not speak for is left alone: a job of another repository, an attempt before the one that runs.
        """
        with self.database.writing() as session:
            row = jobs.find(session, job_id)
            if row is None or row.github != repository or row.state not in {State.DISPATCHED, State.RUNNING}:
                return
            if row.state is State.RUNNING and row.log_url != log_url:
                return
            row.log_url = log_url
            if conclusion == "cancelled":
                jobs.move(row, Act.CANCEL, SERVICE, "Its workflow was cancelled.", self.now())
            elif conclusion is not None:
                jobs.move(row, Act.LOSE, SERVICE, f"Its workflow has ended: {conclusion}.", self.now())
        self.bell()

    def _tell(self) -> bool:
        """Tell what came of one job in the thread where it was asked for; whether there may be more."""
        teller, now = self.teller, self.now()
        if teller is None:
            return False
        with self.database.writing() as session:
            row = jobs.to_be_told(session, now)
            if row is None:
                return False
            row.tell_at = now + _TELLING  # whoever takes it and is ended leaves it to be taken again
            row.tellings += 1
            job, tellings = jobs.view(row), row.tellings
        again_at = None
        try:
            teller.tell(job, tellings)
        except NotDispatched as error:
            log.warning("job %s was not told: %s", job.id, error)
            again_at = error.again_at
        with self.database.writing() as session:
            row = jobs.find(session, job.id)
            if row is not None:
                row.tell_at = again_at
        return True
