"""Translates webhooks of Forgejo or Gitea into actions of the service.

Forgejo has signed the payload, but most of its text is untrusted. Unlike on GitHub, a label accepts nothing: the event
does not say which label was added, so a user who adds an unrelated label would accept a head that was pushed later.
"""

from __future__ import annotations

from collections.abc import Iterator

from runner.contract.gate import ForgeKind
from service.forges.comment_commands import parse_commands
from service.forges.qualified_names import qualify_name
from service.forges.webhook_actions import CommandComment, Payload, RecordHead, RecordMerge, WebhookAction


def _translate_pull_request(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the actions that record the head of a pull request, and its merge."""
    pull, repository = payload["pull_request"], _read_repository(payload)
    yield RecordHead(repository, pull["number"], pull["head"]["sha"])
    if payload["action"] == "closed" and pull["merged"]:
        yield RecordMerge(repository, pull["number"], pull["head"]["sha"], pull["merge_commit_sha"])


def _translate_issue_comment(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the commands of a new comment on a pull request."""
    comment, issue = payload["comment"], payload["issue"]
    if payload["action"] != "created" or not issue.get("pull_request"):
        return
    commands = parse_commands(comment["body"] or "")
    if commands:
        author = comment["user"]["login"]
        yield CommandComment(_read_repository(payload), issue["number"], comment["id"], author, commands)


def _read_repository(payload: Payload) -> str:
    return qualify_name(ForgeKind.FORGEJO, str(payload["repository"]["full_name"]).lower())


EVENTS = {
    "pull_request": _translate_pull_request,
    "pull_request_comment": _translate_issue_comment,
    "issue_comment": _translate_issue_comment,
}
"""The events on which the service acts, by their names in ``X-Forgejo-Event``."""
