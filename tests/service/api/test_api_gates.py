"""What a gate asks before it measures."""

from __future__ import annotations

from typing import Any

import pytest
import reports
from apiclient import Api


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, True),
        ({"subject": "other"}, False),
        ({"revision": reports.commit(2)}, False),
        ({"case": reports.OTHER_CASE.model_dump(mode="json")}, False),
        ({"host": "elsewhere"}, False),
        ({"environment": reports.JEMALLOC.hash}, False),
    ],
)
def test_a_base_is_what_was_measured_of_just_that(changes: dict[str, Any], found: bool, api: Api) -> None:
    api.put_revisions(1, 2)
    stored = reports.report(1, 100, 100)
    api.send(stored, reports.failed_build(2))
    asked = {
        "subject": stored.subject,
        "revision": stored.revision.commit,
        "case": stored.case.model_dump(mode="json"),
        "host": stored.host.name,
        "environment": stored.environment.hash,
    }
    answer = api.client.post("/api/v1/gates/base", json=asked | changes)
    assert answer.status_code == 200, answer.text
    assert answer.json is not None
    assert (answer.json["report"] or {}).get("run_id") == (str(stored.run_id) if found else None)
