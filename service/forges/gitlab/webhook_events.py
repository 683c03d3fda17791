"""Translates webhooks of GitLab into actions of the service.

The payloads are described in the document "Webhook events" of GitLab. Most of their text is untrusted.
"""

from __future__ import annotations

from collections.abc import Iterator

from runner.contract.gate import ForgeKind
from service.forges.comment_commands import parse_commands
from service.forges.qualified_names import qualify_name
from service.forges.webhook_actions import (
    ACCEPT_LABEL,
    AcceptHead,
    CommandComment,
    Payload,
    RecordHead,
    RecordMerge,
    WebhookAction,
)


def _translate_merge_request(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the actions that record the head of a merge request, its acceptance by label, and its merge."""
    request, repository = payload["object_attributes"], _read_repository(payload)
    head = request["last_commit"]["id"]
    yield RecordHead(repository, request["iid"], head)
    if _has_just_accepted(payload.get("changes") or {}):
        yield AcceptHead(repository, request["iid"], head, payload["user"]["username"])
    if request["action"] == "merge":
        # After a fast-forward merge, there is neither a merge commit nor a squashed one: the head itself was merged.
        merged_as = request.get("merge_commit_sha") or request.get("squash_commit_sha") or head
        yield RecordMerge(repository, request["iid"], head, merged_as)


def _has_just_accepted(changes: Payload) -> bool:
    """Return whether this event, and not an earlier one, added the label that accepts a change."""
    label_changes = changes.get("labels") or {}
    titles_before = {label["title"].lower() for label in label_changes.get("previous") or ()}
    titles_after = {label["title"].lower() for label in label_changes.get("current") or ()}
    return ACCEPT_LABEL in titles_after - titles_before


def _translate_note(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the commands of a new note on a merge request. Events of older versions of GitLab name no action."""
    note = payload["object_attributes"]
    if note["noteable_type"] != "MergeRequest" or note.get("system") or note.get("action", "create") != "create":
        return
    commands = parse_commands(note["note"] or "")
    if commands:
        author = payload["user"]["username"]
        yield CommandComment(_read_repository(payload), payload["merge_request"]["iid"], note["id"], author, commands)


def _read_repository(payload: Payload) -> str:
    return qualify_name(ForgeKind.GITLAB, str(payload["project"]["path_with_namespace"]).lower())


EVENTS = {"Merge Request Hook": _translate_merge_request, "Note Hook": _translate_note}
"""The events on which the service acts, by their names in ``X-Gitlab-Event``."""
