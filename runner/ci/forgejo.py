"""Actions of Forgejo and Gitea."""

from collections.abc import Collection, Mapping

from runner.ci.actions_job import actions_job, is_forgejo
from runner.ci.system import CiJob, CiSystem, Place, has_mark


def _job(environment: Mapping[str, str]) -> CiJob | None:
    if not is_forgejo(environment):
        return None
    # Forgejo's pages count the runs of a repository, GitHub's those of all.
    return actions_job(environment, "forgejo", environment.get("GITHUB_RUN_NUMBER"))


def _place(files: Collection[str]) -> Place:
    folder = ".gitea" if has_mark(files, ".gitea/") else ".forgejo"
    return Place(f"{folder}/workflows/faultwatch.yml", "register a runner with the label faultwatch:host")


FORGEJO = CiSystem(
    "forgejo",
    "forgejo.yml",
    _place,
    marks=(".forgejo/", ".gitea/"),
    servers=("forgejo", "codeberg", "gitea"),
    job=_job,
)
