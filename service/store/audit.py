"""The audit log. :func:`record_entry` is the only place that writes it.

The database refuses changes and deletions: migration 0001 creates the triggers.
"""

from __future__ import annotations

import getpass
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.rules.access.token import redact_tokens
from service.schemas.audit import AuditAction, AuditEntry, AuditLog
from service.store.models import AuditRow

_UNPRINTABLE_CHARACTERS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_UNSTORABLE_IN_JSON = re.compile(r"(?P<backslash>\\\\)|\\u0000|[\ud800-\udfff]")
"""Null characters and lone surrogates in JSON, which PostgreSQL cannot store. An escaped backslash is matched too,
because what follows it is not an escape sequence."""
_MAX_DETAIL_CHARACTERS = 4000
"""Maximum length of a text among the details."""
_MAX_AUTHOR_CHARACTERS, _MAX_ADDRESS_CHARACTERS, _MAX_TARGET_CHARACTERS = 140, 64, 200
"""The widths of these columns."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something, and from where."""

    name: str
    token_id: str | None = None
    address: str = ""


def find_local_actor() -> Actor:
    """Return the user of a command on the service's machine."""
    try:
        return Actor(f"command line: {getpass.getuser()}")
    except (KeyError, OSError):
        return Actor(f"command line: user {os.getuid()}")


def record_entry(
    session: Session,
    actor: Actor,
    action: AuditAction,
    target: str = "",
    detail: Mapping[str, Any] | None = None,
    *,
    now: datetime,
) -> None:
    """Add an entry, without anything in it that looks like a token, wherever it comes from."""
    session.add(
        AuditRow(
            at=now,
            author=_clean_text(actor.name, _MAX_AUTHOR_CHARACTERS),
            token_id=actor.token_id,
            address=actor.address[:_MAX_ADDRESS_CHARACTERS],
            action=action.value,
            target=_clean_text(target, _MAX_TARGET_CHARACTERS),
            detail=_clean_detail(detail or {}),
        )
    )


def list_page(session: Session, action: AuditAction | None, limit: int, offset: int = 0) -> AuditLog:
    """Return a page of entries, of one action or of all (None), newest first."""
    query = select(AuditRow)
    if action is not None:
        query = query.where(AuditRow.action == action.value)
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    rows = session.scalars(query.order_by(AuditRow.id.desc()).limit(limit).offset(offset))
    return AuditLog(items=[_build_view(row) for row in rows], total=total, limit=limit, offset=offset)


def find_newest_entry(session: Session, action: AuditAction) -> AuditEntry | None:
    """Return the newest entry of an action; None if there is none."""
    query = select(AuditRow).where(AuditRow.action == action.value).order_by(AuditRow.id.desc()).limit(1)
    row = session.scalar(query)
    return None if row is None else _build_view(row)


def _build_view(row: AuditRow) -> AuditEntry:
    return AuditEntry.model_validate({name: getattr(row, name) for name in AuditEntry.model_fields})


def _clean_text(text: str, max_characters: int) -> str:
    """Return a text without tokens and unprintable characters, cut to a length."""
    return _UNPRINTABLE_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", redact_tokens(text))[:max_characters]


def _clean_detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of an entry: texts cut to a length, without tokens or characters that cannot be stored."""
    shortened_detail = {name: _shorten_detail(value) for name, value in detail.items()}
    text = redact_tokens(json.dumps(shortened_detail, ensure_ascii=False))
    storable_text = _UNSTORABLE_IN_JSON.sub(lambda match: match["backslash"] or "\N{REPLACEMENT CHARACTER}", text)
    document: dict[str, Any] = json.loads(storable_text)
    return document


def _shorten_detail(value: Any) -> Any:
    """Return a value among the details; a text without tokens first, because a token that is cut is not recognised."""
    return redact_tokens(value)[:_MAX_DETAIL_CHARACTERS] if isinstance(value, str) else value
