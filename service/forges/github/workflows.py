"""Starts workflows of GitHub Actions."""

from __future__ import annotations

from github import GithubException
from github.Repository import Repository

from service.forges.github.settings import GithubSettings
from service.text.markdown import format_code

_MEASURE_WORKFLOW = "measure.yml"
"""The workflow that measures a revision."""


def dispatch_workflow(repository: Repository, workflow: str, inputs: dict[str, str]) -> str:
    """Start a workflow of the default branch; return why GitHub refuses, or an empty text if it was started."""
    try:
        repository.get_workflow(workflow).create_dispatch(repository.default_branch, inputs, throw=True)
    except GithubException as error:
        if error.status not in {404, 422}:  # The workflow does not exist, or has other inputs.
            raise
        return f"This repository has no workflow {format_code(workflow)} that accepts the service's inputs."
    return ""


def build_push_inputs(revision: str, address: str) -> dict[str, str]:
    """Return the inputs of the workflow that measures a pushed revision: the revision, and the service to report to."""
    return {"revision": revision, "service": address}


def measure_push(repository: Repository, revision: str, address: str) -> None:
    """Start the workflow that measures a pushed revision and reports to an address, if the repository has one."""
    dispatch_workflow(repository, _MEASURE_WORKFLOW, build_push_inputs(revision, address))


def measure_head(repository: Repository, number: int | None, head: str, settings: GithubSettings) -> None:
    """Start the workflow that measures a head, if it is still the head of an open pull request.

    Nothing happens if the repository has no such workflow.

    Parameters
    ----------
    repository
        The repository of the pull request.
    number
        The pull request; None if it is not known.
    head
        The commit to measure.
    settings
        The settings of the App, which name the workflow.
    """
    pulls = None if number is None else [repository.get_pull(number)]
    for pull in pulls or repository.get_commit(head).get_pulls():
        if pull.state == "open" and pull.head.sha == head:
            dispatch_workflow(repository, settings.workflow, {"base": pull.base.sha, "head": head})
            return
