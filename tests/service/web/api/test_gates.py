"""What a gate asks before it measures."""

from __future__ import annotations

from typing import Any

import pytest

from runner.contract.gate import GateCase, GateReport
from runner.contract.profile import StackKind, Touch
from tests.service import profiles, reports
from tests.service.apiclient import Api


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


def gate(base: int, head: int) -> GateReport:
    """Return a report in which the newest of five commits meets the fourth."""
    sides = [reports.report(number, *[faults] * 30) for number, faults in ((4, base), (5, head))]
    case = GateCase(base=sides[0], head=sides[1], budgets={"minor-faults": "5 %"})
    commits = [side.revision.commit for side in sides]
    return GateReport(repository="octo-org/copies", pull_request=7, base=commits[0], head=commits[1], cases=(case,))


def test_many_small_steps_do_not_slip_through_until_one_is_expected(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4)
    for number, faults in enumerate((100, 100, 104, 108), start=1):
        api.send(reports.report(number, faults, faults))

    def asked(base: int, head: int) -> tuple[bool, str]:
        answer = api.client.post("/api/v1/gates", json=gate(base, head).model_dump(mode="json")).json
        assert answer is not None
        return answer["passed"], answer["sentence"]

    passed, sentence = asked(108, 110)
    assert not passed
    assert sentence.startswith(f"Worse step by step: +10\u00a0faults (+10\u202f%) since {reports.commit(1)[:10]}")
    assert asked(108, 108)[0]
    assert asked(108, 103)[0]
    for event in api.get("/events")["items"]:
        api.client.post(f"/api/v1/events/{event['id']}/decisions", json={"action": "expect", "reason": "wanted"})
    passed, sentence = asked(108, 110)
    assert (passed, sentence[:21]) == (True, "Worse, within budget:")


def test_a_changed_case_that_was_profiled_is_told_with_what_grew(api: Api) -> None:
    report = gate(100, 110)
    api.put_revisions(4, 5)
    for side, faults in ((report.cases[0].base, 100), (report.cases[0].head, 4_000)):
        sent = profiles.profile(
            profiles.anatomy({Touch.FIRST: faults}),
            subject=side.subject,
            revision=side.revision,
            case=side.case,
            host=side.host,
            environment=side.environment,
            faults=profiles.stacks(StackKind.FAULTS, {(profiles.MAIN, profiles.COPY): faults}),
        )
        path = f"/api/v1/profiles/{sent.profile_id}"
        assert api.client.put(path, json=sent.model_dump(mode="json")).status_code == 201
    answer = api.client.post("/api/v1/gates", json=report.model_dump(mode="json")).json
    assert answer is not None
    assert "| +3,900 | <code>main › copy</code> |" in answer["summary"]
