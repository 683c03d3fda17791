"""Says in a few words what a job is, for lines that name it to somebody who waits for it. Pure."""

from __future__ import annotations

from service.rules.jobs.automatic_acts import SERVICE

_KINDS = {"measure": "a measurement", "bisect": "a bisect", "profile": "a profile", "remedy": "a trial of settings"}


def job_words(kind: str, case: str, asked_by: str) -> str:
    """Return what a job is and who ordered it: ``a profile of copy[mib=8], which the service ordered by itself``."""
    by = "the service ordered by itself" if asked_by == SERVICE else f"{asked_by} ordered" if asked_by else ""
    return f"{_KINDS.get(kind, 'a job')} of {case}{f', which {by}' if by else ''}"


def how_to_go_first(job_id: int) -> str:
    """Return the command by which somebody who waits for a job goes first."""
    return f"`faultwatch job pause {job_id}` lets others go first"
