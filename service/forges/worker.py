"""The worker for the forges, which handles stored webhooks and publishes gate outcomes, one row at a time."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from runner.contract.gate import ForgeKind
from service.forges import job_order
from service.forges.comment_commands import Command
from service.forges.comment_links import build_links
from service.forges.forge import Forge, Handlers, Publication
from service.forges.qualified_names import split_name
from service.forges.retry import Retry, schedule_retry
from service.forges.webhook_actions import (
    AcceptHead,
    CommandComment,
    ForgetRepositories,
    MeasureHead,
    RecordHead,
    RecordMerge,
    RepositoryAction,
    UpdateJob,
    WebhookAction,
)
from service.jobs.scheduler import JobScheduler
from service.jobs.workflow_updates import update_job_from_workflow
from service.pipeline import gate_diagnoses
from service.rules.gate.verdict import Acceptance, judge_gate
from service.schemas.audit import AuditAction
from service.schemas.triage import BisectPolicy
from service.store import accepted_heads, audit, gate_baseline_levels, subjects
from service.store import forge_queue as store
from service.store.audit import Actor
from service.store.engine.database import Database
from service.store.models import ForgeDelivery, ForgeGate

log = logging.getLogger(__name__)
_MAX_ERROR_CHARACTERS = 500


def _get_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class ForgeWorker:
    """Acts on webhooks, and publishes the outcomes of gates."""

    database: Database
    forges: Mapping[ForgeKind, Forge]
    now: Callable[[], datetime] = _get_now
    jobs: JobScheduler | None = None
    """The scheduler with which commands order jobs; None if the service cannot start jobs."""
    wake: Callable[[], None] = lambda: None
    """Makes the background task call :meth:`work` at once."""

    def work(self) -> datetime | None:
        """Do everything that is due; return when more will be due, or None."""
        while self._carry_out_delivery() or self._publish_gate():
            pass
        with self.database.reading() as session:
            return store.find_next_due_time(session)

    def _carry_out_delivery(self) -> bool:
        """Act on one webhook; return whether one was due."""
        with self.database.writing() as session:
            delivery = store.take_delivery(session, self.now())
            if delivery is None:
                return False
            delivery_id, payload, attempts = delivery.id, delivery.payload, delivery.attempts
            qualified_event = delivery.event
        kind, event = split_name(qualified_event)
        retry, error = self._try_call(kind, lambda forge: self._run_actions(forge, event, payload), attempts)
        with self.database.writing() as session:
            row = session.get_one(ForgeDelivery, delivery_id)
            row.error, row.due_at = error, retry.retry_at if retry else None
            if row.due_at is None:
                row.payload = None  # It is no longer needed: the delivery was handled, or given up.
            self._pause_if_limited(session, kind, retry)
        return True

    def _publish_gate(self) -> bool:
        """Publish one gate; return whether one was due."""
        with self.database.writing() as session:
            gate = store.take_gate(session, self.now())
            if gate is None:
                return False
            gate_id, wanted_version, attempts = gate.id, gate.wanted, gate.attempts
            comment_id = gate.pull.comment_id
            kind, _ = split_name(gate.pull.repository)

        def publish_now(forge: Forge) -> None:
            """Publish the gate. A report that this version cannot read fails like a call, and delays no other gate."""
            nonlocal comment_id, wanted_version
            with self.database.reading() as session:
                gate = session.get_one(ForgeGate, gate_id, options=[store.WITH_PULL])
                wanted_version = gate.wanted
                publication = self._build_publication(gate)
                publication = publication.add_diagnoses(
                    gate_diagnoses.find_case_diagnoses(session, publication.outcome)
                )
                publication = replace(publication, bisect_policies=_list_policies(session, publication))
            comment_id = forge.publish(publication)

        retry, error = self._try_call(kind, publish_now, attempts)
        with self.database.writing() as session:
            row = session.get_one(ForgeGate, gate_id, options=[store.WITH_PULL])
            row.pull.comment_id, row.pull.busy_until = comment_id, None
            row.error = error
            if retry is None:
                row.told = wanted_version
            if row.wanted == wanted_version:  # Otherwise the gate has changed in the meantime and stays due.
                row.due_at = retry.retry_at if retry else None
            self._pause_if_limited(session, kind, retry)
        return True

    def _build_publication(self, gate: ForgeGate) -> Publication:
        """Return the outcome of a gate with everything that its comment needs."""
        report = store.read_report(gate)
        acceptance = Acceptance(gate.accepted_by, gate.accepted_reason) if gate.accepted_by else None
        kind, repository = split_name(gate.pull.repository)
        return Publication(
            repository=repository,
            number=gate.pull.number,
            outcome=judge_gate(report, acceptance).with_baselines(
                gate_baseline_levels.unpack_baselines(gate.baselines)
            ),
            links=build_links(self._find_address(kind), report),
            comment_id=gate.pull.comment_id,
            key=f"faultwatch-{gate.id}-{gate.wanted}",
            attempted=gate.attempts > 1,
        )

    def _find_address(self, kind: ForgeKind) -> str:
        """Return the address of this service in links on a forge; empty if it has none."""
        forge = self.forges.get(kind)
        return forge.address if forge else ""

    def _run_actions(self, forge: Forge, event: str, payload: str | None) -> None:
        for action in forge.list_actions(event, json.loads(payload or "{}")):
            self._run_action(forge, action)

    def _run_action(self, forge: Forge, action: WebhookAction) -> None:
        """Carry out one action of a webhook, in the database or on the forge."""
        if isinstance(action, ForgetRepositories):
            with self.database.writing() as session:
                store.stop_publishing(session, action.repositories)
        elif isinstance(action, RecordHead):
            with self.database.writing() as session:
                store.get_or_create_gate(session, action.repository, action.number, action.head)
        elif isinstance(action, RecordMerge):
            with self.database.writing() as session:
                gate = store.get_or_create_gate(session, action.repository, action.number, action.head)
                gate.merged_as, gate.merged_at = action.commit, self.now()
        elif isinstance(action, UpdateJob):
            if self.jobs is not None:
                update_job_from_workflow(
                    self.jobs,
                    action.job_id,
                    repository=action.repository,
                    log_url=action.url,
                    conclusion=action.conclusion,
                    created_at=action.created_at,
                )
        else:
            if isinstance(action, MeasureHead) and action.number is None:
                action = replace(action, number=self._find_pull_request(action))
            forge.run_action(action, self._build_handlers(action))

    def _build_handlers(self, comment: RepositoryAction) -> Handlers:
        """Return the functions that carry out the commands of a comment."""

        def accept_change(head: str, reason: str) -> bool:
            """Accept the change of a head; return whether that succeeded."""
            assert isinstance(comment, CommandComment | AcceptHead)
            # A label accepts the head at which it was set. A comment accepts the newest head when the comment is read,
            # which may have been pushed after the comment was written: it has to be measured, so that people saw it.
            return self._accept(
                AcceptHead(comment.repository, comment.number, head, comment.author),
                reason,
                only_measured=isinstance(comment, CommandComment),
            )

        def order_job(command: Command, head: str) -> tuple[bool, str]:
            """Order a job and record it; return whether that succeeded, and the reply."""
            assert isinstance(comment, CommandComment)
            if self.jobs is None:
                return False, "This service is not configured to start jobs."
            kind, _ = split_name(comment.repository)
            is_ordered, reply = job_order.order_job(self.jobs, comment, command, head, self._find_address(kind))
            if is_ordered:
                target = f"{comment.repository}#{comment.number}"
                detail = {"kind": command.verb.value, "case": command.text, "head": head}
                with self.database.writing() as session:
                    audit.record_entry(
                        session, Actor(comment.author), AuditAction.JOB_ORDERED, target, detail, now=self.now()
                    )
            return is_ordered, reply

        return Handlers(accept_change, order_job)

    def _find_pull_request(self, action: MeasureHead) -> int | None:
        """Return the pull request recorded for a head; None if there is none. GitHub names none for a fork's head."""
        with self.database.reading() as session:
            return store.find_pull_request(session, action.repository, action.head)

    def _accept(self, action: AcceptHead, reason: str, *, only_measured: bool) -> bool:
        """Accept the change of a head, by a user with permission.

        Return False if the head is unknown or, with ``only_measured``, not measured yet.
        """
        with self.database.writing() as session:
            if store.find_pull_request(session, action.repository, action.head) is None:
                return False
            gate = store.get_or_create_gate(session, action.repository, action.number, action.head)
            if only_measured and gate.document is None:
                return False
            accepted_heads.accept_head(gate, action.author, reason, self.now())
            target = f"{action.repository}#{action.number}"
            detail = {"head": action.head, "reason": reason}
            audit.record_entry(session, Actor(action.author), AuditAction.ACCEPTED, target, detail, now=self.now())
        return True

    def _try_call(
        self, kind: ForgeKind, work: Callable[[Forge], None], attempts: int
    ) -> tuple[Retry | None, str | None]:
        """Do some work with a forge; return when to retry and what went wrong, or (None, None) after success."""
        forge = self.forges.get(kind)
        if forge is None:
            return Retry(None), f"no {kind} is configured"
        try:
            work(forge)
        except Exception as error:
            refusal = forge.find_refusal(error)
            if refusal is None:
                log.exception("work for %s crashed", kind)
            retry, message = schedule_retry(refusal, error, attempts, self.now())
        else:
            return None, None
        retry_clause = f"next attempt at {retry.retry_at}" if retry.retry_at else "given up"
        log.warning("%s call failed: %r; %s", kind, message[:_MAX_ERROR_CHARACTERS], retry_clause)
        return retry, message[:_MAX_ERROR_CHARACTERS]

    @staticmethod
    def _pause_if_limited(session: Session, kind: ForgeKind, retry: Retry | None) -> None:
        """Postpone all calls to a forge that has limited the rate."""
        if retry and retry.pause_all and retry.retry_at:
            store.postpone_all_of_forge(session, retry.retry_at, kind)


def _list_policies(session: Session, publication: Publication) -> tuple[BisectPolicy, ...]:
    """Return the bisect policies of the subjects that a gate measured."""
    names = {case.case.head.subject for case in publication.outcome.cases}
    return tuple(subjects.map_bisect_policies(session, names).values())
