"""Records what the caller of this request does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import g
from sqlalchemy.orm import Session

from service.rules.access.caller import Caller
from service.schemas.audit import AuditAction
from service.schemas.triage import TriageAction, TriageReceipt, TriageRequest
from service.store import audit
from service.store.audit import Actor
from service.store.events import silences
from service.web.access.caller_address import find_caller_address


def record_action(
    session: Session,
    action: AuditAction,
    target: str = "",
    detail: Mapping[str, Any] | None = None,
    author: str | None = None,
) -> None:
    """Add an entry about an action of this request's caller to the audit log, in the transaction of the action.

    Parameters
    ----------
    target
        What the action changes, as kind and id: ``event 3f9c2a7be0d14c55``.
    detail
        Further facts about the action, as a JSON object.
    author
        The name to record as the author; None for the name of the caller.
    """
    caller: Caller | None = g.get("caller")
    name = author or (caller.name if caller else "")
    actor = Actor(name, caller.token_id if caller else None, find_caller_address())
    audit.record_entry(session, actor, action, target, detail, now=datetime.now(UTC))


def record_triage(session: Session, request: TriageRequest, receipt: TriageReceipt, author: str | None) -> None:
    """Add an entry for each event that was decided or marked, or for each series that was silenced.

    Parameters
    ----------
    author
        Whose name the entry has; None for that of the caller.
    """
    for silence in receipt.silences:
        target, silence_detail = silences.summarise_silence(silence)
        record_action(session, AuditAction.SILENCED, target, silence_detail, author)
    if request.action is TriageAction.SILENCE:
        return  # It does nothing else. Series that were silenced before have no new silence.
    action = AuditAction.DECIDED if request.action.decision else AuditAction.MARKED
    for event_id in receipt.done:
        detail = {"decision": request.action.value, "reason": request.reason}
        record_action(session, action, f"event {event_id}", detail, author)
