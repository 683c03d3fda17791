"""Reads the variables of an Actions job, at GitHub, Forgejo or Gitea: the runners of all three set GitHub's variables.

The variables are described in GitHub Docs, "Variables reference", and in Forgejo's "Actions: variables".
"""

import re
from collections.abc import Mapping

from runner.ci.system import CiJob

_PULL_REF = re.compile(r"refs/pull/([1-9][0-9]{0,8})/(?:merge|head)")
_MERGE_QUEUE_REF = re.compile(r"refs/heads/gh-readonly-queue/.+/pr-([1-9][0-9]{0,8})-[0-9a-f]{40,64}")
"""The branch of a pull request in a merge queue of GitHub."""


def is_forgejo(environment: Mapping[str, str]) -> bool:
    """Return whether the job runs on Forgejo or Gitea."""
    return "true" in {environment.get("FORGEJO_ACTIONS"), environment.get("GITEA_ACTIONS")}


def read_actions_job(environment: Mapping[str, str], forge: str, run: str | None) -> CiJob | None:
    """Return the running job of GitHub Actions or of a compatible system; None outside of such a job.

    Parameters
    ----------
    forge
        The forge, a value of :class:`runner.contract.gate.ForgeKind`.
    run
        The identifier of the run in its URL; None if it is unknown, and the job then has no address of its log.
    """
    if environment.get("GITHUB_ACTIONS") != "true":
        return None
    repository, ref = environment.get("GITHUB_REPOSITORY"), environment.get("GITHUB_REF", "")
    queue_match = _MERGE_QUEUE_REF.fullmatch(ref) if environment.get("GITHUB_EVENT_NAME") == "merge_group" else None
    number_match = queue_match or _PULL_REF.fullmatch(ref)
    server = environment.get("GITHUB_SERVER_URL")
    log_url = f"{server}/{repository}/actions/runs/{run}" if server and run else ""
    # A job on a branch has no number, for example one that the service has ordered. The service then finds the pull
    # request by its head commit.
    return CiJob(forge, repository, int(number_match[1]) if number_match else None, queue_match is not None, log_url)
