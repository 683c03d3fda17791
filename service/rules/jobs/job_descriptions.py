"""Describes jobs in words."""

from __future__ import annotations

SERVICE = "service"
"""The value of ``asked_by`` if the service ordered a job."""
_KIND_WORDS = {
    "measure": "a measurement",
    "bisect": "a bisect",
    "profile": "a profile",
    "remedy": "a settings trial",
}


def describe_job(kind: str, case: str, asked_by: str) -> str:
    """Return what a job is and who ordered it: ``a profile of copy[mib=8], which the service ordered``.

    If ``asked_by`` is empty, nobody is named.
    """
    description = f"{_KIND_WORDS.get(kind, 'a job')} of {case}"
    if not asked_by:
        return description
    author = "the service" if asked_by == SERVICE else asked_by
    return f"{description}, which {author} ordered"


def suggest_command_to_go_first(job_id: int) -> str:
    """Return a clause with the command that pauses a job, so that somebody who waits for its host can go first."""
    return f"`faultwatch job pause {job_id}` frees the host"
