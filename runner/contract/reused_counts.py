"""Counts that were reused from a run with the same bytes, and the measurements that check such counts."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from runner.contract.base import CommitHash, Strict
from runner.contract.level import Number

_MetricName = Annotated[str, StringConstraints(max_length=200)]
_Levels = Annotated[dict[_MetricName, Number], Field(max_length=1000)]


class ReusedCounts(Strict):
    """The run with the same bytes in the same environment whose counts were reused."""

    run_id: UUID
    commit: CommitHash


class SameBytesCheck(Strict):
    """The comparison of measured counts with counts that could have been reused instead."""

    run_id: UUID
    """The run with the same bytes."""
    commit: CommitHash
    expected: _Levels
    """The exact counts of the run with the same bytes, by metric."""
    counted: _Levels
    """The levels that were counted now. A metric without a level has no entry."""

    @property
    def holds(self) -> bool:
        """Whether all counts are the same as before."""
        return self.counted == self.expected

    @property
    def sentence(self) -> str:
        """The counts before and now of the metrics that differ; empty if none differs."""
        differences = (
            f"{name} {self.expected[name]:,} at {self.commit[:10]}, {self._describe_new_count(name)} now"
            for name in self.expected
            if self.counted.get(name) != self.expected[name]
        )
        return "; ".join(differences)

    def _describe_new_count(self, name: str) -> str:
        """Return the new level of a metric as text; if there is none, in words."""
        return f"{self.counted[name]:,}" if name in self.counted else "no count that repeats"
