"""Which errors of PostgreSQL are temporary."""

from __future__ import annotations

import psycopg
from sqlalchemy.exc import DataError, OperationalError, ProgrammingError

from service.store.engine.error_codes import is_unreachable


def test_a_value_that_the_driver_refuses_is_no_outage() -> None:
    """Such an error has no code either."""
    assert is_unreachable(OperationalError("", None, psycopg.OperationalError("the connection is lost")))
    assert not is_unreachable(DataError("", None, psycopg.DataError("text fields cannot contain NUL bytes")))
    assert not is_unreachable(ProgrammingError("", None, psycopg.ProgrammingError("cannot adapt type 'set'")))
