"""Decomposes the change of a metric between two releases into the drifts that caused it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from service.releases.schemas import ReleaseChange, ReleasePart
from service.rules.relative_change import compute_percent_change, is_mostly_suspected
from service.schemas.certainty import Certainty, decide_certainty
from service.schemas.history import Cause, Drift, Number


@dataclass(frozen=True, slots=True)
class EventOfDrift:
    """The event of a drift: its id, and the commits that a bisect has proven."""

    id: str
    culprits: tuple[str, ...]
    blamed: str


def is_between(drift: Drift, commits_between: Collection[str], base: str) -> bool:
    """Return whether a drift can lie between two releases.

    Parameters
    ----------
    commits_between
        The commits that the second release contains, but not the first.
    base
        The first release. A configuration change that was measured at this commit counts as after it.
    """
    if drift.cause in {Cause.COMMIT, Cause.COMMIT_AND_CONFIG} and drift.candidates:
        return any(candidate.commit in commits_between for candidate in drift.candidates)
    return drift.revision in commits_between or (drift.cause is not Cause.COMMIT and drift.revision == base)


def decompose_change(
    levels: tuple[Number, Number], drifts: Sequence[tuple[Drift, EventOfDrift | None]]
) -> ReleaseChange:
    """Return the net change of one series with its parts: first those of commits, then those of the configuration.

    The rest is the net change minus the sum of the parts: drifts across one of the releases, small steps, and noise.

    Parameters
    ----------
    levels
        The levels of both releases, the older first.
    drifts
        The drifts of the series between them, at least one, in the order of the history; each with its event.
    """
    before, after = levels
    net = after - before
    parts = [_build_part(drift, event) for drift, event in drifts]
    certain = [part.change for part in parts if part.certainty is not Certainty.PROVISIONAL]
    suspected = [part.change for part in parts if part.certainty is Certainty.PROVISIONAL]
    any_drift, _ = drifts[0]  # all drifts have the names of the series
    return ReleaseChange(
        series_id=any_drift.series_id,
        case=any_drift.case,
        host=any_drift.host,
        metric=any_drift.metric,
        unit=any_drift.unit,
        before=before,
        after=after,
        change=net,
        percent=compute_percent_change(net, before),
        commits=[part for part in parts if not part.configuration],
        configuration=[part for part in parts if part.configuration],
        rest=net - sum(part.change for part in parts),
        undecided=bool(net) and is_mostly_suspected(net, certain, suspected),
    )


def choose_leading_part(parts: Sequence[ReleasePart], net_change: Number) -> ReleasePart:
    """Return the part that comes nearest to a net change, of those in its direction if there are any.

    The largest part may have been undone, and then explains nothing of what remains.
    """
    same_direction = [part for part in parts if part.change * net_change > 0]
    return min(same_direction or parts, key=lambda part: (abs(net_change - part.change), -abs(part.change)))


def _build_part(drift: Drift, event: EventOfDrift | None) -> ReleasePart:
    """Return a drift as a part of a change, named after its proven commits, its candidates or its settings."""
    is_proven = event is not None and bool(event.culprits)
    part_certainty = decide_certainty(
        drift.cause,
        len(drift.candidates),
        certain=not drift.evidence.wants_rerun,
        all_known=drift.candidates_known,
        proven=is_proven,
    )
    commits: list[str] = []
    if event is not None and is_proven:
        name, commits = event.blamed, list(event.culprits)
    else:
        name = drift.cause_words
        if part_certainty in {Certainty.SINGLE_COMMIT, Certainty.PROVEN}:
            commits = [candidate.commit for candidate in drift.candidates]
    return ReleasePart(
        drift_id=drift.id,
        event_id=event.id if event else None,
        cause=drift.cause,
        certainty=part_certainty,
        name=name,
        commits=commits,
        change=drift.change,
        direction=drift.direction,
        configuration=drift.cause in {Cause.CONFIG, Cause.UNKNOWN},
    )
