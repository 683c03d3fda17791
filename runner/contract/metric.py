"""The definition of a metric."""

from enum import Flag, StrEnum, auto
from typing import Literal

from msgspec import Struct


class Kind(StrEnum):
    """The kind of a metric, which decides by which rule it is judged."""

    COUNT = "count"
    """A number of events. It is exact in a fixed environment, so one additional event is a real change."""
    TIME = "time"
    RATE = "rate"
    RATIO = "ratio"
    SIZE = "size"


class MetricView(Flag):
    """A view that shows a few metrics before all others, or only these. Each view also shows the judged metrics."""

    COMPARISON = auto()
    """The page that compares two commits or runs: the costs of faults."""
    DRIFT = auto()
    """The page of a drift: the metrics that moved with the drift come first."""
    MATRIX = auto()
    """The metrics that the matrix of a nightly run offers."""
    REMEDY = auto()
    """The result of a remedy: gains and costs."""
    REMEDY_TABLE = auto()
    """The table of a remedy's result on a terminal."""


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
        Whether a change of its level is reported as a drift. Other metrics are recorded, and shown next to a drift.
    definition
        One sentence that says what is counted and where the number comes from.
    views
        The views that show it before all others.
    column
        The title of its column in the terminal's table of many cases; empty if it has no column.
    """

    name: str
    title: str
    unit: str
    kind: Kind
    better: Literal["lower", "higher"]
    judged: bool
    definition: str
    views: MetricView = MetricView(0)
    column: str = ""

    def is_shown_in(self, view: MetricView) -> bool:
        """Return whether a view shows this metric before all others."""
        return self.judged or view in self.views

    @property
    def exact(self) -> bool:
        """Whether the same work always has the same count, so that each difference is certain."""
        return self.kind is Kind.COUNT and self.judged
