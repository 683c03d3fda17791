"""What is asked, what was measured, and what follows: the language in which a search is led.

A search has no state but what was measured: the same question and the same observations always give the same answer.
Whoever leads it may stop at any moment, lose everything but the stored runs, and go on.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import Field

from runner.contract.level import Number
from service.bisect.base import Frozen
from service.bisect.graph import Graph, Node


class Observation(Frozen):
    """One run of a commit: its level, or None where the commit could not be built or measured."""

    commit: str
    value: Number | None


class Question(Frozen):
    """A search for the commits after ``good``, up to and with ``bad``, that moved the metric.

    Attributes
    ----------
    commits
        Those that ``bad`` has and ``good`` has not, parents before children.
    exact
        Whether the metric repeats, so that one run of a commit tells its level.
    least
        Differences smaller than this do not matter, in the metric's unit. With 0, every difference does.
    confidence
        Of a noisy metric: how probable a culprit has to be before it is named.
    patience
        Of a noisy metric: runs of each end after which a difference that is still in doubt is given up.
    """

    good: str
    bad: str
    commits: tuple[Node, ...]
    exact: bool = True
    least: float = Field(default=0, ge=0, allow_inf_nan=False)
    confidence: float = Field(default=0.99, gt=0.5, lt=1)
    patience: int = Field(default=30, ge=2)

    @cached_property
    def graph(self) -> Graph:
        """The commits, with what follows from their order."""
        return Graph(self.good, self.bad, self.commits)


class Measure(Frozen):
    """Measure these commits next, at the same time if you can; a noisy metric can name one twice."""

    kind: Literal["measure"] = "measure"
    commits: tuple[str, ...]
    left: int
    """How many runs are expected to be left, these included."""


class Culprit(Frozen):
    """A commit that moved the metric."""

    commit: str
    parent: str
    """What it is compared with: the last commit before it that can be measured."""
    before: Number
    """The level without the culprit; at a merge, with what its branches brought."""
    after: Number
    candidates: tuple[str, ...]
    """The culprit, and the commits that no measurement can tell from it because they could not be measured."""
    probability: float = 1.0


class Found(Frozen):
    """The search is over: these commits moved the metric, oldest first."""

    kind: Literal["found"] = "found"
    culprits: tuple[Culprit, ...]


class Refused(Frozen):
    """There is nothing to search for, and why."""

    kind: Literal["refused"] = "refused"
    sentence: str


Answer = Measure | Found | Refused
