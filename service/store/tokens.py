"""Tokens, as far as the service keeps them: never their secrets."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from service.rules.access.scope import Scope
from service.rules.access.token import PresentedToken
from service.store.models import ActionsToken, Token

LONGEST_NAME = 100


def issue(session: Session, name: str, scopes: Iterable[Scope], days: int, now: datetime) -> PresentedToken:
    """Make a token that holds for so many days, and keep all of it but its secret.

    Raises
    ------
    ValueError
        Where that is no name for one.
    """
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(f"take up to {LONGEST_NAME} printable characters")
    shown = mint()
    add(
        session,
        Token(
            id=shown.id,
            name=name,
            digest=shown.digest,
            scopes=sorted({scope.value for scope in scopes}),
            created_at=now,
            expires_at=now + timedelta(days=days),
        ),
    )
    return shown


def mint() -> PresentedToken:
    """Make a random token: an id of 48 bits and a secret of 256."""
    return PresentedToken(secrets.token_hex(6), secrets.token_urlsafe(32))


def add(session: Session, token: Token) -> None:
    """Keep a new token."""
    session.add(token)


def find(session: Session, token_id: str) -> Token | None:
    """Return the token with an id, whether it still holds or not."""
    return session.get(Token, token_id)


def listed(session: Session) -> list[Token]:
    """Return all tokens, the newest first."""
    return list(session.scalars(select(Token).order_by(Token.created_at.desc(), Token.id)))


def revoke(session: Session, token_id: str, now: datetime) -> Token | None:
    """Let a token hold no longer; return it, if there is one."""
    found = find(session, token_id)
    if found is not None and found.revoked_at is None:
        found.revoked_at = now
    return found


def first_shown(session: Session, jti: str, expires_at: datetime, now: datetime) -> bool:
    """Remember an identity for as long as it holds; False where it was shown before."""
    session.execute(delete(ActionsToken).where(ActionsToken.expires_at < now))
    if session.get(ActionsToken, jti) is not None:
        return False
    session.add(ActionsToken(jti=jti, expires_at=expires_at))
    return True
