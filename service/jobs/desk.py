"""Sees to the jobs: looks what is due, has the rest started, and lets whoever asked be told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol, cast

from flask import Flask, current_app

from runner.contract.job import Backend, Job, JobOrder, State
from service.jobs.due import SERVICE, due
from service.jobs.life import Act, NotPossibleError
from service.store import jobs
from service.store.database import Database

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=90)
"""For how long a runner that is not heard of keeps its job."""
_EXTENSION = "faultwatch.jobs"


class NotDispatched(Exception):
    """A job could not be started. It is tried again at a time, or given up where there is none."""

    def __init__(self, why: str, again_at: datetime | None) -> None:
        super().__init__(why)
        self.again_at = again_at


class Starter(Protocol):
    """Starts jobs somewhere."""

    def objection(self, asked: JobOrder) -> str:
        """Return why it cannot start what is asked for; nothing where it can."""

    def start(self, job: Job) -> None:
        """Have a runner started that claims the job.

        Raises
        ------
        NotDispatched
            Where that failed.
        """


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything it takes to see to the jobs."""

    database: Database
    starters: Mapping[Backend, Starter]
    lease: timedelta = LEASE
    now: Callable[[], datetime] = _now
    bell: list[Callable[[], None]] = field(default_factory=list)
    """What is called where there is something to do."""

    def backend(self, asked: JobOrder) -> Backend:
        """Return who is to start a job.

        Raises
        ------
        ValueError
            Where the one that is named cannot.
        """
        if asked.backend is Backend.CALLER:
            return Backend.CALLER
        if asked.backend is not None:
            starter = self.starters.get(asked.backend)
            objection = starter.objection(asked) if starter else f"this service starts no jobs by {asked.backend}"
            if objection:
                raise ValueError(objection)
            return asked.backend
        for backend in (Backend.GITHUB, Backend.LOCAL):
            if backend in self.starters and not self.starters[backend].objection(asked):
                return backend
        return Backend.CALLER

    def ring(self) -> None:
        """Say that there is something to do."""
        for hear in self.bell:
            hear()

    def work(self) -> None:
        """Do all that is due."""
        with self.database.reading() as session:
            waiting = [row.id for row in jobs.open_jobs(session) if due(jobs.standing(row), self.now())]
        for job_id in waiting:
            while self._one(job_id):
                pass

    def _one(self, job_id: int) -> bool:
        """Do what is due for one job; whether there may be more."""
        now = self.now()
        with self.database.writing() as session:
            row = jobs.find(session, job_id)
            found = due(jobs.standing(row), now) if row else None
            if row is None or found is None:
                return False
            jobs.carry_out(row, found, now)
            started = jobs.view(row) if found.act is Act.DISPATCH else None
        if started is not None:
            self._start(started)
        return started is None

    def _start(self, job: Job) -> None:
        try:
            self.starters[job.backend].start(job)
        except NotDispatched as error:
            why, again_at = str(error), error.again_at
        except KeyError:
            why, again_at = f"this service starts no jobs by {job.backend} any more", None
        except Exception as error:
            log.exception("job %s could not be started", job.id)
            why, again_at = f"{type(error).__name__}: {error}", self.now() + timedelta(minutes=1)
        else:
            return
        log.warning("job %s was not started: %s", job.id, why)
        with self.database.writing() as session:
            row = jobs.find(session, job.id)
            if row is not None and row.state is State.DISPATCHED:
                jobs.not_started(row, why, again_at, self.now())

    def ended(self, job_id: int, why: str) -> None:
        """Take it that whatever carried out a job has ended, with or without a word of its own."""
        with self.database.writing() as session:
            row = jobs.find(session, job_id)
            if row is not None and row.state in {State.DISPATCHED, State.RUNNING}:
                try:
                    jobs.move(row, Act.LOSE, SERVICE, why, self.now())
                except NotPossibleError:  # pragma: no cover - both states allow it
                    return
        self.ring()


def use(app: Flask, desk: Desk) -> None:
    """Give an application its desk."""
    app.extensions[_EXTENSION] = desk


def desk(app: Flask | None = None) -> Desk:
    """Return the desk of the application that serves this request."""
    return cast(Desk, (app or current_app).extensions[_EXTENSION])
