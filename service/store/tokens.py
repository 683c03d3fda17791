"""Access tokens, without their secrets."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from service.rules.access.scope import Scope
from service.rules.access.throttle import WINDOW
from service.rules.access.token import PresentedToken
from service.rules.access.token_limits import NO_LIMITS, TokenLimits
from service.rules.events.visit import Visit
from service.store.models import ActionsToken, FailedSignIn, Token, VisitRow

MAX_NAME_CHARACTERS = 100
_LIMITS = ("hosts", "subjects", "repositories")
"""The names of the limits, as fields of :class:`TokenLimits` and as columns of a token."""


class TokenRefusedError(ValueError):
    """No token can be issued with this name or these limits; ``part`` says which of the two is not valid."""

    def __init__(self, part: str, detail: str) -> None:
        super().__init__(detail)
        self.part = part


def issue_token(
    session: Session, name: str, scopes: Iterable[Scope], days: int, now: datetime, *, limits: TokenLimits = NO_LIMITS
) -> PresentedToken:
    """Create a token that is valid for a number of days; return it with its secret, which is not stored.

    Raises
    ------
    TokenRefusedError
        If the name is empty, too long or not printable, or the limits are not valid for the scopes.
    """
    scopes = sorted(set(scopes))
    name = name.strip()
    if not name or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise TokenRefusedError("name", f"use up to {MAX_NAME_CHARACTERS} printable characters")
    objection = limits.explain_objection(scopes)
    if objection:
        raise TokenRefusedError("limits", objection)
    presented_token = generate_token()
    add_token(
        session,
        Token(
            id=presented_token.id,
            name=name,
            digest=presented_token.digest,
            scopes=[scope.value for scope in scopes],
            created_at=now,
            expires_at=now + timedelta(days=days),
            **build_limit_columns(limits),
        ),
    )
    return presented_token


def build_limit_columns(limits: TokenLimits) -> dict[str, list[str] | None]:
    """Return the columns of a token's limits; None means no limit."""
    patterns_of_limit = {name: getattr(limits, name) for name in _LIMITS}
    return {name: None if patterns is None else list(patterns) for name, patterns in patterns_of_limit.items()}


def build_limits(token: Token) -> TokenLimits:
    """Return the limits of a token."""
    patterns_of_limit = {name: getattr(token, name) for name in _LIMITS}
    return TokenLimits(
        **{name: None if patterns is None else tuple(patterns) for name, patterns in patterns_of_limit.items()}
    )


def generate_token() -> PresentedToken:
    """Generate a token with an id of 48 random bits and a secret of 256 random bits."""
    return PresentedToken(secrets.token_hex(6), secrets.token_urlsafe(32))


def add_token(session: Session, token: Token) -> None:
    """Store a new token."""
    session.add(token)


def find_token(session: Session, token_id: str) -> Token | None:
    """Return the token with this id, valid or not; None if there is none."""
    return session.get(Token, token_id) if token_id.isascii() else None  # SQLite takes no invalid text


def list_tokens(session: Session) -> list[Token]:
    """Return all tokens, the newest first."""
    return list(session.scalars(select(Token).order_by(Token.created_at.desc(), Token.id)))


def revoke_token(session: Session, token_id: str, now: datetime) -> Token | None:
    """Revoke a token; return it, or None if there is none."""
    token = find_token(session, token_id)
    if token is not None and token.revoked_at is None:
        token.revoked_at = now
    return token


def record_identity(session: Session, jti: str, expires_at: datetime, now: datetime) -> bool:
    """Record an identity token until it expires; return False if it was used before."""
    session.execute(delete(ActionsToken).where(ActionsToken.expires_at < now))
    if session.get(ActionsToken, jti) is not None:
        return False
    session.add(ActionsToken(jti=jti, expires_at=expires_at))
    return True


def list_failed_sign_ins(session: Session, now: datetime, address: str | None = None) -> list[datetime]:
    """Return the times of failed sign-ins within the window, in all processes, from one address or from all (None)."""
    query = select(FailedSignIn.at).where(FailedSignIn.at > now - WINDOW)
    return list(session.scalars(query if address is None else query.where(FailedSignIn.address == address)))


def record_failed_sign_in(session: Session, address: str, now: datetime) -> None:
    """Add a failed sign-in, and delete those outside the window."""
    session.execute(delete(FailedSignIn).where(FailedSignIn.at <= now - WINDOW))
    session.add(FailedSignIn(address=address, at=now))


def find_visit(session: Session, token_id: str) -> Visit | None:
    """Return the stored visit of the reader who signed in with a token; None if there is none."""
    row = session.get(VisitRow, token_id)
    return None if row is None else Visit(row.since, row.seen_at)


def find_last_visit(session: Session, name: str) -> Visit | None:
    """Return the latest visit with any token of this name; None if there is none.

    A person has another token in each session.
    """
    query = select(VisitRow).join(Token, Token.id == VisitRow.token_id).where(Token.name == name)
    row = session.scalar(query.order_by(VisitRow.seen_at.desc()).limit(1))
    return None if row is None else Visit(row.since, row.seen_at)


def store_visit(session: Session, token_id: str, visit: Visit) -> None:
    """Store the visit of the reader who signed in with a token."""
    session.merge(VisitRow(token_id=token_id, since=visit.since, seen_at=visit.seen_at))
