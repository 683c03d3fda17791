"""The work that a program reports."""

from collections.abc import Mapping
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace


class WorkDone(Struct, frozen=True):
    """The work that a program did in its main loop, or that a load generator did.

    Attributes
    ----------
    operations, seconds
        The number of operations, and the seconds that they took. Both are positive, and at most 2 to the power of 64.
    stated_counts
        Further numbers in the program's JSON line, by key: ``bytes``, ``pages``, ``faults``.
    latencies
        The seconds of an operation, by percentile: ``p50``, ``p99``, ``p99.9``.
    is_rate
        Whether the report contains only the number of operations per second. Then only the quotient of ``operations``
        and ``seconds`` is meaningful.
    """

    operations: float
    seconds: float
    stated_counts: Mapping[str, float] = field(default_factory=dict)
    latencies: Mapping[str, float] = field(default_factory=dict)
    is_rate: bool = False

    def with_operations(self, operations: float) -> Self:
        """Return the work of ``operations`` operations at this rate."""
        return replace(self, operations=operations, seconds=operations * self.seconds / self.operations, is_rate=False)
