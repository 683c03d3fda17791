"""Why a case got worse: the causes of the difference, the pathology, and a remedy that was measured."""

from typing import Annotated

from pydantic import Field

from runner.contract.base import Line, Name, Strict
from runner.contract.diagnosis import Difference, DifferencePart, Finding

_Level = Annotated[float, Field(allow_inf_nan=False)]
MIN_SECONDS = 60.0
"""The least time in seconds for explanations: a profile takes some seconds, however short the comparison was."""
MIN_WON_BACK = 0.1
"""The share of a regression that a remedy must win back to be mentioned."""


class MeasuredRemedy(Strict):
    """A remedy that was measured: head as it is and with the remedy, interleaved."""

    text: Line
    """What the remedy does."""
    settings: dict[Name, Line]
    """The settings of the remedy, as for ``faultwatch try --with``."""
    metric: Name
    """The metric that got worse."""
    base: _Level
    """The level of the metric in base, which the remedy should restore."""
    unchanged: _Level
    """The level in head without the remedy."""
    remedied: _Level
    """The level in head with the remedy."""
    pairs: int = Field(ge=1)
    """The number of pairs of executions with and without the remedy."""

    @property
    def won_back(self) -> float:
        """The share of the regression that the remedy wins back; 1 if head is as good as base, or better."""
        lost = self.unchanged - self.base
        return (self.unchanged - self.remedied) / lost if lost else 0.0


class Explanation(Strict):
    """Why a case got worse, as far as this was found within the time limit."""

    difference: Difference | None = None
    """What the difference in faults consists of; None if a side could not be profiled."""
    finding: Finding | None = None
    """The pathology that head has and base does not; None if no rule recognises one."""
    remedy: MeasuredRemedy | None = None
    """The best of the measured remedies; None if none of them helped."""
    seconds: float = Field(default=0, ge=0, allow_inf_nan=False)
    """How long the explanation took."""
    remark: Line = ""
    """Why something is missing; empty if the explanation is complete."""

    @property
    def leading_part(self) -> DifferencePart | None:
        """The first part of the difference that has the same sign as the whole; None if there is none."""
        if self.difference is None:
            return None
        growth = self.difference.faults
        return next((part for part in self.difference.parts if part.faults * growth > 0), None)
