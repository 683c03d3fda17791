"""Writes the comment of a gate with the token of a GitHub Actions job, for projects without a service and its App.

A job for a pull request from a fork has no write access. Therefore, a second workflow runs after the first one. It
executes only code of the repository itself, and reads the report of the first workflow. That report is untrusted: it is
only displayed as text, and it is rejected unless it is about the head that GitHub names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import requests
from github import Auth, Github, GithubException
from github.PullRequest import PullRequest
from github.Repository import Repository
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.contract.gate import GateReport, Project
from service.forges import comment_text
from service.forges.comment_links import build_links
from service.forges.github.client import find_refusal
from service.forges.github.pull_request_comment import find_marked_comment, is_locked, write_comment
from service.forges.retry import is_rate_limited
from service.rules.gate.verdict import judge_gate

JOB_AUTHOR = "github-actions[bot]"
"""The user whose name GitHub gives to comments that are written with the token of a job."""
_TIMEOUT_SECONDS = 30
_FORBIDDEN_STATUSES = frozenset({401, 403})
"""Statuses with which GitHub refuses a token that lacks a permission."""


class _Payload(BaseModel):
    """A part of the payload of an event (GitHub Docs, "Webhook events and payloads")."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Owner(_Payload):
    login: str


class _HeadRepository(_Payload):
    owner: _Owner


class _Head(_Payload):
    sha: str


class _PullRequest(_Payload):
    number: int = Field(ge=1)
    head: _Head


class _WorkflowRun(_Payload):
    head_sha: str
    head_branch: str
    head_repository: _HeadRepository
    html_url: str = ""


class _Event(_Payload):
    pull_request: _PullRequest | None = None
    workflow_run: _WorkflowRun | None = None


class ReportedHead(NamedTuple):
    """The head of a pull request, according to the event that started a job.

    Attributes
    ----------
    commit
        The head that was measured.
    number
        The number of the pull request; None if the event does not name it.
    label
        ``owner:branch`` of the head, by which the pull request is found if the event does not name it.
    log_url
        The address of the workflow run that measured the head; empty if it is the run of this job.
    """

    commit: str
    number: int | None = None
    label: str = ""
    log_url: str = ""


class JobCommentError(Exception):
    """The comment cannot be written; the message says why, in one line."""


def read_event(payload: Mapping[str, Any]) -> ReportedHead | None:
    """Return the head that an event is about; None for an event without a pull request, such as a push.

    Raises
    ------
    JobCommentError
        If the payload lacks a field that GitHub always sends.
    """
    try:
        event = _Event.model_validate(payload)
    except ValidationError as error:
        field_path = ".".join(map(str, error.errors()[0]["loc"]))
        raise JobCommentError(f"the event that started this job has no valid {field_path}") from None
    if event.pull_request:
        return ReportedHead(event.pull_request.head.sha, event.pull_request.number)
    run = event.workflow_run
    if run is not None:
        return ReportedHead(run.head_sha, None, f"{run.head_repository.owner.login}:{run.head_branch}", run.html_url)
    return None


def connect_repository(token: str, api: str, name: Project) -> Repository:
    """Return a repository that is accessed with the token of a job."""
    github = Github(auth=Auth.Token(token), base_url=api, timeout=_TIMEOUT_SECONDS, retry=None, lazy=True)
    return github.get_repo(name)


def write_job_comment(repository: Repository, name: Project, reported_head: ReportedHead, report: GateReport) -> str:
    """Create the comment of a gate on its pull request, or edit that of an earlier job; return its address.

    Returns
    -------
    str
        The address of the comment; empty if no comment was written, because the commit is no longer the head of an open
        pull request.

    Raises
    ------
    JobCommentError
        If the report is about another head, or GitHub refuses the comment or does not answer.
    """
    if report.head != reported_head.commit:
        raise JobCommentError(
            f"the report is about {report.head[:10]}, but the workflow run is about {reported_head.commit[:10]}"
        )
    try:
        pull = _find_pull_request(repository, reported_head)
        if pull is None or pull.head.sha != reported_head.commit:
            return ""
        # No service reads comments, so only a merge can accept the change.
        links = build_links("", report, reads_comments=False, needs_merge=True, log_url=reported_head.log_url)
        marker = comment_text.build_marker(name, pull.number)
        body = comment_text.build_comment(judge_gate(report), links, marker)
        comment = find_marked_comment(pull, marker, lambda comment: comment.user.login == JOB_AUTHOR)
        return write_comment(pull, comment, body).html_url
    except GithubException as error:
        message = (error.data or {}).get("message") or error.message or "no reason was given"
        remedy = "; the job needs `permissions: pull-requests: write`" if _lacks_permission(error) else ""
        raise JobCommentError(f"GitHub answered {error.status}: {message}{remedy}") from None
    except requests.RequestException as error:
        raise JobCommentError(f"GitHub did not answer ({type(error).__name__})") from None


def _lacks_permission(error: GithubException) -> bool:
    """Return whether GitHub has refused a call because of the token, not of a locked conversation or a rate limit."""
    refusal = find_refusal(error)
    is_limited = refusal is not None and is_rate_limited(refusal.headers, refusal.message)
    return error.status in _FORBIDDEN_STATUSES and not is_limited and not is_locked(error)


def _find_pull_request(repository: Repository, reported_head: ReportedHead) -> PullRequest | None:
    """Return the open pull request that an event is about; None if it is no longer open."""
    if reported_head.number is not None:
        pull = repository.get_pull(reported_head.number)
        return pull if pull.state == "open" else None
    candidates = repository.get_pulls(state="open", head=reported_head.label)
    return next((pull for pull in candidates if pull.head.sha == reported_head.commit), None)
