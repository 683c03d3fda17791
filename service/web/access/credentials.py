"""Verifies credentials, and throttles callers who guess; :mod:`service.web.access.authorization` decides the rest.

Failures are counted in the database, so that all processes of the service know them. A caller from whose address too
many wrong credentials have come is refused before its credentials are checked. When there are too many failures from
all addresses together, wrong credentials are answered with 429 and no longer counted, but right ones are still
accepted: nobody can lock the runners out by guessing.
"""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from runner.contract.number_text import format_count
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
"""Characters of the reason for a refused sign-in that the audit log keeps."""


def verify_token(text: str, method: str) -> Token | None:
    """Return the stored token that belongs to a presented text; None if there is none, or it is no longer valid.

    A wrong token is counted and recorded as a failed sign-in; one that has expired or was revoked is not, as it is no
    guess.

    Parameters
    ----------
    method
        How the text was presented, for the audit log.

    Raises
    ------
    ProblemError
        429, where too many wrong tokens came from this address; or the token is wrong, and too many came from all
        addresses together.
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
    return stored_token if stored_token is not None and stored_token.is_valid(now) else None


def refuse_throttled_caller() -> None:
    """Refuse a caller from whose address too many wrong tokens have come.

    Raises
    ------
    ProblemError
        429, with the seconds to wait.
    """
    now = datetime.now(UTC)
    with get_database().reading() as session:
        _require_no_wait(
            count_seconds_to_wait(
                tokens.list_failed_sign_ins(session, now, find_caller_address()), MAX_FAILURES_PER_ADDRESS, now
            )
        )


def count_failure(method: str, reason: str) -> None:
    """Count a failed sign-in, and record it in the audit log.

    Parameters
    ----------
    method
        How the caller tried to sign in, for the audit log.
    reason
        Why the sign-in was refused.

    Raises
    ------
    ProblemError
        429, where there were too many failures from all addresses together; this one is neither counted nor recorded.
    """
    now = datetime.now(UTC)
    with get_database().reading() as session:
        _require_no_wait(count_seconds_to_wait(tokens.list_failed_sign_ins(session, now), MAX_FAILURES, now))
    with get_database().writing() as session:
        tokens.record_failed_sign_in(session, find_caller_address(), now)
        detail = {"reason": reason[:_MAX_REASON_CHARACTERS]}
        audit_log.record_action(session, AuditAction.SIGN_IN_FAILED, method, detail)


def _require_no_wait(seconds: int) -> None:
    """Refuse the caller if the number of seconds that it has to wait is not zero."""
    if seconds:
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"Too many sign-ins have failed. Try again in {format_count(seconds, 'second')}.",
            headers={"Retry-After": str(seconds)},
        )
