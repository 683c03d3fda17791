"""The CI job in which a command runs, by the variables that GitHub, GitLab and Forgejo set. Pure.

They are described in GitHub Docs, "Variables reference"; in GitLab, "Predefined CI/CD variables reference"; and in
Forgejo, "Actions: variables", whose runner sets those of GitHub too.
"""

import re
from collections.abc import Mapping

from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from runner.contract.gate import ForgeKind, Project

_PULL = re.compile(r"refs/pull/([1-9][0-9]{0,8})/(?:merge|head)")
_QUEUE = re.compile(r"refs/heads/gh-readonly-queue/.+/pr-([1-9][0-9]{0,8})-[0-9a-f]{40,64}")
"""How GitHub names the branch of a pull request in a merge queue."""
_ADDRESS = re.compile(r"https?://[^\s<>\"()\[\]]{1,980}")


class CiJob(Struct, frozen=True):
    """A job, as far as a gate's report tells of it.

    Attributes
    ----------
    repository
        None outside of a forge's CI.
    pull_request
        None where the variables name none: the service then finds it by its head.
    merge_group
        Whether it runs for a merge queue.
    log_url
        Address of its log; empty where that is not known.
    """

    forge: ForgeKind = ForgeKind.GITHUB
    repository: str | None = None
    pull_request: int | None = None
    merge_group: bool = False
    log_url: str = ""


def ci_job(environment: Mapping[str, str]) -> CiJob:
    """Return the job that these variables describe."""
    if environment.get("GITLAB_CI") == "true":
        job = _gitlab(environment)
    elif environment.get("GITHUB_ACTIONS") == "true":
        job = _actions(environment)
    else:
        return CiJob()
    try:
        TypeAdapter(Project).validate_python(job.repository)
    except ValidationError:
        return CiJob()
    return job


def _gitlab(environment: Mapping[str, str]) -> CiJob:
    """Return a job of GitLab. Of a merge request from a fork, the target's project has the merge request."""
    number = environment.get("CI_MERGE_REQUEST_IID", "")
    repository = environment.get("CI_MERGE_REQUEST_PROJECT_PATH") or environment.get("CI_PROJECT_PATH")
    if not number.isdecimal() or len(number) > 9:
        return CiJob()  # a job of a branch
    return CiJob(ForgeKind.GITLAB, repository, int(number), log_url=_address(environment.get("CI_JOB_URL", "")))


def _actions(environment: Mapping[str, str]) -> CiJob:
    """Return a job of GitHub Actions, or of Forgejo's or Gitea's."""
    is_forgejo = "true" in {environment.get("FORGEJO_ACTIONS"), environment.get("GITEA_ACTIONS")}
    forge = ForgeKind.FORGEJO if is_forgejo else ForgeKind.GITHUB
    repository, ref = environment.get("GITHUB_REPOSITORY"), environment.get("GITHUB_REF", "")
    queued = _QUEUE.fullmatch(ref) if environment.get("GITHUB_EVENT_NAME") == "merge_group" else None
    number = queued or _PULL.fullmatch(ref)
    # Forgejo's pages count the runs of a repository, GitHub's those of all.
    run = environment.get("GITHUB_RUN_NUMBER" if is_forgejo else "GITHUB_RUN_ID")
    server = environment.get("GITHUB_SERVER_URL")
    log = _address(f"{server}/{repository}/actions/runs/{run}") if server and run else ""
    # Without a number, the job was ordered by the service and runs on a branch: it finds the pull request by its head.
    return CiJob(forge, repository, int(number[1]) if number else None, queued is not None, log)


def _address(text: str) -> str:
    return text if _ADDRESS.fullmatch(text) else ""
