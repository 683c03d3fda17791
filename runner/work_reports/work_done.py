"""What a program's report says that it did."""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace


class WorkDone(Struct, frozen=True):
    """Work done in the main loop, or by a load generator.

    Attributes
    ----------
    operations, seconds
        How many operations were done, and in how many seconds: positive, and at most 2 to the power of 64.
    stated_counts
        Further numbers of the program's JSON line, by key: ``bytes``, ``pages``, ``faults``.
    latencies
        Seconds of an operation, by percentile: ``p50``, ``p99``, ``p99.9``.
    is_rate
        Whether the report only says how many operations a second took. Only the quotient of ``operations`` and
        ``seconds`` then means something.
    """

    operations: float
    seconds: float
    stated_counts: Mapping[str, float] = field(default_factory=dict)
    latencies: Mapping[str, float] = field(default_factory=dict)
    is_rate: bool = False

    def with_operations(self, operations: float) -> Self:
        """Return this rate as that of a number of operations."""
        return replace(self, operations=operations, seconds=operations * self.seconds / self.operations, is_rate=False)
