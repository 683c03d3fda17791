"""GitLab CI. GitLab's document "Predefined CI/CD variables reference" describes the variables."""

from collections.abc import Collection, Mapping

from runner.ci.system import CiJob, CiSystem, FileLocation, find_marked_file

_FILE = ".gitlab-ci.yml"
_MAX_NUMBER_DIGITS = 9
"""The largest number of digits in the number of a merge request."""


def _read_job(environment: Mapping[str, str]) -> CiJob | None:
    """Return the running job of GitLab CI, without values if it is for a branch; None outside of GitLab CI.

    A merge request belongs to the project of its target branch, even if the job runs in a fork.
    """
    number = environment.get("CI_MERGE_REQUEST_IID", "")
    repository = environment.get("CI_MERGE_REQUEST_PROJECT_PATH") or environment.get("CI_PROJECT_PATH")
    if environment.get("GITLAB_CI") != "true":
        return None
    if not number.isdecimal() or len(number) > _MAX_NUMBER_DIGITS:
        return CiJob()  # a job for a branch
    return CiJob("gitlab", repository, int(number), log_url=environment.get("CI_JOB_URL", ""))


def _choose_location(files: Collection[str]) -> FileLocation:
    """Return where the CI file is written, and how to include it in an existing one."""
    remark = "register a runner with the shell executor and the tag faultwatch"
    if not find_marked_file(files, _FILE):
        return FileLocation(_FILE, remark)
    path = ".gitlab/faultwatch.yml"
    return FileLocation(path, f"add `include: {{local: {path}}}` to {_FILE}, and {remark}")


GITLAB = CiSystem(
    "gitlab", "gitlab.yml", _choose_location, marker_paths=(_FILE,), server_words=("gitlab",), read_job=_read_job
)
