"""Works off what is due for GitHub, row by row: webhooks to act on, and gate outcomes to publish."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from github.Repository import Repository
from sqlalchemy.orm import Session

from service.config.github_app import GithubSettings
from service.github import job_order, workflows
from service.github.client import Client, Failure
from service.github.commands import Command
from service.github.comment_text import links
from service.github.publish_outcome import Publication, publish
from service.github.retry import Retry, after_failure
from service.github.run_commands import CommandHandlers, run_commands
from service.github.webhook_actions import (
    AcceptHead,
    CommandComment,
    ForgetRepositories,
    MeasureHead,
    RecordHead,
    RecordMerge,
    RepositoryAction,
    UpdateJob,
    WebhookAction,
    actions_for,
)
from service.jobs.scheduler import JobScheduler
from service.pipeline import gate_insights
from service.rules.gate.verdict import Acceptance, judge_gate
from service.schemas.audit import AuditAction
from service.schemas.triage import BisectPolicy
from service.store import audit, gate_baselines, subjects
from service.store import github as store
from service.store.audit import Actor
from service.store.engine.database import Database
from service.store.models import GithubDelivery, GithubGate

log = logging.getLogger(__name__)
_LONGEST_ERROR = 500


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class GithubWorker:
    """Acts on webhooks, and publishes the outcomes of gates."""

    database: Database
    client: Client
    settings: GithubSettings
    now: Callable[[], datetime] = _now
    jobs: JobScheduler | None = None
    """Takes the jobs that commands order."""

    def work(self) -> datetime | None:
        """Do everything that is due; return when more is due."""
        while self._handle_delivery() or self._publish_gate():
            pass
        with self.database.reading() as session:
            return store.next_due(session)

    def _handle_delivery(self) -> bool:
        """Act on one webhook; return whether one was due."""
        with self.database.writing() as session:
            delivery = store.take_delivery(session, self.now())
            if delivery is None:
                return False
            key, event, payload, attempts = delivery.id, delivery.event, delivery.payload, delivery.attempts
        retry, error = self._attempt(lambda: self._act(event, payload), attempts)
        with self.database.writing() as session:
            row = session.get_one(GithubDelivery, key)
            row.error, row.due_at = error, retry.at if retry else None
            if row.due_at is None:
                row.payload = None
            self._pause_if_limited(session, retry)
        return True

    def _publish_gate(self) -> bool:
        """Publish one gate; return whether one was due."""
        with self.database.writing() as session:
            gate = store.take_gate(session, self.now())
            if gate is None:
                return False
            key, wanted, attempts = gate.id, gate.wanted, gate.attempts
            name, publication = gate.pull.repository, self._publication(gate)
        with self.database.reading() as session:
            publication = publication.with_insights(gate_insights.find(session, publication.outcome))
            publication = replace(publication, offers_bisect=_offers_bisect(session, publication))
        comment_id: list[int | None] = [publication.comment_id]

        def publish_now() -> None:
            comment_id[0] = self.client.with_repository(name, lambda repository: publish(repository, publication))

        retry, error = self._attempt(publish_now, attempts)
        with self.database.writing() as session:
            row = session.get_one(GithubGate, key, options=[store.WITH_PULL])
            row.pull.comment_id, row.pull.busy_until = comment_id[0], None
            row.error = error
            if retry is None:
                row.told = wanted
            if row.wanted == wanted:  # else the gate has changed meanwhile and stays due
                row.due_at = retry.at if retry else None
            self._pause_if_limited(session, retry)
        return True

    def _publication(self, gate: GithubGate) -> Publication:
        report = store.report_of(gate)
        acceptance = Acceptance(gate.accepted_by, gate.accepted_reason) if gate.accepted_by else None
        return Publication(
            repository=gate.pull.repository,
            number=gate.pull.number,
            outcome=judge_gate(report, acceptance).with_baselines(gate_baselines.unpack(gate.baselines)),
            links=links(self.settings.address, report.base, report.head, report.log_url),
            comment_id=gate.pull.comment_id,
            app_id=self.client.app_id,
            key=f"faultwatch-{gate.id}-{gate.wanted}",
            attempted=gate.attempts > 1,
        )

    def _act(self, event: str, payload: str | None) -> None:
        for action in actions_for(event, json.loads(payload or "{}")):
            self._do(action)

    def _do(self, action: WebhookAction) -> None:
        if isinstance(action, ForgetRepositories):
            with self.database.writing() as session:
                store.stop_publishing(session, action.repositories)
        elif isinstance(action, RecordHead):
            with self.database.writing() as session:
                store.get_or_create_gate(session, action.repository, action.number, action.head)
        elif isinstance(action, AcceptHead):
            self._accept(action, "by label", new=True)
        elif isinstance(action, RecordMerge):
            with self.database.writing() as session:
                gate = store.get_or_create_gate(session, action.repository, action.number, action.head)
                gate.merged_as, gate.merged_at = action.commit, self.now()
        elif isinstance(action, UpdateJob):
            if self.jobs is not None:
                self.jobs.update_from_workflow(action.job_id, action.repository, action.url, action.conclusion)
        else:
            self.client.with_repository(
                action.repository, lambda repository: self._do_in_repository(repository, action)
            )

    def _do_in_repository(self, repository: Repository, action: RepositoryAction) -> None:
        if isinstance(action, CommandComment):
            run_commands(repository, action, self._handlers(action))
        elif isinstance(action, MeasureHead):
            number = action.number or self._pull_request_of(action)
            workflows.measure_head(repository, number, action.head, self.settings)
        else:
            workflows.dispatch(repository, workflows.MEASURE, {"revision": action.head})

    def _handlers(self, comment: CommandComment) -> CommandHandlers:
        def accept(head: str, reason: str) -> bool:
            return self._accept(AcceptHead(comment.repository, comment.number, head, comment.author), reason, new=False)

        def order_job(command: Command, head: str) -> tuple[bool, str]:
            if self.jobs is None:
                return False, "This service orders no jobs."
            ordered = job_order.order(self.jobs, comment, command, head, self.settings.address)
            if ordered[0]:
                target = f"{comment.repository}#{comment.number}"
                detail = {"kind": command.verb.value, "case": command.text, "head": head}
                with self.database.writing() as session:
                    audit.record(
                        session, Actor(comment.author), AuditAction.JOB_ORDERED, target, detail, now=self.now()
                    )
            return ordered

        return CommandHandlers(accept, order_job, self.settings.workflow)

    def _pull_request_of(self, action: MeasureHead) -> int | None:
        """Return the pull request recorded for a head: GitHub names none where the head is in a fork."""
        with self.database.reading() as session:
            return store.pull_request_of(session, action.repository, action.head)

    def _accept(self, action: AcceptHead, reason: str, *, new: bool) -> bool:
        """Accept the change of a head; return False where the head is unknown and ``new`` ones are not allowed."""
        with self.database.writing() as session:
            if not new and store.pull_request_of(session, action.repository, action.head) is None:
                return False
            gate = store.get_or_create_gate(session, action.repository, action.number, action.head)
            store.accept(gate, action.author, reason, self.now())
            target = f"{action.repository}#{action.number}"
            detail = {"head": action.head, "reason": reason}
            audit.record(session, Actor(action.author), AuditAction.ACCEPTED, target, detail, now=self.now())
        return True

    def _attempt(self, work: Callable[[], None], attempts: int) -> tuple[Retry | None, str | None]:
        """Do some work; if it fails, return when to retry it and what happened."""
        try:
            work()
        except Exception as error:
            if not isinstance(error, Failure):
                log.exception("work for GitHub crashed")
            retry, message = after_failure(error, attempts, self.now())
        else:
            return None, None
        outlook = f"next attempt at {retry.at}" if retry.at else "given up"
        log.warning("GitHub call failed: %r; %s", message[:_LONGEST_ERROR], outlook)
        return retry, message[:_LONGEST_ERROR]

    @staticmethod
    def _pause_if_limited(session: Session, retry: Retry | None) -> None:
        if retry and retry.pause_all and retry.at:
            store.postpone_all(session, retry.at)


def _offers_bisect(session: Session, publication: Publication) -> bool:
    """Return whether the policy of the subject lets the comment offer a bisect."""
    names = {case.case.head.subject for case in publication.outcome.cases}
    policies = subjects.policies(session, names)
    return BisectPolicy.OFF not in policies.values()
