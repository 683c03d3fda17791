"""Decides which revisions need no further run in an environment: those that were measured, or failed permanently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from runner.contract import Outcome

MAX_ATTEMPTS = 3
"""How often a run that fails for a temporary reason is planned; after that, only if the request says so. A program that
hangs, for example, must not use up its deadline in every plan."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run of the subject on the host, with the fields on which a plan depends."""

    revision: str
    environment: str
    outcome: Outcome
    temporary: bool = False
    """Whether it failed for a reason that may have passed."""
    reused: bool = False
    """Whether its counts are reused from a run with the same bytes."""


def list_settled_revisions(runs: Collection[StoredRun], environment: str, *, retry_failures: bool = False) -> set[str]:
    """Return the revisions that need no further run in an environment: measured, or failed permanently.

    Parameters
    ----------
    retry_failures
        Whether every failed run is tried again.
    """
    measured_revisions = list_measured_revisions(runs, environment)
    if retry_failures:
        return measured_revisions
    runs_here = [run for run in runs if run.environment == environment]
    attempts = Counter(run.revision for run in runs_here if run.temporary)
    given_up = {revision for revision, number in attempts.items() if number >= MAX_ATTEMPTS}
    return measured_revisions | given_up | {run.revision for run in runs_here if not run.temporary}


def list_measured_revisions(runs: Iterable[StoredRun], environment: str) -> set[str]:
    """Return the revisions with a measured run in an environment."""
    return {run.revision for run in runs if run.environment == environment and run.outcome is Outcome.MEASURED}
