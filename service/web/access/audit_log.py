"""Records what the caller of this request does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import g
from sqlalchemy.orm import Session

from service.rules.access.caller import Caller
from service.schemas.audit import AuditAction
from service.store import audit
from service.store.audit import Actor
from service.web.access.address import caller_address


def record(
    session: Session,
    action: AuditAction,
    target: str = "",
    detail: Mapping[str, Any] | None = None,
    author: str | None = None,
) -> None:
    """Add an entry to the audit log, in the transaction of what it is about.

    Parameters
    ----------
    author
        Who does it, where the caller's token does not tell.
    """
    caller: Caller | None = g.get("caller")
    name = author or (caller.name if caller else "")
    actor = Actor(name, caller.token_id if caller else None, caller_address())
    audit.record(session, actor, action, target, detail, now=datetime.now(UTC))
