"""Defines the causes to which a change can be attributed, and how certain a change and its cause are."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """The cause of a change of level."""

    COMMIT = "commit"
    CONFIG = "config"
    COMMIT_AND_CONFIG = "both"
    """Commit and configuration changed at once, or it is uncertain between which points the change lies."""
    UNKNOWN = "unknown"
    """Neither a commit nor the configuration explains the change."""


class Certainty(StrEnum):
    """How certain a change and its cause are."""

    PROVISIONAL = "provisional"
    """One more run is needed before the change is a fact."""
    COMMIT_RANGE = "range"
    """Several commits could have caused it, or a commit and the configuration."""
    SINGLE_COMMIT = "single"
    """Only one commit could have caused the change."""
    PROVEN = "proven"
    """The commits that caused the change were measured interleaved with their parents."""
    CONFIRMED = "confirmed"
    """The change is a fact, and no commit caused it."""


def decide_certainty(
    cause: Cause, n_candidates: int, *, certain: bool, all_known: bool, proven: bool = False
) -> Certainty:
    """Return how certain a change and its cause are.

    Parameters
    ----------
    n_candidates
        The number of known commits that could have caused the change.
    certain
        Whether the change itself is certain, so that no rerun is needed.
    all_known
        Whether all commits that could have caused the change are known.
    proven
        Whether interleaved pairs have proven the commits that caused it.
    """
    if not certain:
        return Certainty.PROVISIONAL
    if proven:
        return Certainty.PROVEN
    if cause in {Cause.CONFIG, Cause.UNKNOWN}:
        return Certainty.CONFIRMED
    return (
        Certainty.SINGLE_COMMIT if cause is Cause.COMMIT and all_known and n_candidates == 1 else Certainty.COMMIT_RANGE
    )
