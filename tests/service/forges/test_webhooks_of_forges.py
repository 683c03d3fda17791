"""Webhooks of GitLab and Forgejo, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.forges import made_gates
from tests.service.forges.conftest import SECRET, Site
from tests.service.forges.forgejo.stand_in import Forgejo
from tests.service.forges.gitlab.stand_in import GitLab

WORSE = made_gates.gate(made_gates.case([100] * 30, [101] * 30))
Both = tuple[Site, Any]


def merge_request(action: str, **changes: Any) -> dict[str, Any]:
    """Return what GitLab sends of a merge request, in the parts that matter."""
    attributes = {"iid": 7, "action": action, "last_commit": {"id": made_gates.HEAD}, "merge_commit_sha": "b" * 40}
    project = {"path_with_namespace": "Group/Sub/Copies"}
    return {"object_attributes": attributes, "project": project, "user": {"username": "ada"}} | changes


def note(body: str, by: str = "ada", **changes: Any) -> dict[str, Any]:
    attributes = {"id": 5, "note": body, "noteable_type": "MergeRequest", "system": False, "action": "create"}
    project = {"path_with_namespace": "Group/Sub/Copies"}
    return {
        **{"object_attributes": attributes | changes, "project": project, "user": {"username": by}},
        "merge_request": {"iid": 7},
    }


def pull_request(action: str, **changes: Any) -> dict[str, Any]:
    """Return what Forgejo sends of a pull request, in the parts that matter."""
    pull = {"number": 7, "head": {"sha": made_gates.HEAD}, "merged": action == "closed", "merge_commit_sha": "b" * 40}
    return {"action": action, "pull_request": pull | changes, "repository": {"full_name": "Octo-Org/copies"}}


def comment(body: str, by: str = "ada") -> dict[str, Any]:
    return {
        **{"action": "created", "issue": {"number": 7, "pull_request": {}}, "is_pull": True},
        **{"comment": {"id": 5, "body": body, "user": {"login": by}}, "repository": {"full_name": "Octo-Org/copies"}},
    } | {"issue": {"number": 7, "pull_request": {"merged": False}}}


def command(site: Site, body: str, by: str = "ada") -> int:
    if site.forge == "gitlab":
        return site.deliver("Note Hook", note(body, by))
    return site.deliver("issue_comment", comment(body, by))


def opened(site: Site) -> int:
    if site.forge == "gitlab":
        return site.deliver("Merge Request Hook", merge_request("open"))
    return site.deliver("pull_request", pull_request("opened"))


def replies(forge: Any) -> list[str]:
    return [body for body in forge.of_service() if "faultwatch reply 5" in body]


@pytest.mark.parametrize("shown", ["", "another secret of tests", SECRET[:-1], "\xff"])
def test_gitlab_has_to_send_the_secret(on_gitlab: Site, shown: str) -> None:
    assert opened(on_gitlab) == 202
    assert on_gitlab.deliver("Merge Request Hook", merge_request("open"), X_Gitlab_Token=shown) == 401


@pytest.mark.parametrize("shown", ["", "0" * 64, "sha256=" + "0" * 64, SECRET, "\xff"])
def test_forgejo_has_to_sign_the_body(on_forgejo: Site, shown: str) -> None:
    assert opened(on_forgejo) == 202
    changed = {"X_Forgejo_Signature": shown, "X_Gitea_Signature": shown}
    assert on_forgejo.deliver("pull_request", pull_request("opened"), **changed) == 401


def test_gitea_is_known_by_its_own_headers(on_forgejo: Site) -> None:
    changed = {"X_Forgejo_Signature": "", "X_Forgejo_Event": "", "X_Forgejo_Delivery": "", "X_Gitea_Delivery": "a-1"}
    assert on_forgejo.deliver("pull_request", pull_request("opened"), **changed) == 202


def test_a_delivery_is_taken_once(both: Both) -> None:
    site, forge = both
    assert (command(site, "/faultwatch help"), command(site, "/faultwatch help")) == (202, 200)
    site.work()
    site.work()
    (reply,) = replies(forge)
    assert "| command |" in reply


def test_a_forge_that_is_not_set_up_has_no_webhook(on_gitlab: Site) -> None:
    for address in ("/forgejo/webhook", "/github/webhook"):
        assert on_gitlab.client.post(address, data=b"{}").status_code == 404


def test_what_does_not_matter_or_is_no_webhook(on_gitlab: Site) -> None:
    assert on_gitlab.deliver("Push Hook", {"ref": "x"}) == 200
    assert on_gitlab.deliver("Note Hook", note("x"), X_Gitlab_Event_UUID="a b") == 400


def test_a_job_need_not_know_its_request(both: Both) -> None:
    site, forge = both
    opened(site)
    site.work()
    site.report(WORSE.model_copy(update={"pull_request": None}))
    site.work()
    assert len(forge.of_service()) == 1


def test_a_command_accepts_the_change_of_a_head(both: Both) -> None:
    site, forge = both
    site.report(WORSE)
    site.work()
    command(site, "/faultwatch accept a @larger <cache>")
    site.work()
    (reply,) = replies(forge)
    assert "&#64;larger &#60;cache&#62;" in reply
    body = next(body for body in forge.of_service() if "faultwatch gate" in body)
    assert "Accepted by <code>ada</code>" in body.splitlines()[0]
    assert forge.statuses[-1]["status"] == "success"
    assert site.report(WORSE)["passed"] is True


@pytest.mark.parametrize("by", ["mallory", "nobody"])
def test_commands_are_for_those_who_may_push(both: Both, by: str) -> None:
    site, forge = both
    site.report(WORSE)
    command(site, "/faultwatch accept me", by)
    assert site.work() is None
    assert replies(forge) == []
    assert site.report(WORSE)["passed"] is False


def test_a_reply_whose_answer_was_lost_is_given_once(both: Both) -> None:
    site, forge = both
    forge.fail("POST", "(notes|comments)$", 500, done=True)
    command(site, "/faultwatch rerun")
    site.work()
    site.wait(seconds=6)
    assert site.work() is None
    (reply,) = replies(forge)
    assert "only on GitHub" in reply


def labelled(*before: str, now: str = "faultwatch: accept", by: str = "ada") -> dict[str, Any]:
    labels = {"previous": [{"title": name} for name in before], "current": [{"title": name} for name in (*before, now)]}
    return merge_request("update", changes={"labels": labels}, user={"username": by})


def test_a_label_accepts_on_gitlab_if_somebody_sets_it_who_may_push(on_gitlab: Site, gitlab: GitLab) -> None:
    on_gitlab.report(WORSE)
    for ineffective in (labelled(by="mallory"), labelled("faultwatch: accept", now="other")):
        on_gitlab.deliver("Merge Request Hook", ineffective)
    on_gitlab.work()
    assert on_gitlab.report(WORSE)["passed"] is False
    on_gitlab.deliver("Merge Request Hook", labelled("other"))
    on_gitlab.work()
    assert on_gitlab.report(WORSE)["passed"] is True
    assert replies(gitlab) == []


def test_a_merge_is_recorded(both: Both) -> None:
    site, _ = both
    event = ("Merge Request Hook", merge_request("merge"))
    site.deliver(*(event if site.forge == "gitlab" else ("pull_request", pull_request("closed"))))
    site.work()
    from sqlalchemy import select

    from service.store.models import ForgeGate

    with site.worker.database.reading() as session:
        assert session.scalar(select(ForgeGate.merged_as)) == "b" * 40


def test_a_comment_on_an_issue_is_no_command(on_forgejo: Site, forgejo: Forgejo) -> None:
    payload = comment("/faultwatch help")
    on_forgejo.deliver("issue_comment", payload | {"issue": {"number": 7, "pull_request": None}})
    assert on_forgejo.work() is None
    assert forgejo.requests == []
