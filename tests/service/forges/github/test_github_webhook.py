"""Webhooks in, and what becomes of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from runner.contract.gate import GateReport
from service.forges.webhook_authentication import sign_body
from service.pipeline import accept_merged
from service.store.engine.database import Database
from service.store.models import ForgeDelivery
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.forges import made_gates
from tests.service.forges.github import stand_in
from tests.service.forges.github.stand_in import SECRET, repository

OVER = made_gates.gate(made_gates.case([100] * 30, [101] * 30))


def pull(action: str, **told: Any) -> dict[str, Any]:
    return {
        "action": action,
        "pull_request": {"number": 7, "head": {"sha": made_gates.HEAD}},
        "repository": repository(),
        "sender": {"login": "ada"},
    } | told


def replies(hub: stand_in.GitHub) -> list[str]:
    return [one["body"] for one in hub.comments.values() if "faultwatch reply" in one["body"]]


def test_only_what_github_signed_is_taken(service: Any) -> None:
    payload = pull("opened")
    assert service.deliver("pull_request", payload) == 202
    for signature in ("", "sha256=", "sha256=" + "0" * 64, "sha1=" + "0" * 40, "\xff"):
        assert service.deliver("pull_request", payload, **{"X_Hub_Signature_256": signature}) == 401
    other = sign_body(b"another secret of tests", json.dumps(payload).encode())
    assert service.deliver("pull_request", payload, **{"X_Hub_Signature_256": other}) == 401


def test_a_delivery_is_taken_once(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    payload = said("/faultwatch rerun")
    assert service.deliver("issue_comment", payload, **{"X_GitHub_Delivery": "a-1"}) == 202
    assert service.deliver("issue_comment", payload, **{"X_GitHub_Delivery": "a-1"}) == 200
    service.work()
    assert service.deliver("issue_comment", payload, **{"X_GitHub_Delivery": "b-2"}) == 200  # replayed under another id
    service.work()
    assert [name for name, _ in hub.dispatches] == ["faultwatch.yml"]
    assert len(replies(hub)) == 1


def test_what_does_not_matter_or_is_no_webhook(service: Any, client: FlaskClient) -> None:
    assert service.deliver("ping", {"zen": "x"}) == 200
    assert service.deliver("pull_request", pull("opened"), **{"X_GitHub_Delivery": "a b"}) == 400
    assert service.deliver("pull_request", pull("opened"), **{"Content_Type": "text/plain"}) == 400
    assert client.post("/github/webhook", data=b"{}").status_code == 404  # no App


@pytest.mark.parametrize(
    ("text", "reaction", "dispatched", "reply"),
    [
        (
            "/faultwatch rerun",
            "+1",
            [("faultwatch.yml", {"base": made_gates.BASE, "head": made_gates.HEAD})],
            "Measuring",
        ),
        ("/faultwatch bisect copy_service[mib=4]", "confused", [], "has not been measured yet"),
        ("/faultwatch bisect", "confused", [], "Specify the case"),
        ("/faultwatch accept a larger cache", "confused", [], "Accept this head once it has been measured"),
        ("/faultwatch accept", "confused", [], "Give a reason"),
        ("/faultwatch help", "+1", [], "| command |"),
        ("/faultwatch sing", "confused", [], "no such command"),
    ],
)
def test_a_command_is_done_and_answered(
    text: str, reaction: str, dispatched: list[Any], reply: str, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("pull_request", pull("opened"))
    payload = said(text)
    service.deliver("issue_comment", payload)
    assert service.work() is None
    assert hub.reactions == [(payload["comment"]["id"], reaction)]
    assert hub.dispatches == dispatched
    (found,) = replies(hub)
    assert reply in found


def test_commands_are_for_those_who_may_write(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    service.deliver("issue_comment", said("/faultwatch accept me", by="mallory"))
    service.deliver("issue_comment", said("/faultwatch rerun", by="robot[bot]", kind="Bot"))
    service.report(OVER)
    service.work()
    assert [content for _, content in hub.reactions] == ["-1"]
    assert (replies(hub), hub.dispatches) == ([], [])
    assert [check["conclusion"] for check in hub.checks.values()] == ["failure"]


@pytest.mark.parametrize("path", ["reactions", "/issues/7/comments"])
def test_a_command_whose_answer_was_lost_is_answered_once(
    path: str, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    hub.fail("POST", path, 500, done=True)
    service.deliver("pull_request", pull("opened"))
    service.deliver("issue_comment", said("/faultwatch accept yes"))
    service.work()
    service.wait(seconds=6)
    assert service.work() is None
    assert len(replies(hub)) == 1


def test_an_accepted_change_passes_with_who_and_why(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    service.report(OVER)
    service.work()
    service.deliver("issue_comment", said("/faultwatch accept a larger cache"))
    service.work()
    told = next(one["body"] for one in hub.comments.values() if "faultwatch gate" in one["body"])
    assert "Accepted by <code>ada</code>: <code>a larger cache</code>" in told.splitlines()[0]
    assert [check["conclusion"] for check in hub.checks.values()] == ["failure", "neutral"]
    assert service.report(OVER)["passed"] is True


def test_a_head_that_nobody_has_seen_is_not_accepted(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    service.report(OVER)
    payload = said("/faultwatch accept a larger cache")
    hub.head = "f0f0" * 10  # pushed by force before the comment was read
    service.deliver("issue_comment", payload)
    service.work()
    assert "Accept this head once it has been measured" in replies(hub)[0]
    assert service.report(OVER)["passed"] is False


def test_a_head_that_was_pushed_before_the_comment_was_read_is_not_accepted(
    service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    """GitHub tells of a push before anybody can measure it."""
    service.report(OVER)
    payload = said("/faultwatch accept a larger cache")
    hub.head = "f0f0" * 10
    service.deliver("pull_request", pull("synchronize", pull_request={"number": 7, "head": {"sha": hub.head}}))
    service.deliver("issue_comment", payload)
    service.work()
    assert "Accept this head once it has been measured" in replies(hub)[0]


def test_the_reason_of_an_acceptance_is_answered_as_text(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    service.report(OVER)
    service.deliver("issue_comment", said("/faultwatch accept a @larger <cache>"))
    service.work()
    assert "&#64;larger &#60;cache&#62;" in replies(hub)[0]
    assert [content for _, content in hub.reactions] == ["+1"]


def test_a_command_in_a_locked_conversation_is_run_once(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    service.deliver("pull_request", pull("opened"))
    service.deliver("issue_comment", said("/faultwatch rerun"))
    hub.locked = True
    assert service.work() is None
    assert len(hub.dispatches) == 1
    assert [content for _, content in hub.reactions] == ["+1"]


def test_a_pull_request_that_is_closed_meanwhile_is_not_measured(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    hub.state = "closed"
    service.deliver("issue_comment", said("/faultwatch rerun"))
    service.deliver("workflow_run", run_of(2))
    service.work()
    assert hub.dispatches == []
    assert "closed" in replies(hub)[0]


def test_webhooks_may_come_in_any_order(service: Any, hub: stand_in.GitHub) -> None:
    """The label of the newest head, then its push, then the pull request as it was opened."""
    service.deliver("pull_request", pull("labeled", label={"name": "faultwatch: accept"}))
    service.deliver("pull_request", pull("synchronize"))
    opened = pull("opened")
    opened["pull_request"]["head"]["sha"] = "0" * 40
    service.deliver("pull_request", opened)
    service.work()
    assert service.report(OVER)["passed"] is True
    service.work()
    assert [check["conclusion"] for check in hub.checks.values()] == ["neutral"]


def merged(action: str = "closed", **told: Any) -> dict[str, Any]:
    payload = pull(action)
    payload["pull_request"] |= {"merged": True, "merge_commit_sha": reports.commit(2), **told}
    return payload


@pytest.mark.parametrize(
    ("report", "webhook", "counts", "state"),
    [
        (OVER, merged(), (100, 101), "expected"),
        (OVER, merged(merged=False), (100, 101), "new"),
        (OVER, merged(merge_commit_sha=reports.commit(3)), (100, 101), "new"),
        (made_gates.gate(made_gates.case([100] * 30, [101] * 30, mib=8)), merged(), (100, 101), "new"),
        (OVER, merged(), (1600, 1616), "expected"),
        (OVER, merged(), (100, 150), "new"),
        (OVER, merged(), (101, 100), "new"),
    ],
    ids=["accepted", "not-merged", "another-commit", "another-case", "another-host", "larger", "opposite"],
)
def test_what_was_accepted_is_the_new_baseline_once_it_is_merged(
    report: GateReport, webhook: dict[str, Any], counts: tuple[int, int], state: str, service: Any, database: Database
) -> None:
    api = Api(service.client)
    service.deliver("pull_request", pull("labeled", label={"name": "faultwatch: accept"}))
    service.deliver("pull_request", webhook)
    service.work()
    service.report(report)
    case = OVER.cases[0].head.case
    api.put_revisions(1, 2)
    api.send(*(reports.report(number, faults, faults, case=case) for number, faults in enumerate(counts, 1)))
    accept_merged.expect_accepted_drifts(database, service.clock[0])
    accept_merged.expect_accepted_drifts(database, service.clock[0])
    (event,) = api.get("/events")["items"]
    assert event["state"] == state
    if state == "expected":
        assert event["last_decision"]["author"] == "ada"
        assert event["last_decision"]["reason"] == "by label (octo-org/copies#7)"
        # Taken back by somebody, it stays so.
        api.client.post(f"/api/v1/events/{event['id']}/decisions", json={"action": "reopen", "reason": "no"})
        assert not accept_merged.expect_accepted_drifts(database, service.clock[0])


def test_a_label_accepts(service: Any, hub: stand_in.GitHub) -> None:
    service.deliver("pull_request", pull("labeled", label={"name": "faultwatch: accept"}))
    service.work()
    assert service.report(OVER)["passed"] is True


@pytest.mark.parametrize("permission", ["read", "triage", "none"])
def test_a_label_of_somebody_who_may_not_write_does_nothing(
    permission: str, service: Any, hub: stand_in.GitHub
) -> None:
    hub.permissions["ada"] = permission
    for name in ("faultwatch: accept", "faultwatch: measure"):
        service.deliver("pull_request", pull("labeled", label={"name": name}))
    service.work()
    assert hub.dispatches == []
    assert service.report(OVER)["passed"] is False


def test_a_label_accepts_the_head_at_which_it_was_set(service: Any, hub: stand_in.GitHub) -> None:
    labeled = pull("labeled", label={"name": "faultwatch: accept"})
    labeled["pull_request"]["head"]["sha"] = "0" * 40
    service.deliver("pull_request", labeled)
    service.deliver("pull_request", pull("synchronize"))
    service.work()
    assert service.report(OVER)["passed"] is False


def test_a_label_has_a_pull_request_measured(service: Any, hub: stand_in.GitHub) -> None:
    for name in ("other", "faultwatch: Measure"):
        service.deliver("pull_request", pull("labeled", label={"name": name}))
    service.work()
    assert hub.dispatches == [("faultwatch.yml", {"base": made_gates.BASE, "head": made_gates.HEAD})]


def test_a_merge_queue_has_check_runs_of_its_own_and_takes_over_what_was_accepted(
    service: Any, hub: stand_in.GitHub
) -> None:
    queued = made_gates.QUEUED
    assert service.report(queued)["passed"] is False
    service.work()
    assert [check["head_sha"] for check in hub.checks.values()] == [queued.head]
    assert hub.comments == {}, "the comment is about the head of the pull request"
    service.report(OVER)
    service.deliver("pull_request", pull("labeled", label={"name": "faultwatch: accept"}))
    service.work()
    assert service.report(queued)["passed"] is True
    assert service.report(queued.model_copy(update={"merge_group": False}))["passed"] is True, "as it was accepted once"


def test_what_was_accepted_of_an_older_head_is_not_taken_over(service: Any, hub: stand_in.GitHub) -> None:
    service.report(OVER)
    service.deliver("pull_request", pull("labeled", label={"name": "faultwatch: accept"}))
    service.work()
    newer = pull("synchronize", pull_request={"number": 7, "head": {"sha": "f0f0" * 10}})
    service.deliver("pull_request", newer)
    service.work()
    assert service.report(made_gates.QUEUED)["passed"] is False


def test_a_job_need_not_know_its_pull_request(service: Any, hub: stand_in.GitHub) -> None:
    unnamed = OVER.model_copy(update={"pull_request": None})
    refused = service.client.post("/api/v1/gates", json=unnamed.model_dump(mode="json"))
    assert refused.status_code == 422
    service.deliver("pull_request", pull("synchronize"))
    service.work()
    service.report(unnamed)
    service.work()
    assert len(hub.checks) == 1


def run_of(head_repository: int, action: str = "in_progress") -> dict[str, Any]:
    run = {"event": "pull_request", "head_sha": made_gates.HEAD, "head_repository": {"id": head_repository}}
    return {"action": action, "workflow_run": run, "repository": repository()}


def test_a_fork_is_measured_once_its_workflow_was_approved(service: Any, hub: stand_in.GitHub) -> None:
    service.deliver("pull_request", pull("opened"))
    service.deliver("workflow_run", run_of(1))
    service.deliver("workflow_run", run_of(2, "requested"))
    service.work()
    assert hub.dispatches == []
    hub.requests.clear()
    service.deliver("workflow_run", run_of(2))
    service.work()
    assert hub.dispatches == [("faultwatch.yml", {"base": made_gates.BASE, "head": made_gates.HEAD})]
    assert not [one for one in hub.requests if "/commits/" in one]  # whose pull request it is was told before


@pytest.mark.parametrize(
    "pulls",
    [
        [],
        [{"number": 7, "base": {"repo": {"id": 1}}}],
        [{"number": 8, "base": {"repo": {"id": 2}}}, {"number": 7, "base": {"repo": {"id": 1}}}],
        [{"number": 8, "base": {"repo": {"id": 2}}}],
    ],
)
def test_a_check_run_can_be_asked_for_again(pulls: list[Any], service: Any, hub: stand_in.GitHub) -> None:
    check = {"head_sha": made_gates.HEAD, "pull_requests": pulls}
    asked = {"action": "rerequested", "check_run": check, "repository": repository()}
    service.deliver("check_run", asked | {"sender": {"login": "mallory"}})
    service.work()
    assert hub.dispatches == [], "who may not write asks for nothing"
    service.deliver("check_run", asked | {"sender": {"login": "ada"}})
    service.work()
    assert len(hub.dispatches) == 1
    stale = {"head_sha": "0" * 40, "pull_requests": pulls}
    service.deliver("check_run", {"action": "rerequested", "check_run": stale, "repository": repository()})
    service.work()
    assert len(hub.dispatches) == 1


def test_a_push_to_the_default_branch_is_measured(service: Any, hub: stand_in.GitHub) -> None:
    for ref in ("refs/heads/main", "refs/heads/topic"):
        after = f"{len(ref):040x}"
        service.deliver("push", {"ref": ref, "deleted": False, "after": after, "repository": repository()})
    service.work()
    # Without the address, the workflow does nothing in a repository that has no variable for it.
    inputs = {"revision": f"{15:040x}", "service": "https://faults.example.org"}
    assert hub.dispatches == [("measure.yml", inputs)]


def test_a_repository_without_the_app_is_told_nothing_more(service: Any, hub: stand_in.GitHub) -> None:
    service.report(OVER)
    service.deliver("installation", {"action": "deleted", "repositories": [{"full_name": "octo-org/Copies"}]})
    assert service.work() is None
    assert (hub.comments, hub.checks) == ({}, {})


def test_a_payload_goes_once_it_is_done_and_its_id_stays(service: Any, said: Any) -> None:
    service.deliver("issue_comment", said("/faultwatch help"), **{"X_GitHub_Delivery": "a-1"})
    service.work()
    with service.worker.database.reading() as session:
        row = session.get_one(ForgeDelivery, "a-1")
        assert (row.payload, row.due_at, row.error) == (None, None, None)


@pytest.mark.thorough
def test_what_was_taken_before_a_kill_is_done_after_it(
    service: Any, hub: stand_in.GitHub, key: str, tmp_path: Path
) -> None:
    """The real server: killed with work in hand, started again."""
    (tmp_path / "key").write_text(key)
    (tmp_path / "secret").write_bytes(SECRET)
    environment = os.environ | {
        "FAULTWATCH_HOME": str(tmp_path / "home"),
        "FAULTWATCH_GITHUB_APP": str(stand_in.APP),
        "FAULTWATCH_GITHUB_KEY_FILE": str(tmp_path / "key"),
        "FAULTWATCH_GITHUB_SECRET_FILE": str(tmp_path / "secret"),
        "FAULTWATCH_GITHUB_API": hub.url,
    }
    service.report(OVER)  # into the same database; nobody works yet
    port = tmp_path / "port"
    command = [sys.executable, "-m", "service", "serve", "--port", "0", "--port-file", str(port)]
    hub.fail("GET", "/pulls/7", 500)
    hub.requests.clear()
    done = (lambda: len(hub.requests) >= 4, lambda: len(hub.checks) == 1)
    for until, end in zip(done, (signal.SIGKILL, signal.SIGTERM), strict=True):
        server = subprocess.Popen(command, env=environment)
        try:
            _wait(until)
        finally:
            server.send_signal(end)
            server.wait(30)
    assert len(hub.comments) == 1


def _wait(until: Any) -> None:
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_service_without_an_app_does_not_load_what_speaks_to_github() -> None:
    asked = "import sys, service.serving; print({'github', 'jwt', 'cryptography'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
