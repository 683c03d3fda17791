"""Defines the question and the observations of a search for commits; the answers are defined in the contract.

A search has no state besides the measurements: the same question and the same observations always give the same answer.
The caller may stop at any time, lose everything except the stored runs, and continue.
"""

from __future__ import annotations

from functools import cached_property
from uuid import UUID

from pydantic import AliasChoices, Field

from runner.contract import number_text
from runner.contract.base import Strict
from runner.contract.commit_search import Answer, Culprit, Found, Measure, Prove
from runner.contract.commit_search import NothingToFind as Refused
from runner.contract.level import Number
from runner.contract.variation_causes import USUAL_CAUSES
from service.rules.bisect.graph import Graph, Node

__all__ = ["Answer", "Culprit", "Found", "Measure", "Observation", "Prove", "Question", "Refused"]


class Observation(Strict):
    """One run of a commit: its level, or None if the commit could not be built or measured."""

    commit: str
    value: Number | None
    session: UUID | None = None
    """The session in which it was measured interleaved with another run; None if it was measured alone."""
    run: UUID | None = None
    samples: tuple[Number, ...] = ()
    """The run's samples if they differ; empty if all of them equal the value."""


class Question(Strict):
    """A search for the commits after ``good``, up to and including ``bad``, that moved the metric.

    Attributes
    ----------
    commits
        The commits that ``bad`` contains, but not ``good``; parents before children.
    exact
        Whether the metric repeats, so that one run of a commit gives its level.
    min_difference
        The smallest difference that matters, in the metric's unit. With 0, every difference matters.
    confidence
        For a noisy metric: a culprit is named once its probability is at least this.
    patience
        For a noisy metric: runs of each end after which the search gives up on a difference that is still in doubt.
    cleared
        For a noisy metric: commits that a proof has shown not to move it.
    unit
        The metric's unit.
    remedy
        Advice, in sentences, on how to make a varying count repeat.
    """

    good: str
    bad: str
    commits: tuple[Node, ...]
    exact: bool = True
    min_difference: float = Field(
        default=0, ge=0, allow_inf_nan=False, validation_alias=AliasChoices("min_difference", "least")
    )
    confidence: float = Field(default=0.997, gt=0.5, lt=1)
    patience: int = Field(default=30, ge=2)
    cleared: frozenset[str] = frozenset()
    unit: str = ""
    remedy: str = USUAL_CAUSES

    @cached_property
    def graph(self) -> Graph:
        """The commits as a graph."""
        return Graph(self.good, self.bad, self.commits)

    def format_quantity(self, value: Number, other_value: Number | None = None) -> str:
        """Return a value of the metric with its unit, and with enough digits to distinguish it from another value."""
        return number_text.format_quantity(value, self.unit, other_value).strip()
