"""What GitHub shows of a gate, whatever GitHub does meanwhile."""

from __future__ import annotations

import random
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from service.store import forge_queue as store
from service.store.models import ForgeGate
from tests.service.forges import made_gates
from tests.service.forges.github import stand_in

OVER = made_gates.case([100] * 30, [101] * 30, file="workload.toml")
SAME = made_gates.case([100] * 30, [100] * 30)
MANY = made_gates.gate(*(made_gates.case([9] * 24, [10] * 24, mib=number, file="w.toml") for number in range(120)))
WORSE, FINE = made_gates.gate(OVER), made_gates.gate(SAME)


def bot(hub: stand_in.GitHub) -> list[str]:
    return [one["body"] for one in hub.comments.values() if one["user"]["type"] == "Bot"]


def conclusions(hub: stand_in.GitHub) -> list[str]:
    return [check.get("conclusion", check["status"]) for check in hub.checks.values()]


def test_a_regression_becomes_a_comment_and_a_check_run(service: Any, hub: stand_in.GitHub) -> None:
    answer = service.report(WORSE)
    assert (answer["passed"], answer["sentence"][:5]) == (False, "Worse")
    assert service.work() is None
    (body,) = bot(hub)
    assert body.startswith("**Worse: +1")
    assert "https://faults.example.org/compare?base=" in body
    (check,) = hub.checks.values()
    assert (check["conclusion"], check["head_sha"], check["status"]) == ("failure", made_gates.HEAD, "completed")
    assert [one["path"] for one in check["annotations"]] == ["workload.toml"]
    assert hub.granted == [{"checks": "write", "pull_requests": "write", "actions": "write", "metadata": "read"}]


def test_the_comment_is_edited_in_place(service: Any, hub: stand_in.GitHub) -> None:
    for report in (WORSE, WORSE, FINE):
        service.report(report)
        service.work()
    (body,) = bot(hub)
    assert body.startswith("**No change")
    assert conclusions(hub) == ["failure", "success"]


def test_a_report_sent_twice_is_told_once(service: Any, hub: stand_in.GitHub) -> None:
    service.report(WORSE)
    service.report(WORSE)
    service.work()
    before = len(hub.requests)
    service.report(WORSE)
    service.work()
    assert len(hub.requests) == before
    assert (len(bot(hub)), len(hub.checks)) == (1, 1)


def test_a_comment_deleted_by_hand_is_written_again(service: Any, hub: stand_in.GitHub) -> None:
    service.report(WORSE)
    service.work()
    hub.comments.clear()
    service.report(FINE)
    service.work()
    assert [body[:11] for body in bot(hub)] == ["**No change"]


def test_a_copied_mark_is_not_taken_for_the_comment(service: Any, hub: stand_in.GitHub) -> None:
    service.report(WORSE)
    service.work()
    (body,) = bot(hub)
    hub.comments.clear()
    hub.write(body, {"login": "mallory", "type": "User", "id": 3})
    service.report(FINE)
    service.work()
    assert [one["body"] == body for one in hub.comments.values()] == [True, False]


@pytest.mark.parametrize("done", [False, True], ids=["refused", "done-but-unanswered"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/pulls/"),
        ("POST", "/issues/7/comments"),
        ("POST", "/check-runs"),
        ("POST", "access_tokens"),
        ("GET", "/installation"),
    ],
)
def test_a_failure_of_github_is_made_good(
    service: Any, hub: stand_in.GitHub, method: str, path: str, done: bool
) -> None:
    hub.fail(method, path, 502, done=done)
    service.report(WORSE)
    assert service.work() is not None
    service.wait(seconds=6)
    assert service.work() is None
    assert not hub.faults
    assert (len(bot(hub)), conclusions(hub)) == (1, ["failure"])


def test_annotations_go_on_where_they_were_interrupted(service: Any, hub: stand_in.GitHub) -> None:
    hub.fail("PATCH", "/check-runs/", 502, done=True)
    service.report(MANY)
    service.wait(seconds=60)
    service.work()
    assert conclusions(hub) == ["in_progress"]
    service.wait(seconds=6)
    service.work()
    (check,) = hub.checks.values()
    assert (len(check["annotations"]), check["conclusion"]) == (120, "failure")


