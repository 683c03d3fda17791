"""Detects the CI job in which a command runs, by the environment variables that the CI system sets."""

import re
from collections.abc import Mapping

from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from runner.ci.registry import CI_SYSTEMS
from runner.ci.system import CiJob
from runner.contract.gate import Project

_LOG_URL = re.compile(r"https?://[^\s<>\"()\[\]]{1,980}")
"""The address of a job's log. It is limited because the report of a gate accepts at most 1,000 characters."""


def detect_ci_job(environment: Mapping[str, str]) -> CiJob:
    """Return the CI job that environment variables describe; an invalid address of its log is left out.

    The job is empty if the variables describe none, or if its repository is invalid.
    """
    jobs = (system.read_job(environment) for system in CI_SYSTEMS.values())
    job = next((job for job in jobs if job is not None), CiJob())
    try:
        TypeAdapter(Project).validate_python(job.repository)
    except ValidationError:
        return CiJob()
    return job if _LOG_URL.fullmatch(job.log_url) else replace(job, log_url="")
