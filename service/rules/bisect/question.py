"""What is asked, what was measured, and what follows: the language in which a search is led.

A search has no state but what was measured: the same question and the same observations always give the same answer.
Whoever leads it may stop at any moment, lose everything but the stored runs, and go on.
"""

from __future__ import annotations

from functools import cached_property
from uuid import UUID

from pydantic import Field

from runner.contract.level import Number
from runner.contract.search import Answer, Culprit, Found, Measure, Prove
from runner.contract.search import NothingToFind as Refused
from service.rules.bisect.base import Frozen
from service.rules.bisect.graph import Graph, Node

__all__ = ["Answer", "Culprit", "Found", "Measure", "Observation", "Prove", "Question", "Refused"]


class Observation(Frozen):
    """One run of a commit: its level, or None where the commit could not be built or measured."""

    commit: str
    value: Number | None
    session: UUID | None = None
    """What was measured in turns with it has the same one."""
    run: UUID | None = None
    material: str = ""
    """The name of all bytes of its program; empty where that is not known."""


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
    cleared
        Of a noisy metric: commits that a proof has shown not to move it.
    """

    good: str
    bad: str
    commits: tuple[Node, ...]
    exact: bool = True
    least: float = Field(default=0, ge=0, allow_inf_nan=False)
    confidence: float = Field(default=0.997, gt=0.5, lt=1)
    patience: int = Field(default=30, ge=2)
    cleared: frozenset[str] = frozenset()

    @cached_property
    def graph(self) -> Graph:
        """The commits, with what follows from their order."""
        return Graph(self.good, self.bad, self.commits)