def test_github_is_left_alone_for_as_long_as_it_asks(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    limited = "You have exceeded a secondary rate limit. Please wait a few minutes."
    hub.fail("POST", "/issues/7/comments", 403, limited, headers={"Retry-After": "90"})
    service.report(WORSE)
    due = service.work()
    assert due == service.clock[0] + timedelta(seconds=90)
    before = len(hub.requests)
    service.report(FINE)
    service.wait(seconds=80)
    assert service.work() == due
    assert len(hub.requests) == before
    service.wait(seconds=11)
    assert service.work() is None
    assert [body[:11] for body in bot(hub)] == ["**No change"]


def test_a_token_that_expired_is_replaced(service: Any, hub: stand_in.GitHub) -> None:
    service.report(WORSE)
    service.work()
    hub.tokens.clear()
    service.report(FINE)
    assert service.work() is None
    assert len(hub.granted) == 2
    assert [body[:11] for body in bot(hub)] == ["**No change"]


def test_an_app_that_was_installed_again_publishes_again(service: Any, hub: stand_in.GitHub) -> None:
    hub.token_life = timedelta(0)
    service.report(WORSE)
    service.work()
    hub.installation, hub.token_life = 6, timedelta(hours=1)
    service.report(FINE)
    assert service.work() is None
    assert [body[:11] for body in bot(hub)] == ["**No change"]


def test_of_a_head_that_was_replaced_only_its_check_run_tells(service: Any, hub: stand_in.GitHub) -> None:
    newer = "f0f0" * 10
    hub.head = newer
    sides = {
        "base": SAME.base,
        "head": SAME.head.model_copy(update={"revision": SAME.head.revision.model_copy(update={"commit": newer})}),
    }
    service.report(made_gates.gate(SAME.model_copy(update=sides), head=newer))
    service.work()
    service.report(WORSE)  # that of the head before comes last
    service.work()
    assert [body[:11] for body in bot(hub)] == ["**No change"]
    assert {check["head_sha"]: check["conclusion"] for check in hub.checks.values()} == {
        newer: "success",
        made_gates.HEAD: "failure",
    }


def test_an_older_report_does_not_replace_a_newer_one(service: Any, hub: stand_in.GitHub) -> None:
    old = {"started_at": datetime(2024, 1, 1, tzinfo=UTC), "finished_at": datetime(2024, 1, 1, 1, tzinfo=UTC)}
    older = OVER.model_copy(update={"head": OVER.head.model_copy(update=old)})
    for report in (FINE, made_gates.gate(older)):
        service.report(report)
        service.work()
    assert [body[:11] for body in bot(hub)] == ["**No change"]


def test_a_closed_pull_request_is_told_and_a_locked_one_by_its_check_run(service: Any, hub: stand_in.GitHub) -> None:
    hub.state, hub.locked = "closed", True
    service.report(WORSE)
    assert service.work() is None
    assert (bot(hub), conclusions(hub)) == ([], ["failure"])
    hub.locked = False
    service.report(FINE)
    service.work()
    assert len(bot(hub)) == 1


def test_a_report_that_cannot_be_read_keeps_no_other_one_waiting(service: Any, hub: stand_in.GitHub) -> None:
    service.report(made_gates.QUEUED)
    with service.worker.database.writing() as session:
        session.execute(update(ForgeGate).values(document=zlib.compress(b'{"of": "another version"}')))
    service.report(WORSE)
    assert service.work() is not None, "it is tried again"
    assert [check["head_sha"] for check in hub.checks.values()] == [made_gates.HEAD]


def test_a_commit_that_a_force_push_threw_away_needs_no_check_run(service: Any, hub: stand_in.GitHub) -> None:
    hub.fail("POST", "/check-runs", 422, f"No commit found for SHA: {made_gates.HEAD}")
    service.report(WORSE)
    assert service.work() is None
    assert (len(bot(hub)), hub.checks) == (1, {})


@pytest.mark.parametrize("seed", range(6))
def test_whatever_fails_nothing_is_lost_and_nothing_told_twice(seed: int, service: Any, hub: stand_in.GitHub) -> None:
    """GitHub fails again and again, in every way there is, while there is news for it."""
    chance = random.Random(seed)
    ways: list[dict[str, Any]] = [
        {"status": 500},
        {"status": 502, "done": True},
        {"status": 401, "message": "Bad credentials"},
        {"status": 403, "message": "You have exceeded a secondary rate limit.", "headers": {"Retry-After": "60"}},
        {"status": 429, "headers": {"X-RateLimit-Remaining": "0"}},
    ]
    places = [("POST", "/check-runs"), ("POST|PATCH", "/comments"), ("GET|POST|PATCH", "")]
    for method, path in chance.choices(places, k=8):
        hub.fail(method, path, **chance.choice(ways), after=chance.randint(0, 1))
    news = [WORSE, WORSE, FINE, WORSE]
    for report in news:
        service.report(report)
        if chance.random() < 0.7:
            service.work()
    while (due := service.work()) is not None:
        service.clock[0] = max(due, service.clock[0])
    (body,) = bot(hub)
    assert body.startswith("**Worse: +1")
    assert all(check["status"] == "completed" for check in hub.checks.values())
    assert len({check["external_id"] for check in hub.checks.values()}) == len(hub.checks)
    newest = max(hub.checks.values(), key=lambda check: check["id"])
    assert newest["conclusion"] == "failure"


def test_what_is_gone_is_given_up(service: Any, hub: stand_in.GitHub) -> None:
    service.report(made_gates.gate(OVER, number=8))
    assert service.work() is None


def test_a_worker_that_was_killed_leaves_its_work_to_the_next(service: Any, hub: stand_in.GitHub) -> None:
    service.report(WORSE)
    with service.worker.database.writing() as session:
        assert store.take_gate(session, service.clock[0]) is not None
    hub.write(bot_body := "x")
    assert service.work() == service.clock[0] + store.LEASE
    service.wait(seconds=store.LEASE.total_seconds() + 1)
    assert service.work() is None
    assert next(body for body in bot(hub) if body != bot_body).startswith("**Worse")
