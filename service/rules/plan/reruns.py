"""Decides which revision is measured again while it is uncertain whether the newest runs show a new level."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runner.contract import Reason

MAX_RERUNS = 8
"""How often a revision is measured again at most while a drift is in doubt. After that, the runs of the next commits
decide. A series without outliers needs 3 to 8 runs at the new level: the longer the old level is known, the fewer.
"""
_RULES_DECIDED_BY_PAIRS = frozenset({"nominated"})
"""Rules whose suspected drifts are decided by interleaved pairs, which take fewer runs than reruns."""


def choose_rerun(
    measured_revisions: Collection[str],
    attempts: Mapping[str, int],
    requested_runs: Sequence[tuple[str, Reason]],
    positions: Mapping[str, int],
    *,
    in_doubt: bool,
    revision_before: str | None,
) -> Sequence[tuple[str, Reason]]:
    """Return a revision to measure again if the newest level is in doubt; none if the plan has a later revision anyway.

    The newest measured revision is measured again, or a revision on the previous level if fewer runs show the previous
    level than the new one. A level that a single run shows may be an outlier, however many runs follow. Failed attempts
    count too: otherwise a program that has begun to fail would be run again forever.

    Parameters
    ----------
    measured_revisions
        The revisions that were measured in the environment of the request.
    attempts
        How often each revision was run in this environment.
    in_doubt, revision_before
        As in :class:`service.rules.plan.run_plan.Orders`.
    """
    if not measured_revisions:
        return []
    newest_revision = max(measured_revisions, key=lambda revision: positions[revision])
    if any(
        reason is Reason.MISSING and positions[revision] > positions[newest_revision]
        for revision, reason in requested_runs
    ):
        return []
    for revision in (revision_before, newest_revision if in_doubt else None):
        if revision is not None and revision in measured_revisions and attempts[revision] <= MAX_RERUNS:
            is_requested = any(revision == requested_revision for requested_revision, _ in requested_runs)
            return [] if is_requested else [(revision, Reason.RERUN)]
    return []


@dataclass(frozen=True, slots=True)
class DriftEnd:
    """The end of a stored drift, with the fields on which a plan depends.

    Attributes
    ----------
    series, environment
        Series and environment of the first run at the new level.
    position
        Position of its revision in the subject's history.
    in_doubt
        Whether the drift is in doubt.
    revision_before
        See :attr:`service.rules.plan.run_plan.Orders.revision_before`.
    """

    series: int
    environment: str
    position: int
    in_doubt: bool
    revision_before: str | None = None


def build_drift_end(
    series: int, position: int, document: Mapping[str, Any], alike_environments: frozenset[str]
) -> DriftEnd:
    """Return the end of a drift, from its stored document.

    Parameters
    ----------
    alike_environments
        The environment of the request, and the environments that are proven to have the same counts.
    """
    return DriftEnd(
        series=series,
        environment=document["environment_after"],
        position=position,
        in_doubt=document["evidence"]["wants_rerun"] and document["rule"] not in _RULES_DECIDED_BY_PAIRS,
        revision_before=_find_revision_before(document, alike_environments),
    )


def _find_revision_before(document: Mapping[str, Any], alike_environments: frozenset[str]) -> str | None:
    """Return the newest revision before a drift if the level before has fewer runs than the level after.

    None if the level before was measured in another environment, or if this revision has runs on both levels, so that
    another run could belong to either level.
    """
    evidence = document["evidence"]
    if document["environment_before"] not in alike_environments or evidence["n_before"] >= evidence["n_after"]:
        return None
    if document["previous_revision"] == document["revision"] and document["environment_after"] in alike_environments:
        return None
    # last_good is certainly on the level before; if the position of the change is uncertain, previous_revision is not.
    return document.get("last_good") or str(document["previous_revision"])


def list_newest_drifts_in_doubt(drifts: Iterable[DriftEnd]) -> list[DriftEnd]:
    """Return the newest drift of each series in each environment if it is in doubt, so that more runs can settle it.

    If the level has changed again after a drift, more runs of the newest revision say nothing about this drift.
    """
    newest_drifts: dict[tuple[int, str], DriftEnd] = {}
    for drift in drifts:
        key = drift.series, drift.environment
        newest_drift = newest_drifts.get(key)
        if newest_drift is None or (newest_drift.position, newest_drift.in_doubt) < (drift.position, drift.in_doubt):
            newest_drifts[key] = drift
    return [drift for drift in newest_drifts.values() if drift.in_doubt]
