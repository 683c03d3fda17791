"""Defines the audit log: who did what, and when."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from service.schemas.history import View


class AuditAction(StrEnum):
    """The kind of action."""

    SIGNED_IN = "signed in"
    SIGN_IN_FAILED = "sign-in failed"
    SIGNED_OUT = "signed out"
    JOB_SIGNED_IN = "job signed in"
    TOKEN_MADE = "token made"  # noqa: S105 - the name of an action
    TOKEN_REVOKED = "token revoked"  # noqa: S105
    DECIDED = "event decided"
    MARKED = "event marked"
    ACCEPTED = "change accepted"
    SILENCED = "series silenced"
    SILENCE_ENDED = "silence ended"
    JOB_ORDERED = "job ordered"
    JOB_CHANGED = "job changed"
    SUBJECT_CHANGED = "subject changed"
    RUNNER_TOKEN = "runner token requested"  # noqa: S105
    SETTINGS_CHANGED = "settings changed"
    DATA_THINNED = "data thinned"
    DATA_RESTORED = "data restored"
    SUBJECT_FORGOTTEN = "subject forgotten"


class AuditEntry(View):
    """One entry. Entries never change, and contain no secrets."""

    id: int
    at: datetime
    author: str
    """The name of a token, a GitHub login, or ``command line: USER``; empty if nobody was signed in."""
    token_id: str | None
    address: str
    """The address from which the request came; empty for the command line and for GitHub."""
    action: AuditAction
    target: str
    """The object of the action: an event, a job, a token."""
    detail: dict[str, Any]


class AuditLog(View):
    """Entries, the newest first."""

    items: list[AuditEntry]
    total: int
    limit: int
    offset: int
