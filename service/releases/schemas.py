"""Models of the changes between two releases."""

from __future__ import annotations

from runner.contract import get_metric
from service.schemas.certainty import Certainty
from service.schemas.history import Cause, Direction, Number, View


class ReleasePart(View):
    """A drift between two releases."""

    drift_id: str
    event_id: str | None
    cause: Cause
    certainty: Certainty
    name: str
    """The cause: the only possible commit, the commits that a bisect has proven, or the settings; otherwise the number
    of possible commits."""
    commits: list[str]
    """The only candidate, or the commits that a bisect has proven; empty if the commits are unknown."""
    change: Number
    direction: Direction
    configuration: bool
    """Whether the configuration, not a commit, caused the drift."""


class ReleaseChange(View):
    """The change of one series between two releases."""

    series_id: int
    case: str
    host: str
    metric: str
    unit: str
    before: Number
    after: Number
    change: Number
    percent: float | None
    commits: list[ReleasePart]
    """The drifts that commits caused, in the order of the history."""
    configuration: list[ReleasePart]
    """The drifts that the configuration caused."""
    rest: Number
    """The part of the change that the drifts do not explain."""
    undecided: bool
    """Whether the levels differ, but most of the change rests on suspected drifts, so further runs will decide."""

    @property
    def direction(self) -> Direction | None:
        """Whether the change is for the worse; None if there is none, or if it is undecided."""
        if not self.change or self.undecided:
            return None
        is_worse = (self.change > 0) != (get_metric(self.metric).better == "higher")
        return Direction.REGRESSION if is_worse else Direction.IMPROVEMENT


class ReleaseSide(View):
    """One of two releases."""

    name: str
    """The name of the release in the address."""
    commit: str
    title: str
    measured: str | None
    """The newest measured commit that the release contains; None if none has been measured."""


class Releases(View):
    """What changed between two releases, the largest change first; those that are undecided come after the others."""

    subject: str
    base: ReleaseSide
    head: ReleaseSide
    commits: int
    """The number of commits that the head contains, but not the base."""
    connected: bool
    """False if no known history connects the two commits, as in an import without the repository. The commits between
    them then follow the order in which they were first measured."""
    changes: list[ReleaseChange]
    """The series that have drifts between the releases, also those whose drifts cancel each other out."""
    unchanged: int
    """The number of judged series in both releases that have no drift between them."""

    @property
    def net_changes(self) -> list[ReleaseChange]:
        """The series whose levels certainly differ."""
        return [change for change in self.changes if change.change and not change.undecided]

    @property
    def n_undecided(self) -> int:
        """The number of series that are undecided."""
        return sum(change.undecided for change in self.changes)

    @property
    def n_same(self) -> int:
        """The number of series with the same level, whether or not they have drifts."""
        return self.unchanged + len(self.changes) - len(self.net_changes) - self.n_undecided
