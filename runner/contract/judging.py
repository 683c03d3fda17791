"""Which metrics of a subject are judged, and how much each may change. Runner and service share these rules."""

from typing import Annotated

from pydantic import Field

from runner.contract.base import Strict
from runner.contract.budget import Budget
from runner.contract.metrics import get_metric

DEFAULT_PRECISION_PERCENT = 3.0
"""The smallest change of a noisy metric that matters, in percent, if the workload does not declare it."""
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
MetricName = Annotated[str, Field(min_length=1, max_length=200)]


class Judging(Strict):
    """The keys of a workload's ``[metrics]`` table that control the verdicts on metrics."""

    judge: tuple[MetricName, ...] = Field(default=(), max_length=100)
    """Metrics to judge in addition to the exact counts: in histories, by the gate and by comparisons."""
    precision: dict[str, Percent] = Field(default_factory=dict)
    """The smallest change that matters, by noisy metric. Comparisons judge these metrics too."""
    budgets: dict[str, Budget] = Field(default_factory=dict)
    """How much worse each metric may get. A metric that is not listed may not get worse."""

    def is_judged_in_history(self, metric: str) -> bool:
        """Return whether drifts of a metric are detected along a history."""
        return get_metric(metric).judged or metric in self.judge

    def decides_comparison(self, metric: str) -> bool:
        """Return whether a metric decides a comparison of two revisions: `compare`, and the gate."""
        return get_metric(metric).exact or metric in self.judge or metric in self.precision

    def get_min_change(self, name: str) -> float:
        """Return the smallest change of a noisy metric that matters, in percent."""
        return self.precision.get(name, DEFAULT_PRECISION_PERCENT)

    @property
    def requested(self) -> tuple[str, ...]:
        """The noisy metrics that the workload asks to be judged in comparisons."""
        return tuple(dict.fromkeys((*self.judge, *self.precision)))
