"""Creates or updates the single comment on a GitHub pull request, which is found by its id, or marker and author."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from github import GithubException
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest

from service.forges import comment_text
from service.forges.comment_next_steps import may_offer_bisect
from service.forges.forge import Publication

_GONE_STATUSES = frozenset({404, 410})
"""Statuses of a comment that was deleted."""


def publish_comment(pull: PullRequest, publication: Publication, app_id: int) -> int | None:
    """Create or update the comment; return its id, None if the conversation is locked and has no comment yet."""
    marker = comment_text.build_marker(publication.repository, publication.number)
    links = replace(publication.links, offers_bisect=may_offer_bisect(publication.bisect_policies, pull.commits or 0))
    body = comment_text.build_comment(publication.outcome, links, marker)
    comment = _find_comment(pull, publication, marker, app_id)
    try:
        return write_comment(pull, comment, body).id
    except GithubException as error:
        if error.status in _GONE_STATUSES and comment is not None:  # It was deleted between the two calls.
            return pull.create_issue_comment(body).id
        if is_locked(error):
            return publication.comment_id  # The check run still shows the outcome.
        raise


def write_comment(pull: PullRequest, comment: IssueComment | None, body: str) -> IssueComment:
    """Create the comment, or edit the existing one if its text differs; return it."""
    if comment is None:
        return pull.create_issue_comment(body)
    if comment.body != body:
        comment.edit(body)
    return comment


def is_locked(error: GithubException) -> bool:
    """Return whether GitHub refuses a comment because the conversation is locked."""
    return error.status == 403 and "locked" in str(error.message or "").lower()


def find_marked_comment(pull: PullRequest, marker: str, is_own: Callable[[IssueComment], bool]) -> IssueComment | None:
    """Return the service's own comment with a marker; None if there is none.

    Anybody can copy the marker, so ``is_own`` also checks the author.
    """
    marked_comments = (candidate for candidate in pull.get_issue_comments() if marker in (candidate.body or ""))
    return next((candidate for candidate in marked_comments if is_own(candidate)), None)


def _find_comment(pull: PullRequest, publication: Publication, marker: str, app_id: int) -> IssueComment | None:
    """Return the App's comment, by its known id or else by its marker; None if there is none."""
    if publication.comment_id is not None:
        try:
            return pull.get_issue_comment(publication.comment_id)
        except GithubException as error:
            if error.status not in _GONE_STATUSES:
                raise
    return find_marked_comment(pull, marker, lambda comment: _is_written_by_app(comment, app_id))


def _is_written_by_app(comment: IssueComment, app_id: int) -> bool:
    """Return whether the App wrote a comment: anybody can copy the marker."""
    app: dict[str, Any] = comment.raw_data.get("performed_via_github_app") or {}
    return app.get("id") == app_id if app else comment.user.type == "Bot"
