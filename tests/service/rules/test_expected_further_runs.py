"""Whether a drift in doubt can still be confirmed, in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.rules.expected_further_runs import (
    MAX_HOST_SILENCE,
    CaseOnHost,
    describe_end_of_doubt,
    explain_missing_bisect,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("case", "expects", "words"),
    [
        (
            CaseOnHost("lab-1", imported=False, last_seen=NOW - timedelta(days=1)),
            True,
            "The next runs on lab-1, or interleaved pairs of its commits, can show whether the change lasts.",
        ),
        (
            CaseOnHost("lab-1", imported=False, last_seen=NOW - MAX_HOST_SILENCE - timedelta(days=1)),
            False,
            "2026-02-14",
        ),
        (CaseOnHost("lab-1", imported=False, last_seen=None), False, "has not reported yet"),
        (CaseOnHost("ci", imported=True, last_seen=NOW), False, "imported"),
    ],
)
def test_it_promises_no_run_that_cannot_come(case: CaseOnHost, expects: bool, words: str) -> None:
    assert case.expects_runs(NOW) is expects
    assert words in describe_end_of_doubt(case, NOW)
    is_silent_runner = not expects and not case.imported
    assert explain_missing_bisect(case, NOW).startswith("lab-1 has not reported" if is_silent_runner else "")
    assert bool(explain_missing_bisect(case, NOW)) == is_silent_runner
