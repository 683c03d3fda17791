"""Decides which revisions are measured to separate the effect of a commit from that of the configuration or the host.

A revision is measured in another environment, or once more where it lies between the two changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from runner.contract import Reason
from service.rules.plan.first_run_on_host import choose_first_revision
from service.rules.plan.reruns import MAX_RERUNS
from service.rules.plan.settled_revisions import StoredRun
from service.schemas.history import Cause, Drift


def choose_cross_measured_runs(
    runs: Sequence[StoredRun],
    settled_revisions: set[str],
    requested_runs: Sequence[tuple[str, Reason]],
    positions: Mapping[str, int],
    *,
    cross_measured_revisions: frozenset[str],
    measured_elsewhere: frozenset[str],
) -> Sequence[tuple[str, Reason]]:
    """Return the revisions to measure for a cross-measurement, without those that failed in this environment.

    If the host has never measured the case, they include the revision with which it starts.

    Parameters
    ----------
    settled_revisions
        The revisions that need no further run in this environment.
    requested_runs
        The runs that the plan contains already.
    cross_measured_revisions, measured_elsewhere
        As in :class:`service.rules.plan.run_plan.Orders`.
    """
    missing_revisions = [revision for revision, reason in requested_runs if reason is Reason.MISSING]
    revisions = cross_measured_revisions | choose_first_revision(runs, missing_revisions, measured_elsewhere, positions)
    revisions -= settled_revisions | {revision for revision, _ in requested_runs}
    return [(revision, Reason.CROSS_MEASUREMENT) for revision in sorted(revisions)]


def choose_dividing_revision(
    dividing_revisions: frozenset[str],
    measured_revisions: Collection[str],
    attempts: Mapping[str, int],
    positions: Mapping[str, int],
) -> Sequence[tuple[str, Reason]]:
    """Return the revision to measure again so as to divide a change made by commit and configuration together.

    It is the one with the fewest runs; none if each was measured again often enough.

    Parameters
    ----------
    dividing_revisions
        The revisions whose levels would divide the change.
    measured_revisions
        The revisions that were measured in the environment of the request.
    attempts
        How often each revision was run in this environment.
    """
    revisions = [
        revision for revision in dividing_revisions & set(measured_revisions) if attempts[revision] <= MAX_RERUNS
    ]
    revisions.sort(key=lambda revision: (attempts[revision], positions[revision]))
    return [(revision, Reason.CROSS_MEASUREMENT) for revision in revisions[:1]]


def list_dividing_runs(drift: Drift) -> list[tuple[str, str]]:
    """Return the runs that may divide a drift that commit and configuration made together: revisions and environments.

    If the two runs next to such a drift share the revision or the environment, one of them lies between the two changes
    and shows the effect of one without the other. But a level of its own takes more than one run.
    """
    if drift.cause is not Cause.COMMIT_AND_CONFIG:
        return []
    before = drift.previous_revision, drift.environment_before
    after = drift.revision, drift.environment_after
    if drift.environment_before == drift.environment_after:
        return [before, after]
    if drift.previous_revision != drift.revision:
        return []
    # The run between the changes has the old revision in the new environment, or the new one in the old environment.
    return [after if drift.revision == drift.good else before]
