"""Verifies what callers present, slowly for those who guess; :mod:`service.web.access.authorization` decides the rest.

Failures are counted in the database, so that all processes of the service know them. A caller whose address has failed
too often is refused before anything is looked at. When too many addresses have, wrong credentials are answered alike
and no longer counted, but right ones are accepted: nobody shall lock the runners out by guessing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from service.rules.access.throttle import MAX_FAILURES, MAX_FAILURES_PER_ADDRESS, count_seconds_to_wait
from service.rules.access.token import is_proven, parse_token
from service.schemas.audit import AuditAction
from service.store import tokens
from service.store.models import Token
from service.web.access import audit_log
from service.web.access.caller_address import find_caller_address
from service.web.app_resources import get_database
from service.web.problems import ProblemError

_MAX_REASON_CHARACTERS = 300
"""Of why a sign-in was refused, as far as the audit log stores it."""


def verify_token(text: str, method: str) -> Token | None:
    """Return the valid token that a text proves; None if it proves none.

    Parameters
    ----------
    method
        How it was presented, for the audit log.

    Raises
    ------
    ProblemError
        429, where the address, or everybody, has presented too many wrong ones.
    """
    presented_token, now = parse_token(text), datetime.now(UTC)
    with get_database().reading() as session:
        _require_no_wait(
            count_seconds_to_wait(
                tokens.list_failed_sign_ins(session, now, find_caller_address()), MAX_FAILURES_PER_ADDRESS, now
            )
        )
        stored_token = tokens.find_token(session, presented_token.id) if presented_token else None
    if not is_proven(presented_token, stored_token.digest if stored_token else None):
        count_failure(method, "no such token")
        return None
    # One that has expired or was revoked is no guess: it does not count.
    return stored_token if stored_token is not None and stored_token.is_valid(now) else None


def refuse_throttled_caller() -> None:
    """Refuse a caller from whose address too many wrong tokens have come.

    Raises
    ------
    ProblemError
        429.
    """
    now = datetime.now(UTC)
    with get_database().reading() as session:
        _require_no_wait(
            count_seconds_to_wait(
                tokens.list_failed_sign_ins(session, now, find_caller_address()), MAX_FAILURES_PER_ADDRESS, now
            )
        )


def count_failure(method: str, reason: str) -> None:
    """Count a failed sign-in, and record it.

    Parameters
    ----------
    method
        What was presented, for the audit log.
    reason
        Why it was refused.

    Raises
    ------
    ProblemError
        429, where there were too many of all addresses; then it is neither counted nor recorded.
    """
    now = datetime.now(UTC)
    with get_database().reading() as session:
        _require_no_wait(count_seconds_to_wait(tokens.list_failed_sign_ins(session, now), MAX_FAILURES, now))
    with get_database().writing() as session:
        tokens.record_failed_sign_in(session, find_caller_address(), now)
        detail = {"reason": reason[:_MAX_REASON_CHARACTERS]}
        audit_log.record_action(session, AuditAction.SIGN_IN_FAILED, method, detail)


def _require_no_wait(seconds: int) -> None:
    """Refuse a caller who has to wait for some seconds; do nothing for zero seconds."""
    if seconds:
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"Too many sign-ins have failed. Try again in {seconds} seconds.",
            headers={"Retry-After": str(seconds)},
        )
