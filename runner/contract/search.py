"""A search for the commits that moved a metric: what is asked, and what to measure next, or what was found."""

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from runner.contract.base import CommitHash, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case, Environment, Host


class SearchRequest(Strict):
    """Which commits after ``good``, up to and with ``bad``, moved a metric? The commits have to be known.

    A search has no state but the runs that are stored: measure what the answer names, send the runs, and ask again.
    """

    subject: Name
    host: Host
    environment: Environment
    case: Case
    metric: Annotated[str, Field(max_length=200)]
    good: CommitHash
    bad: CommitHash
    least: float = Field(default=0, ge=0, le=2**64, allow_inf_nan=False)
    """Differences smaller than this do not matter, in the metric's unit."""
    slots: int = Field(default=1, ge=1, le=64)
    """Commits that can be measured at the same time."""
    pending: tuple[CommitHash, ...] = Field(default=(), max_length=64)
    """Commits that are being measured now."""
    prove: bool = True
    """Whether each culprit is to be measured again, in turns with its parent."""


class Measure(Strict):
    """Measure these commits next, at the same time if you can; a noisy metric can name one twice."""

    kind: Literal["measure"] = "measure"
    commits: tuple[str, ...]
    left: int
    """How many runs are expected to be left, these included."""


class ProofState(StrEnum):
    """What measuring a culprit in turns with its parent showed."""

    STANDS = "stands"
    FAILS = "fails"
    """The two do not differ, or the other way: the host was not what it is now, or the metric does not repeat."""
    OPEN = "open"
    """As many pairs as a comparison takes at most did not decide it."""


class Proof(Strict):
    """A culprit and its parent, measured again in turns in one session."""

    state: ProofState
    sentence: str
    parent_run: UUID
    run: UUID


class Culprit(Strict):
    """A commit that moved the metric."""

    commit: str
    parent: str
    """What it is compared with: the last commit before it that can be measured."""
    before: Number
    """The level without the culprit; at a merge, with what its branches brought."""
    after: Number
    candidates: tuple[str, ...]
    """The culprit, and the commits that no measurement can tell from it because they could not be measured."""
    brought: Number = 0
    """At a merge: what is known of its branches to have come with them. It is part of ``before``."""
    probability: float = 1.0
    proof: Proof | None = None


class Prove(Strict):
    """Measure these two in turns, in one session, until a comparison of them is decided, and send both runs."""

    kind: Literal["prove"] = "prove"
    parent: str
    commit: str
    precision: float | None
    """What a comparison has to tell of a noisy metric, in percent; None where the metric is exact."""
    left: int
    """How many culprits are left to be proven, this one included."""
    culprits: tuple[Culprit, ...]
    """All that were found."""


class Found(Strict):
    """The search is over: these commits moved the metric, oldest first."""

    kind: Literal["found"] = "found"
    culprits: tuple[Culprit, ...]


class NothingToFind(Strict):
    """There is nothing to search for, and why."""

    kind: Literal["refused"] = "refused"
    sentence: str


Answer = Measure | Prove | Found | NothingToFind


class Asked(Strict):
    """What a search is about, so that it can be told from its result alone."""

    good: str
    bad: str
    host: str
    environment: str
    """Hash of the environment."""
    case: Case
    metric: str
    least: float


class Search(Strict):
    """Where a search stands."""

    commits: int
    """Commits in the range."""
    known: int
    """Stored runs of the range that the search could use."""
    answer: Answer = Field(discriminator="kind")
    asked: Asked | None = None
