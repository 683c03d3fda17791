"""Records what the caller of this request does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import g
from sqlalchemy.orm import Session

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
    caller = g.get("caller")
    actor = Actor(author or getattr(caller, "name", ""), getattr(caller, "token_id", None), caller_address())
    audit.record(session, actor, action, datetime.now(UTC), target, detail)
