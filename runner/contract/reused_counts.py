"""Counts that were reused from a run with the same bytes, and the measurements that check such counts."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from runner.contract.base import CommitHash, Strict
from runner.contract.level import Number

REUSED = "reused from a run with the same bytes"
"""Why the points of a run that was not measured are no evidence: they repeat those of another run."""

_MetricName = Annotated[str, StringConstraints(max_length=200)]
_Levels = Annotated[dict[_MetricName, Number], Field(max_length=1000)]


class ReusedCounts(Strict):
    """The run with the same bytes in the same environment whose counts were reused."""

    run_id: UUID
    commit: CommitHash


class SameBytesCheck(Strict):
    """Compares the counts of a run with counts that could have been reused instead of measuring."""

    run_id: UUID
    """The run with the same bytes."""
    commit: CommitHash
    expected: _Levels
    """The exact counts of the run with the same bytes, by metric."""
    counted: _Levels
    """The levels that were counted now. A metric without a level has no entry."""

    @property
    def holds(self) -> bool:
        """Whether the host counted the same again."""
        return self.counted == self.expected

    @property
    def sentence(self) -> str:
        """What was counted before and now, for the metrics that differ; empty if none does."""
        differences = (
            f"{name} {self.expected[name]:,} at {self.commit[:10]}, {self._describe_new_count(name)} now"
            for name in self.expected
            if self.counted.get(name) != self.expected[name]
        )
        return "; ".join(differences)

    def _describe_new_count(self, name: str) -> str:
        """Return the level of a metric that was counted now, in words if there is none."""
        return f"{self.counted[name]:,}" if name in self.counted else "no count that repeats"
