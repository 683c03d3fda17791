"""Tells GitHub what a gate found. Whatever of it was told before is found again, so doing it twice tells it once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from github import GithubException
from github.CheckRun import CheckRun
from github.GithubObject import NotSet
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository

from service.github import check, comment
from service.rules.gate.insight import Insight
from service.rules.gate.verdict import Finding

_GONE = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class Telling:
    """What is to be told, and where."""

    repository: str
    number: int
    finding: Finding
    links: comment.Links
    comment_id: int | None
    """The comment as it was last known."""
    app_id: int
    key: str
    """What a check run of just this is found by again."""
    tried: bool
    """Whether somebody may have told it before."""

    def seen(self, insights: tuple[Insight, ...]) -> Telling:
        """Return the same with what profiles show."""
        return replace(self, finding=replace(self.finding, insights=insights))


def post(repository: Repository, telling: Telling) -> int | None:
    """Bring comment and check run up to what was found; return the comment's id.

    The head may have moved on meanwhile. The check run belongs to its commit; the comment belongs to the pull request,
    and only tells of the newest head.
    """
    pull = repository.get_pull(telling.number)
    newest = pull.head.sha == telling.finding.head
    comment_id = _comment(pull, telling) if newest else telling.comment_id
    _check(repository, telling)
    return comment_id


def _comment(pull: PullRequest, telling: Telling) -> int | None:
    mark = comment.marker(telling.repository, telling.number)
    body = comment.text(telling.finding, telling.links, mark)
    found = _found(pull, telling, mark)
    try:
        if found is None:
            return pull.create_issue_comment(body).id
        if found.body != body:
            found.edit(body)
        return found.id
    except GithubException as error:
        if error.status in _GONE and found is not None:  # somebody deleted it this very moment
            return pull.create_issue_comment(body).id
        if error.status == 403 and "locked" in str(error.message or "").lower():
            return telling.comment_id  # the conversation is closed to everybody; the check run tells
        raise


def _found(pull: PullRequest, telling: Telling, mark: str) -> IssueComment | None:
    """Return the comment: the one that is remembered, or the one with our mark that we wrote."""
    if telling.comment_id is not None:
        try:
            return pull.get_issue_comment(telling.comment_id)
        except GithubException as error:
            if error.status not in _GONE:
                raise
    return next((one for one in pull.get_issue_comments() if mark in one.body and _ours(one, telling.app_id)), None)


def _ours(one: IssueComment, app_id: int) -> bool:
    """Whether the App wrote a comment: anybody can copy a mark."""
    app: dict[str, Any] = one.raw_data.get("performed_via_github_app") or {}
    return app.get("id") == app_id if app else one.user.type == "Bot"


def _check(repository: Repository, telling: Telling) -> None:
    """Make a check run for what was found, or go on where making it was interrupted."""
    told = check.check(telling.finding, telling.links)
    batches = told.batches()
    try:
        run = _made(repository, telling) if telling.tried else None
        if run is None:
            run = repository.create_check_run(
                check.NAME,
                telling.finding.head,
                details_url=telling.links.compare or telling.links.log or NotSet,
                external_id=telling.key,
                output=_output(told, batches[0]),
                status="completed" if len(batches) == 1 else "in_progress",
                conclusion=told.conclusion if len(batches) == 1 else NotSet,
            )
        sent = max(1, -(-(run.output.annotations_count or 0) // check.BATCH))
        for batch in batches[sent:]:
            run.edit(output=_output(told, batch))
        if run.status != "completed":
            run.edit(status="completed", conclusion=told.conclusion)
    except GithubException as error:
        # A commit that a force-push threw away can have no check run any more.
        if error.status != 422 or "no commit found" not in str(error.message or "").lower():
            raise


def _made(repository: Repository, telling: Telling) -> CheckRun | None:
    runs = repository.get_commit(telling.finding.head).get_check_runs(check_name=check.NAME, filter="all")
    return next((run for run in runs if run.external_id == telling.key), None)


def _output(told: check.Check, batch: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"title": told.title, "summary": told.summary, "annotations": list(batch)}
