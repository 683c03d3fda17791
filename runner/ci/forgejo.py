"""Actions of Forgejo and Gitea."""

from collections.abc import Collection, Mapping

from runner.ci.actions_job import is_forgejo, read_actions_job
from runner.ci.system import CiJob, CiSystem, Place, find_marked_file


def _read_job(environment: Mapping[str, str]) -> CiJob | None:
    """Return the job of Forgejo Actions that runs this command; None elsewhere."""
    if not is_forgejo(environment):
        return None
    # Forgejo's pages count the runs of a repository, GitHub's those of all.
    return read_actions_job(environment, "forgejo", environment.get("GITHUB_RUN_NUMBER"))


def _choose_place(files: Collection[str]) -> Place:
    folder = ".gitea" if find_marked_file(files, ".gitea/") else ".forgejo"
    return Place(f"{folder}/workflows/faultwatch.yml", "register a runner with the label faultwatch:host")


FORGEJO = CiSystem(
    "forgejo",
    "forgejo.yml",
    _choose_place,
    marks=(".forgejo/", ".gitea/"),
    servers=("forgejo", "codeberg", "gitea"),
    job=_read_job,
)
