"""Publishes the outcome of a gate on GitHub: the comment and the check run.

Publishing is idempotent: a comment or check run of an earlier attempt is found and updated.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from github import GithubException
from github.CheckRun import CheckRun
from github.GithubObject import NotSet
from github.Repository import Repository

from service.forges.forge import Publication
from service.forges.github import check_run
from service.forges.github.pull_request_comment import publish_comment


def publish(repository: Repository, publication: Publication, app_id: int) -> int | None:
    """Create or update the comment and the check run; return the comment's id, None if there is no comment.

    The pull request may have a newer head. The check run belongs to its commit, and is published nevertheless. The
    comment belongs to the pull request, and is only updated for the newest head.
    """
    pull = repository.get_pull(publication.number)
    is_newest_head = pull.head.sha == publication.outcome.head
    comment_id = publish_comment(pull, publication, app_id) if is_newest_head else publication.comment_id
    _publish_check_run(repository, publication)
    return comment_id


def _publish_check_run(repository: Repository, publication: Publication) -> None:
    """Create the check run, or complete that of an interrupted attempt."""
    check = check_run.render_check_run(publication.outcome, publication.links)
    batches = check.split_annotations()
    try:
        run = _find_check_run(repository, publication) if publication.attempted else None
        if run is None:
            run = repository.create_check_run(
                check_run.NAME,
                publication.outcome.head,
                details_url=publication.links.compare or publication.links.log or NotSet,
                external_id=publication.key,
                output=_build_output(check, batches[0]),
                status="completed" if len(batches) == 1 else "in_progress",
                conclusion=check.conclusion if len(batches) == 1 else NotSet,
            )
        # The first batch was sent with the check run. GitHub's count shows how many more an earlier attempt sent.
        n_annotations = run.output.annotations_count or 0
        n_sent_batches = max(1, ceil(n_annotations / check_run.ANNOTATIONS_PER_REQUEST))
        for batch in batches[n_sent_batches:]:
            run.edit(output=_build_output(check, batch))
        if run.status != "completed":
            run.edit(status="completed", conclusion=check.conclusion)
    except GithubException as error:
        # A commit that a force-push removed can no longer have a check run.
        if error.status != 422 or "no commit found" not in str(error.message or "").lower():
            raise


def _find_check_run(repository: Repository, publication: Publication) -> CheckRun | None:
    """Return the check run that an earlier attempt has created; None if there is none."""
    runs = repository.get_commit(publication.outcome.head).get_check_runs(check_name=check_run.NAME, filter="all")
    return next((run for run in runs if run.external_id == publication.key), None)


def _build_output(check: check_run.Check, batch: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    return {"title": check.title, "summary": check.summary, "annotations": list(batch)}
