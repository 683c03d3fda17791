"""What GitLab and Forgejo show of a gate, whatever happens meanwhile. They are real HTTP servers, with a memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from service.forges.comment_links import Links
from service.forges.forge import Publication
from service.forges.forgejo.forge import ForgejoForge
from service.forges.note_and_status import build_body
from service.rules.gate.verdict import judge_gate
from service.store.models import ForgePull
from tests.service.forges import made_gates
from tests.service.forges.conftest import Site

SAME = made_gates.gate(made_gates.case([100] * 30, [100] * 30))
WORSE = made_gates.gate(made_gates.case([100] * 30, [101] * 30, file="workload.toml"))
Both = tuple[Site, Any]


def states(forge: Any) -> list[tuple[str, str]]:
    return [(entry["sha"], entry["status"]) for entry in forge.statuses]


def test_a_regression_becomes_a_note_and_a_failed_status(both: Both) -> None:
    site, forge = both
    assert site.report(WORSE)["passed"] is False
    assert site.work() is None
    (body,) = forge.of_service()
    assert body.startswith("**Worse: +1")
    assert "https://faults.example.org/compare?base=" in body
    (status,) = forge.statuses
    assert (status["sha"], status["status"]) == (made_gates.HEAD, {"gitlab": "failed"}.get(site.forge, "failure"))
    assert status["description"].startswith("Worse: +1")
    assert status["target_url"].startswith("https://faults.example.org/compare")
    assert "Faultwatch" in {status.get("name"), status.get("context")}


def test_a_long_note_with_a_log_full_of_paths_fits() -> None:
    cases = [made_gates.case([9] * 30, [10 + number] * 30, mib=number) for number in range(800)]
    log = "/a.c:1: error\n" * 500
    outcome = judge_gate(made_gates.gate(made_gates.failed("head", log=log, mib=999), *cases))
    publication = Publication("a/b", 7, outcome, Links(), None, "key", attempted=False)
    body = build_body(publication, "forgejo:a/b", ForgejoForge.max_note_bytes)
    assert "\n /a.c" in body
    assert ForgejoForge.max_note_bytes - 1_000 < len(body.encode()) <= ForgejoForge.max_note_bytes


def test_the_note_is_edited_in_place(both: Both) -> None:
    site, forge = both
    forge.write("a remark", {"id": 1, "username": "ada", "login": "ada"})
    for report in (WORSE, SAME, WORSE):
        site.report(report)
        site.work()
        site.wait(hours=1)
    assert [body[:8] for body in forge.of_service()] == ["**Worse:"]
    assert [state[1] for state in states(forge)] == [states(forge)[0][1], "success", states(forge)[0][1]]


def forget(site: Site) -> None:
    """Forget the id of the note, as if the service had been killed before it stored it."""
    with site.worker.database.writing() as session:
        session.execute(update(ForgePull).values(comment_id=None))


def test_the_note_is_found_again_by_its_marker_and_its_author(both: Both) -> None:
    site, forge = both
    site.report(WORSE)
    site.work()
    (body,) = forge.of_service()
    written = forge.notes if site.forge == "gitlab" else forge.comments
    written.clear()
    for text in ["a remark"] * 4 + [body]:  # more than a page; somebody has copied the marker
        forge.write(text, {"id": 1, "username": "mallory", "login": "mallory"})
    for report in (WORSE, SAME):
        forget(site)
        site.report(report)
        site.work()
        site.wait(hours=1)
    assert [text[:11] for text in forge.of_service()] == ["**No change"]
    assert [note["body"] for note in written.values()][4] == body


def test_a_note_deleted_by_hand_is_written_again(both: Both) -> None:
    site, forge = both
    site.report(WORSE)
    site.work()
    (forge.notes if site.forge == "gitlab" else forge.comments).clear()
    site.report(SAME)
    site.work()
    assert [body[:11] for body in forge.of_service()] == ["**No change"]


def test_a_newer_head_keeps_its_note(both: Both) -> None:
    site, forge = both
    forge.head = "f0f0" * 10
    site.report(WORSE)
    assert site.work() is None
    assert forge.of_service() == []
    assert len(forge.statuses) == 1


@pytest.mark.parametrize("done", [False, True], ids=["refused", "done-but-unanswered"])
@pytest.mark.parametrize(("method", "path"), [("POST", "(notes|comments)$"), ("POST", "statuses/"), ("GET", "/user$")])
def test_a_failure_is_made_good_and_nothing_said_twice(both: Both, method: str, path: str, done: bool) -> None:
    site, forge = both
    forge.fail(method, path, 502, done=done)
    site.report(WORSE)
    assert site.work() is not None
    site.wait(seconds=6)
    assert site.work() is None
    assert not forge.faults
    assert (len(forge.of_service()), len(forge.statuses)) == (1, 1)


def test_a_limited_rate_is_obeyed(both: Both) -> None:
    site, forge = both
    forge.fail("POST", "(notes|comments)$", 429, Retry_After="90")
    site.report(WORSE)
    assert site.work() == site.clock[0] + timedelta(seconds=90)
    before = len(forge.requests)
    site.wait(seconds=80)
    site.work()
    assert len(forge.requests) == before
    site.wait(seconds=11)
    assert site.work() is None
    assert len(forge.of_service()) == 1


def test_a_token_that_is_refused_is_tried_again_later(both: Both) -> None:
    site, forge = both
    forge.fail("GET", "/(merge_requests|pulls)/7$", 401)
    site.report(WORSE)
    assert site.work() == site.clock[0] + timedelta(seconds=5)
    site.wait(seconds=5)
    assert site.work() is None
    assert len(forge.of_service()) == 1


def test_a_request_that_is_gone_is_given_up(both: Both) -> None:
    site, forge = both
    forge.number = 8
    site.report(WORSE)
    assert site.work() is None
    assert (forge.of_service(), forge.statuses) == ([], [])


def test_no_text_of_a_log_is_a_quick_action_or_a_mention(both: Both) -> None:
    site, forge = both
    log = "cc: error\n```\n/close\n/merge @all\n```\n/approve"
    site.report(made_gates.gate(made_gates.failed("head", message="/close @all", log=log)))
    site.work()
    (body,) = forge.of_service()
    assert "/merge" in body
    assert not [line for line in body.splitlines() if line.startswith("/")]
    first = body.splitlines()[0]
    assert "@" not in first


def test_a_report_of_a_forge_that_the_service_does_not_know_is_judged_and_not_published(both: Both) -> None:
    site, forge = both
    document = WORSE.model_dump(mode="json") | {"forge": "github"}
    assert site.client.post("/api/v1/gates", json=document).json["passed"] is False
    assert site.work() is None
    assert forge.requests == []
