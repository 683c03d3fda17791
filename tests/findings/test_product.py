from __future__ import annotations

from typing import Any

from findings.product import METRIC, counts_of
from findings.stored import Counts


def row(revision: str, minute: int, **changes: Any) -> dict[str, str]:
    made = {"metric": METRIC, "revision": revision, "case": "lua", "reused": "false", "quarantined": "false"}
    return made | {"started_at": f"2026-11-23T18:{minute:02}:00+00:00"} | changes


def test_what_bisects_measured_is_not_counted() -> None:
    rows = [
        row("a", 0),
        row("a", 0),
        row("b", 1, reused="true", quarantined="true"),
        row("c", 2, quarantined="true"),
        row("d", 3, metric="major-faults"),
        row("a", 50, quarantined="true"),
        row("elsewhere", 55, quarantined="true"),
    ]
    expected = Counts(revisions=4, measured=3, same_bytes=1, failed=1, not_judged=1, runs=3, seconds=120)
    assert counts_of(rows, frozenset("abcd")) == expected


def test_where_nothing_builds_all_revisions_failed() -> None:
    expected = Counts(revisions=2, measured=0, same_bytes=0, failed=2, not_judged=0, runs=0, seconds=0)
    assert counts_of([], frozenset("ab")) == expected
