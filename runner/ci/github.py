"""GitHub Actions."""

from collections.abc import Collection, Mapping

from runner.ci.actions_job import is_forgejo, read_actions_job
from runner.ci.system import CiJob, CiSystem, Place


def _read_job(environment: Mapping[str, str]) -> CiJob | None:
    return (
        None if is_forgejo(environment) else read_actions_job(environment, "github", environment.get("GITHUB_RUN_ID"))
    )


def _choose_place(_: Collection[str]) -> Place:
    """Return where the workflow is written, and what else GitHub needs."""
    return Place(
        ".github/workflows/faultwatch.yml",
        "register a self-hosted runner with the label faultwatch, and configure GitHub to require approval for the "
        "workflows of all outside contributors",
    )


GITHUB = CiSystem(
    "github", "github.yml", _choose_place, marks=(".github/workflows/",), servers=("github",), job=_read_job
)
