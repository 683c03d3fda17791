"""Groups drifts that can have a common cause: the same kind of cause, at the same location.

The location of a drift caused by a commit is a stretch of commits, one of which is the cause. The location of any other
drift is a stretch of time on the hosts, between the run before and the run after. Drifts can have the same cause only
if all their stretches share a point, so a stretch that overlaps two others does not join them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from service.schemas.history import Cause, Number


@dataclass(frozen=True, slots=True)
class LocatedDrift:
    """A drift of an event with its location, and the facts that determine the lifecycle of the event.

    Attributes
    ----------
    drift_id
        The id of the drift.
    series
        The series in which it was found; a shift of a whole suite has none and is identified by its own id.
    cause, detail
        The kind of cause; and the settings that changed, or for an unknown cause the host.
    first, last
        Range of the positions of the candidates; for a configuration change, the positions where it was seen.
    since, until
        The range of time in which it happened, in seconds.
    before, after
        The two levels.
    spread
        Largest minus smallest sample within a level.
    worse
        Whether it is a regression.
    revision
        The first commit on the new level.
    change
        Author and title of the last candidate, which stay the same if a branch is rewritten.
    patch
        The patch id of the last candidate, which stays the same unless its content changes; empty if it is unknown.
    returned
        Whether it is stored as the recurrence of an event that was resolved.
    event
        The event to which it belongs in the store; None for a new drift.
    still_detected
        Whether it is still detected.
    is_certain
        Whether it is a fact; otherwise it is only suspected.
    """

    drift_id: str
    series: int | str
    cause: Cause
    detail: str
    first: int
    last: int
    since: float
    until: float
    before: Number
    after: Number
    spread: Number
    worse: bool
    revision: str
    change: str = ""
    patch: str = ""
    returned: bool = False
    event: str | None = None
    still_detected: bool = True
    is_certain: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """The part of the group key that does not depend on the location."""
        return self.cause.value, self.detail

    @property
    def is_suite_shift(self) -> bool:
        """Whether the drift is a shift of a whole suite, which has no series."""
        return isinstance(self.series, str)

    @property
    def stretch(self) -> tuple[float, float]:
        """The location: from one commit to another, or from one time to another."""
        return (
            (self.first, self.last)
            if self.cause in {Cause.COMMIT, Cause.COMMIT_AND_CONFIG}
            else (self.since, self.until)
        )

    @property
    def order(self) -> tuple[int, float, str]:
        """The sort key among the drifts of a series."""
        return self.last, self.until, self.drift_id


DriftGroup = tuple[LocatedDrift, ...]


def group_drifts(drifts: Iterable[LocatedDrift]) -> list[DriftGroup]:
    """Return the groups of drifts that form events, in the order of the history; the order of ``drifts`` is ignored."""
    drifts_by_key: dict[tuple[str, str], list[LocatedDrift]] = defaultdict(list)
    for drift in drifts:
        drifts_by_key[drift.key].append(drift)
    groups = [group for same_key in drifts_by_key.values() for group in _group_overlapping(same_key)]
    sorted_groups = (tuple(sorted(group, key=lambda drift: drift.order)) for group in groups)
    return sorted(sorted_groups, key=lambda group: group[0].order)


def do_overlap(left: tuple[float, float], right: tuple[float, float]) -> bool:
    """Return whether two stretches share a point."""
    return left[0] <= right[1] and right[0] <= left[1]


def may_be_same_drift(left: LocatedDrift, right: LocatedDrift) -> bool:
    """Return whether two drifts of one series, from different detections, can be the same despite different causes."""
    # If commits are among both causes, their ranges decide; otherwise the times, unless one is caused only by a commit.
    commits = {Cause.COMMIT, Cause.COMMIT_AND_CONFIG}
    if left.cause in commits and right.cause in commits:
        return do_overlap((left.first, left.last), (right.first, right.last))
    if Cause.COMMIT in {left.cause, right.cause}:
        return False
    return do_overlap((left.since, left.until), (right.since, right.until))


def _group_overlapping(drifts: Iterable[LocatedDrift]) -> Iterable[list[LocatedDrift]]:
    """Yield the smallest number of groups such that all stretches of a group share a point.

    The stretches are sorted by their ends; each group takes all that begin before its first stretch ends.
    """
    group: list[LocatedDrift] = []
    end = float("-inf")  # of the first stretch of the group
    for drift in sorted(drifts, key=lambda drift: (drift.stretch[1], drift.drift_id)):
        if group and drift.stretch[0] > end:
            yield group
            group = []
        if not group:
            end = drift.stretch[1]
        group.append(drift)
    if group:
        yield group
