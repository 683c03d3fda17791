"""GitHub Actions, on GitHub's machines or on self-hosted runners."""

from collections.abc import Collection, Mapping

from runner.ci.actions_job import is_forgejo, read_actions_job
from runner.ci.system import CiJob, CiSystem, FileLocation, SecondFile

_WORKFLOW = ".github/workflows/faultwatch.yml"


def _read_job(environment: Mapping[str, str]) -> CiJob | None:
    """Return the job of GitHub Actions that runs this command; None elsewhere."""
    if is_forgejo(environment):  # It sets the same variables.
        return None
    return read_actions_job(environment, "github", environment.get("GITHUB_RUN_ID"))


def _choose_hosted_location(_: Collection[str]) -> FileLocation:
    """Return where the workflow for GitHub's own machines is written, with the alternative as the remark."""
    return FileLocation(
        _WORKFLOW,
        "`faultwatch init --ci github` writes the workflow for a machine of your own",
    )


def _choose_location(_: Collection[str]) -> FileLocation:
    """Return where the workflow for self-hosted runners is written, and what to configure on GitHub."""
    return FileLocation(
        _WORKFLOW,
        "register a self-hosted runner with the label faultwatch, and configure GitHub to require approval for the "
        "workflows of all outside contributors",
    )


GITHUB_HOSTED = CiSystem(
    "github-hosted",
    "github-hosted.yml",
    _choose_hosted_location,
    marker_paths=(".github/workflows/",),
    server_words=("github",),
    second_file=SecondFile(".github/workflows/faultwatch-comment.yml", "github-hosted-comment.yml"),
)
GITHUB = CiSystem(
    "github",
    "github.yml",
    _choose_location,
    marker_paths=(".github/workflows/",),
    server_words=("github",),
    read_job=_read_job,
)
