"""Decides with which revision a host starts that has never measured a case: the newest one of another host.

The new host probably replaces the other one, so the same revision on both shows what the change of hosts did.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from service.rules.plan.settled_revisions import StoredRun


def choose_first_revision(
    runs: Sequence[StoredRun],
    missing_revisions: Collection[str],
    measured_elsewhere: Collection[str],
    positions: Mapping[str, int],
) -> set[str]:
    """Return the newest revision before the missing ones that another host has measured.

    Nothing is returned if there is none, or if this host has measured the case.
    """
    if runs or not missing_revisions:
        return set()
    first_position = min(positions[revision] for revision in missing_revisions)
    earlier_revisions = [revision for revision in measured_elsewhere if positions[revision] < first_position]
    return {max(earlier_revisions, key=lambda revision: positions[revision])} if earlier_revisions else set()
