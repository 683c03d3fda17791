"""What the user of a command reads about an error of the database."""

from __future__ import annotations

import pytest

from service.store.engine.failures import explain_reason

_CONNECTION = 'connection failed: connection to server at "{}" (10.0.0.1), port 5432 failed: '


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        ("attempt to write a readonly database", "The database is read-only"),
        ("cannot execute INSERT in a read-only transaction", "The database is read-only"),
        ("database or disk is full", "The disk is full"),
        (_CONNECTION.format("locked-db") + "Connection refused", "The database does not answer"),
    ],
)
def test_a_symptom_leads_to_its_remedy(reason: str, problem: str) -> None:
    assert str(explain_reason(reason, "the database")).startswith(problem)


@pytest.mark.parametrize(
    "reason",
    [
        _CONNECTION.format("db") + 'FATAL:  password authentication failed for user "readonly"',
        _CONNECTION.format("fullstack") + "Connection timed out",
        "failed to resolve host 'locked': [Errno -2] Name or service not known",
        _CONNECTION.format("db") + "FATAL:  the server could not start successfully",
    ],
)
def test_names_and_parts_of_words_are_no_symptoms(reason: str) -> None:
    assert str(explain_reason(reason, "the database")).startswith("The database cannot be used: the database (")
