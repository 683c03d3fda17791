"""Classifies PostgreSQL's error codes (appendix A of its documentation) for callers that retry."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import InterfaceError, OperationalError

_COLLISIONS = {"23505", "40P01"}
"""A unique violation, and a deadlock."""
_LOCK_FAILURES = {"55P03", "40P01"}
"""A lock timeout, and a deadlock."""

READ_ONLY_TRANSACTION = "25006"
"""A write that the server refuses because it is a standby."""


def is_collision(error: BaseException) -> bool:
    """Return whether a writer collided with another one, so that it can retry alone."""
    return _get_code(error) in _COLLISIONS


def is_locked(error: BaseException) -> bool:
    """Return whether a statement has reached its lock timeout, or was ended because of a deadlock."""
    return _get_code(error) in _LOCK_FAILURES


def is_unreachable(error: BaseException) -> bool:
    """Return whether PostgreSQL cannot be reached, has ended the connection, or is a standby that does not write yet.

    The codes are class 08 (connection errors), the codes 57P of class 57 (operator intervention), 53300 (too many
    connections) and 25006 (read-only). If the connection itself fails, there is no code.
    """
    code = _get_code(error)
    if code is None:  # Errors of other classes come from the driver, which refuses a value or a statement.
        return isinstance(error, OperationalError | InterfaceError)
    return code.startswith(("08", "57P", "53300", READ_ONLY_TRANSACTION))


def _get_code(error: BaseException) -> str | None:
    """Return the code of an error of PostgreSQL; None if it did not come from the server; empty for other errors."""
    original: Any = getattr(error, "orig", None)
    return getattr(original, "sqlstate", "")
