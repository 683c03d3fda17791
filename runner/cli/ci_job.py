"""The CI job in which a command runs, by the environment variables that its CI system sets."""

import re
from collections.abc import Mapping

from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from runner.ci.registry import CI_SYSTEMS
from runner.ci.system import CiJob
from runner.contract.gate import Project

_URL = re.compile(r"https?://[^\s<>\"()\[\]]{1,980}")


def detect_ci_job(environment: Mapping[str, str]) -> CiJob:
    """Return the CI job that these variables describe; an empty one if they describe none or name a wrong project."""
    job = next((job for system in CI_SYSTEMS.values() if (job := system.read_job(environment)) is not None), CiJob())
    try:
        TypeAdapter(Project).validate_python(job.repository)
    except ValidationError:
        return CiJob()
    return job if _URL.fullmatch(job.log_url) else replace(job, log_url="")
