"""Translates webhooks of GitHub into actions of the service.

GitHub has signed the payload, but most of its text is untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from service.forges.comment_commands import parse_commands
from service.forges.webhook_actions import (
    ACCEPT_LABEL,
    MEASURE_LABEL,
    AcceptHead,
    CommandComment,
    ForgetRepositories,
    MeasureBranch,
    MeasureHead,
    Payload,
    RecordHead,
    RecordMerge,
    UpdateJob,
    WebhookAction,
    decide_actions,
)

_JOB_RUN_TITLE = re.compile(r"(?:bisect|gate|measure|profile) ([1-9][0-9]{0,17})")
"""The titles of workflow runs that carry out jobs. Other workflows of a project may be numbered too."""


def _translate_issue_comment(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the commands of a new comment on a pull request, unless a bot wrote it."""
    comment, issue = payload["comment"], payload["issue"]
    if payload["action"] != "created" or "pull_request" not in issue or comment["user"]["type"] == "Bot":
        return
    commands = parse_commands(comment["body"] or "")
    if commands:
        yield CommandComment(
            _read_repository(payload), issue["number"], comment["id"], comment["user"]["login"], commands
        )


def _translate_pull_request(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the actions that record heads, acceptances by label and merges, or measure a head that has the label.

    A pull request from the repository itself starts its own workflow; one from a fork waits for approval.
    """
    pull = payload["pull_request"]
    yield RecordHead(_read_repository(payload), pull["number"], pull["head"]["sha"])
    if payload["action"] == "labeled" and payload["label"]["name"].lower() == ACCEPT_LABEL:
        yield AcceptHead(_read_repository(payload), pull["number"], pull["head"]["sha"], payload["sender"]["login"])
    if payload["action"] == "labeled" and payload["label"]["name"].lower() == MEASURE_LABEL:
        yield MeasureHead(_read_repository(payload), pull["head"]["sha"], pull["number"], payload["sender"]["login"])
    if payload["action"] == "closed" and pull["merged"]:
        yield RecordMerge(_read_repository(payload), pull["number"], pull["head"]["sha"], pull["merge_commit_sha"])


def _translate_workflow_run(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the update of a workflow run's job, or measure the head of a fork once its workflow run was approved.

    The fork's own workflow run cannot report to the service, because GitHub gives it no identity to sign in with.
    """
    run = payload["workflow_run"]
    job_title = _JOB_RUN_TITLE.fullmatch(run["display_title"]) if run["event"] == "workflow_dispatch" else None
    if job_title is not None:
        yield UpdateJob(
            _read_repository(payload), int(job_title[1]), run["html_url"], run["conclusion"], run["created_at"]
        )
        return
    is_from_fork = run["head_repository"]["id"] != payload["repository"]["id"]
    if payload["action"] == "in_progress" and run["event"] == "pull_request" and is_from_fork:
        yield MeasureHead(_read_repository(payload), run["head_sha"])


def _translate_check_run(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the action that measures a head again if somebody has requested this in its check run."""
    check = payload["check_run"]
    if payload["action"] != "rerequested":
        return
    # GitHub also lists pull requests of other repositories, such as of forks, that have the same head.
    repository_id = payload["repository"]["id"]
    pulls = (pull for pull in check.get("pull_requests") or () if pull["base"]["repo"]["id"] == repository_id)
    number = next((pull["number"] for pull in pulls), None)
    yield MeasureHead(_read_repository(payload), check["head_sha"], number, payload["sender"]["login"])


def _translate_push(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the action that measures the new head of the default branch."""
    if payload["ref"] == f"refs/heads/{payload['repository']['default_branch']}" and not payload["deleted"]:
        yield MeasureBranch(_read_repository(payload), payload["after"])


def _translate_installation(payload: Payload) -> Iterator[WebhookAction]:
    """Yield the action that stops publishing in repositories from which the App was removed."""
    if payload["action"] in {"deleted", "suspend"}:
        repositories = payload.get("repositories") or ()
        yield ForgetRepositories(tuple(repository["full_name"].lower() for repository in repositories))


def _read_repository(payload: Payload) -> str:
    return str(payload["repository"]["full_name"]).lower()


_TRANSLATORS = {
    "issue_comment": _translate_issue_comment,
    "pull_request": _translate_pull_request,
    "workflow_run": _translate_workflow_run,
    "check_run": _translate_check_run,
    "push": _translate_push,
    "installation": _translate_installation,
}
EVENTS = frozenset(_TRANSLATORS)
"""The events on which the service acts, by their names in ``X-GitHub-Event``."""


def list_actions(event: str, payload: Payload) -> tuple[WebhookAction, ...]:
    """Return the actions for a webhook."""
    return decide_actions(_TRANSLATORS, event, payload)
