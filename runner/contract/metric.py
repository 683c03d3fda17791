"""The definition of a metric."""

from enum import StrEnum
from typing import Literal

from msgspec import Struct


class Kind(StrEnum):
    """The kind of a metric, which decides by which rule it is judged."""

    COUNT = "count"
    """Whole events. Exact in a fixed environment, so one more is a fact."""
    TIME = "time"
    RATE = "rate"
    RATIO = "ratio"
    SIZE = "size"


class Metric(Struct, frozen=True):
    """One kind of number that a run reports.

    Attributes
    ----------
    name
        Identifier in reports, the API and workload files. Events keep perf's own name.
    unit
        Unit of one value, as shown to people.
    better
        Which direction is an improvement.
    judged
        Whether a change of level is flagged by itself. The others are recorded and shown beside a drift.
    definition
        One sentence that says what is counted and where the number comes from.
    """

    name: str
    title: str
    unit: str
    kind: Kind
    better: Literal["lower", "higher"]
    judged: bool
    definition: str

    @property
    def exact(self) -> bool:
        """Whether a program that does the same work always has the same count, so that one more is a fact."""
        return self.kind is Kind.COUNT and self.judged
