"""GitHub Actions."""

from collections.abc import Collection, Mapping

from runner.ci.actions_job import actions_job, is_forgejo
from runner.ci.system import CiJob, CiSystem, Place


def _job(environment: Mapping[str, str]) -> CiJob | None:
    return None if is_forgejo(environment) else actions_job(environment, "github", environment.get("GITHUB_RUN_ID"))


def _place(_: Collection[str]) -> Place:
    return Place(
        ".github/workflows/faultwatch.yml",
        "register a self-hosted runner with the label faultwatch, and configure GitHub to require approval for the "
        "workflows of all outside contributors",
    )


GITHUB = CiSystem("github", "github.yml", _place, marks=(".github/workflows/",), servers=("github",), job=_job)
