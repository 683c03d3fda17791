"""The quarantine of runs: why the samples of a run are stored but not judged.

The samples are in quarantine if their host counted the canary incorrectly, or if they were not measured for the history
of their case.
"""

from enum import StrEnum

from runner.contract.canary import Canary

EXPERIMENT_REASON = "measured outside the history, with settings that a search tried"
"""The reason why a run of a setting search is not judged."""
REUSED = "reused from a run with the same bytes"
"""The reason why the points of a run that was not measured are not evidence: they repeat another run's points."""


class Purpose(StrEnum):
    """The purpose of a run that was not measured for the history of its case."""

    BISECT = "bisect"
    """A search for commits. Such runs cluster around a change, so they would bias the series."""
    PROOF = "proof"
    """A culprit or its parent, measured interleaved until the comparison is decided."""


SEARCH_PURPOSES = {Purpose.BISECT: "measured for a bisect", Purpose.PROOF: "measured for a proof"}
"""The reason, for each purpose, why a run is not judged with the history; a search uses such runs."""
OUTSIDE_HISTORY = (EXPERIMENT_REASON, *SEARCH_PURPOSES.values())
"""The reasons why a run is outside of the history although its host counts correctly."""
REASONS_UNRELATED_TO_HOST = (*OUTSIDE_HISTORY, REUSED)
"""The reasons why a run is not evidence although its host counts correctly."""


def explain_quarantine(
    canary: Canary | None, purpose: Purpose | None, *, is_reused: bool, is_experimental: bool
) -> str:
    """Return why samples are stored but not judged, in one line; empty if they are judged."""
    if canary is not None and not canary.holds:
        return f"this host counted incorrectly before the session: {canary.finding}"
    if purpose is not None:
        return SEARCH_PURPOSES[purpose]
    if is_reused:
        return REUSED
    return EXPERIMENT_REASON if is_experimental else ""
