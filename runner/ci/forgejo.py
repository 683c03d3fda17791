"""Actions of Forgejo and Gitea."""

from collections.abc import Collection, Mapping

from runner.ci.actions_job import is_forgejo, read_actions_job
from runner.ci.system import CiJob, CiSystem, FileLocation, find_marked_file


def _read_job(environment: Mapping[str, str]) -> CiJob | None:
    """Return the job of Forgejo Actions that runs this command; None elsewhere."""
    if not is_forgejo(environment):
        return None
    # Forgejo's URLs contain the number of the run in the repository, GitHub's the global id of the run.
    return read_actions_job(environment, "forgejo", environment.get("GITHUB_RUN_NUMBER"))


def _choose_location(files: Collection[str]) -> FileLocation:
    """Return where the workflow is written: in Gitea's folder if the project has one, otherwise in Forgejo's."""
    folder = ".gitea" if find_marked_file(files, ".gitea/") else ".forgejo"
    return FileLocation(f"{folder}/workflows/faultwatch.yml", "register a runner with the label faultwatch:host")


FORGEJO = CiSystem(
    "forgejo",
    "forgejo.yml",
    _choose_location,
    marker_paths=(".forgejo/", ".gitea/"),
    server_words=("forgejo", "codeberg", "gitea"),
    read_job=_read_job,
)
