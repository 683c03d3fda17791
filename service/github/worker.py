"""Does what GitHub asked for and tells it what it is to be told: row by row, until nothing is due."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from github import GithubException
from github.Repository import Repository
from sqlalchemy.orm import Session

from service.config.github_app import GithubSettings
from service.github import command_reply, job_order
from service.github.client import Client, Failure
from service.github.commands import Command
from service.github.comment import links
from service.github.post import Telling, post
from service.github.react import Accept, Follow, Forget, Head, Measure, Merged, Ran, Said, Work, react
from service.github.retry import Again, again
from service.jobs.scheduler import JobScheduler
from service.pipeline import gate_insights
from service.rules.gate.verdict import Accepted, judge
from service.store import baselines
from service.store import github as store
from service.store.engine.database import Database
from service.store.models import GithubDelivery, GithubGate

log = logging.getLogger(__name__)
_LONGEST_ERROR = 500


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class GithubWorker:
    """Everything it takes to do a piece of work."""

    database: Database
    client: Client
    settings: GithubSettings
    now: Callable[[], datetime] = _now
    jobs: JobScheduler | None = None
    """Where commands order what needs a host."""

    def work(self) -> datetime | None:
        """Do all that is due; return when there is more to do."""
        while self._delivery() or self._gate():
            pass
        with self.database.reading() as session:
            return store.next_due(session)

    def _delivery(self) -> bool:
        with self.database.writing() as session:
            taken = store.take_delivery(session, self.now())
            if taken is None:
                return False
            key, event, payload, attempts = taken.id, taken.event, taken.payload, taken.attempts
        later, error = self._tried(lambda: self._all(react(event, json.loads(payload or "{}"))), attempts)
        with self.database.writing() as session:
            row = session.get_one(GithubDelivery, key)
            row.error, row.due_at = error, later.at if later else None
            if row.due_at is None:
                row.payload = None
            self._be_patient(session, later)
        return True

    def _gate(self) -> bool:
        with self.database.writing() as session:
            taken = store.take_gate(session, self.now())
            if taken is None:
                return False
            key, wanted, attempts = taken.id, taken.wanted, taken.attempts
            name, telling = taken.pull.repository, self._telling(taken)
        with self.database.reading() as session:
            telling = telling.seen(gate_insights.find(session, telling.finding))
        told: list[int | None] = [telling.comment_id]

        def tell() -> None:
            told[0] = self.client.with_repository(name, lambda repository: post(repository, telling))

        later, error = self._tried(tell, attempts)
        with self.database.writing() as session:
            row = session.get_one(GithubGate, key, options=[store.WITH_PULL])
            row.pull.comment_id, row.pull.busy_until = told[0], None
            row.error = error
            if later is None:
                row.told = wanted
            if row.wanted == wanted:  # else there is news since, which is due
                row.due_at = later.at if later else None
            self._be_patient(session, later)
        return True

    def _telling(self, gate: GithubGate) -> Telling:
        report = store.report_of(gate)
        accepted = Accepted(gate.accepted_by, gate.accepted_reason) if gate.accepted_by else None
        return Telling(
            repository=gate.pull.repository,
            number=gate.pull.number,
            finding=judge(report, accepted).since(baselines.unpack(gate.baselines)),
            links=links(self.settings.address, report.base, report.head, report.log_url),
            comment_id=gate.pull.comment_id,
            app_id=self.client.app_id,
            key=f"faultwatch-{gate.id}-{gate.wanted}",
            tried=gate.attempts > 1,
        )

    def _all(self, works: tuple[Work, ...]) -> None:
        for work in works:
            self._do(work)

    def _do(self, work: Work) -> None:
        if isinstance(work, Forget):
            with self.database.writing() as session:
                store.forget(session, work.repositories)
        elif isinstance(work, Head):
            with self.database.writing() as session:
                store.gate(session, work.repository, work.number, work.head)
        elif isinstance(work, Accept):
            self._accept(work, "by label", new=True)
        elif isinstance(work, Merged):
            with self.database.writing() as session:
                found = store.gate(session, work.repository, work.number, work.head)
                found.merged_as, found.merged_at = work.commit, self.now()
        elif isinstance(work, Ran):
            if self.jobs is not None:
                self.jobs.ran(work.job_id, work.repository, work.url, work.conclusion)
        else:
            self.client.with_repository(work.repository, lambda repository: self._with(repository, work))

    def _with(self, repository: Repository, work: Said | Measure | Follow) -> None:
        if isinstance(work, Said):

            def accept(head: str, reason: str) -> bool:
                return self._accept(Accept(work.repository, work.number, head, work.by), reason, new=False)

            def order(command: Command, head: str) -> tuple[bool, str]:
                if self.jobs is None:
                    return False, "This service orders no jobs."
                return job_order.order(self.jobs, work, command, head, self.settings.address)

            command_reply.commands(repository, work, command_reply.Doing(accept, order, self.settings.workflow))
        elif isinstance(work, Measure):
            command_reply.measure(repository, work.number or self._number(work), work.head, self.settings)
        else:
            command_reply.dispatch(repository, command_reply.MEASURE, {"revision": work.head})

    def _number(self, work: Measure) -> int | None:
        """Return the pull request as GitHub told of it before: it names none where the head is that of a fork."""
        with self.database.reading() as session:
            return store.number_of(session, work.repository, work.head)

    def _accept(self, work: Accept, reason: str, *, new: bool) -> bool:
        """Accept what a head changes; whether that was done, where it has to be known already."""
        with self.database.writing() as session:
            if not new and store.number_of(session, work.repository, work.head) is None:
                return False
            found = store.gate(session, work.repository, work.number, work.head)
            store.accept(found, work.by, reason, self.now())
        return True

    def _tried(self, work: Callable[[], None], attempts: int) -> tuple[Again | None, str | None]:
        """Do something; return when to try again and why, if it failed."""
        try:
            work()
        except Failure as error:
            status = error.status if isinstance(error, GithubException) else None
            headers = (error.headers if isinstance(error, GithubException) else None) or {}
            small = {name.lower(): value for name, value in headers.items()}
            said = str(getattr(error, "message", "") or error)
            later = again(status, small, said, attempts, self.now())
        except Exception as error:
            log.exception("work for GitHub crashed")
            said, later = f"{type(error).__name__}: {error}", again(None, {}, "", attempts, self.now())
        else:
            return None, None
        log.warning("GitHub did not take it: %r; %s", said[:_LONGEST_ERROR], later.at or "it is given up")
        return later, said[:_LONGEST_ERROR]

    @staticmethod
    def _be_patient(session: Session, later: Again | None) -> None:
        if later and later.everything and later.at:
            store.wait_until(session, later.at)
