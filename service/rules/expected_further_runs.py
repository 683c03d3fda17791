"""Decides whether further runs of a case can be expected from a host, and describes what follows for a drift."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MAX_HOST_SILENCE = timedelta(days=14)
"""A host that has not reported for longer than this is not expected to measure anything."""


@dataclass(frozen=True, slots=True)
class CaseOnHost:
    """The facts about a case on a host that decide whether further runs can come.

    Attributes
    ----------
    imported
        Whether its results were imported, so that no host measures them.
    last_seen
        When the host ended its newest run; None if it has none.
    """

    host: str
    imported: bool
    last_seen: datetime | None

    def expects_runs(self, now: datetime) -> bool:
        """Return whether further runs can be expected."""
        return not self.imported and self.last_seen is not None and self.last_seen >= now - MAX_HOST_SILENCE


def describe_end_of_doubt(case: CaseOnHost, now: datetime) -> str:
    """Return what ends the doubt about a drift that is not confirmed, or why nothing does."""
    if case.imported:
        return "These results were imported, so only an import of later results can confirm the change."
    if not case.expects_runs(now):
        return f"{_describe_silence(case)}, so no further run is expected to confirm the change."
    return f"The next runs on {case.host}, or interleaved pairs of its commits, can show whether the change lasts."


def explain_missing_bisect(case: CaseOnHost, now: datetime) -> str:
    """Return why the host of a drift cannot bisect it; empty if it can, or if the results were imported."""
    if case.imported or case.expects_runs(now):
        return ""
    return f"{_describe_silence(case)}, so it cannot be asked to bisect. The command works on any host."


def _describe_silence(case: CaseOnHost) -> str:
    since = f"since {case.last_seen:%Y-%m-%d}" if case.last_seen else "yet"
    return f"{case.host} has not reported {since}"
