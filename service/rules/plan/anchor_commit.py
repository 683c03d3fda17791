"""Decides which commit is measured first after an environment has changed, such as after an upgrade: the anchor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runner.contract import Outcome
from service.rules.plan.settled_revisions import StoredRun


def choose_anchor(
    first_missing: str,
    runs: Iterable[StoredRun],
    settled_revisions: set[str],
    environment: str,
    positions: Mapping[str, int],
) -> str | None:
    """Return the anchor: a revision that links the missing ones to another environment; None if none is needed.

    It is the nearest measured revision before them, if it was measured only in other environments. A revision that
    failed in this environment cannot be the anchor. A missing revision that was measured elsewhere is its own anchor.
    """
    end = positions[first_missing]
    # If a revision was measured in this environment and in others, its run in this one sorts last.
    nearest_run = max(
        (
            (positions[run.revision], run.environment == environment, run.revision)
            for run in runs
            if run.outcome is Outcome.MEASURED
            and positions[run.revision] <= end
            and (run.environment == environment or run.revision not in settled_revisions)
        ),
        default=None,
    )
    if nearest_run is None:
        return None
    _, measured_here, revision = nearest_run
    return None if measured_here or revision == first_missing else revision
