"""What the service tells of events, decisions, silences and cross-measurements."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from runner.contract import CATALOGUE
from runner.contract.base import CommitHash
from service.schemas.history import Candidate, Cause, Direction, KnobChange, Number, View

Author = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")
]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000, pattern=r"^[^\x00]*$")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]
"""A name, in which * stands for anything."""


class State(StrEnum):
    """Where an event stands."""

    NEW = "new"
    ACKNOWLEDGED = "acknowledged"
    """Somebody looks into it."""
    EXPECTED = "expected"
    """It is as it should be: what comes later is measured from the new level."""
    FIXED = "fixed"
    """A later change brought the former level back, or is meant to."""
    FALSE_ALARM = "false_alarm"
    """Nothing changed."""
    REOPENED = "reopened"
    """It came back, or what was decided was taken back."""


class Action(StrEnum):
    """What can be decided."""

    ACKNOWLEDGE = "acknowledge"
    EXPECT = "expect"
    FIX = "fix"
    DISMISS = "dismiss"
    REOPEN = "reopen"


def needs_reason(action: Action) -> bool:
    """Tell whether those who come later have to be told why."""
    return action in {Action.EXPECT, Action.DISMISS, Action.REOPEN}


class Decision(View):
    """One entry in the log of an event: what was decided, by whom, when and why."""

    id: int
    event_id: str
    action: Action
    author: str
    by_service: bool
    """Whether the service found this by itself."""
    at: datetime
    reason: str
    commit: str | None
    """The commit that fixed it, or with which it came back."""
    carried_from: str | None
    """The event at which it was decided, where that one became this one or was split."""


class DecisionList(View):
    """The log of an event, oldest first."""

    items: list[Decision]
    total: int


class Delivery(View):
    """That an event is told, or was, through one channel."""

    channel: str
    occasion: Literal["new", "reopened"]
    attempts: int
    """How often that was tried, the one under way included."""
    sent_at: datetime | None
    """When the receiver took it; None while it did not."""
    next_at: datetime | None
    """Not tried again before this time; None once it was taken."""
    error: str | None
    """Why the last attempt failed."""


class DeliveryList(View):
    """All that was told of an event, oldest first."""

    items: list[Delivery]
    total: int


class DecisionRequest(BaseModel):
    """What somebody decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Action
    author: Author | None = None
    """Who decides, where there are no tokens to tell."""
    reason: Reason = ""
    commit: CommitHash | None = None
    """With ``fix``: the commit that fixes it."""

    @model_validator(mode="after")
    def _is_complete(self) -> DecisionRequest:
        if needs_reason(self.action) and not self.reason:
            raise ValueError(f"reason is needed to {self.action}: those who come later have to know why")
        if self.action is Action.FIX and self.commit is None:
            raise ValueError("commit is needed to fix: which one fixes it")
        if self.commit is not None and self.action is not Action.FIX:
            raise ValueError(f"commit cannot be given to {self.action}: only to fix")
        return self


class Silence(View):
    """Why, by whom and until when the drifts of some series are not told."""

    id: int
    subject: str
    host: str
    case: str
    metric: str
    author: str
    reason: str
    created_at: datetime
    until: datetime
    active: bool
    ended_at: datetime | None
    """When somebody ended it before its time."""
    ended_by: str | None


class SilenceList(View):
    """Silences, the newest first."""

    items: list[Silence]
    total: int
    limit: int
    offset: int


class SilenceRequest(BaseModel):
    """Which series to silence until when."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    series_id: int | None = Field(default=None, ge=1, lt=2**63)
    """One series, instead of patterns."""
    subject: Pattern = "*"
    host: Pattern = "*"
    case: Pattern = "*"
    metric: Pattern = "*"
    until: AwareDatetime
    author: Author | None = None
    """Who silences, where there are no tokens to tell."""
    reason: Reason

    @model_validator(mode="after")
    def _says_what(self) -> SilenceRequest:
        patterns = (self.subject, self.host, self.case, self.metric)
        if self.series_id is None and set("".join(patterns)) <= {"*"}:
            raise ValueError("name a series_id, or a pattern of subject, host, case or metric that is not all of them")
        if self.series_id is not None and set(patterns) != {"*"}:
            raise ValueError("series_id and patterns exclude each other")
        if not self.reason:
            raise ValueError("reason is needed: others have to know why they are not told")
        return self


class Split(View):
    """How much of a change the commits made and how much the configuration."""

    commit: Number
    config: Number
    interaction: Number | None
    """What the commits make more in the new environment than in the old one; None while one of them is not measured.
    Where it is not zero, both parts are means over the two orders in which the changes can be made."""


class Crossing(View):
    """A cross-measurement: both revisions in both environments."""

    series_id: int
    case: str
    host: str
    metric: str
    revision_before: str
    revision_after: str
    environment_before: str
    environment_after: str
    old_in_old: Number | None
    old_in_new: Number | None
    new_in_old: Number | None
    new_in_new: Number | None
    status: Literal["ordered", "settled", "impossible"]
    """Settled as soon as one of the two is measured that were not; impossible where both were tried and failed."""
    split: Split | None


class EventDrift(View):
    """A drift in an event."""

    drift_id: str | None
    """None at a shift of a whole suite that no series shows by itself."""
    series_id: int | None
    host: str
    case: str
    metric: str
    unit: str
    direction: Direction
    revision: str
    before: Number | None
    after: Number | None
    change: Number
    percent: float | None
    wants_rerun: bool
    returned: bool
    """Whether this is the event coming back."""
    silenced_until: datetime | None
    sentence: str


class EventSummary(View):
    """Drifts with one cause at one place: told once."""

    id: str
    subject: str
    cause: Cause
    state: State
    open: bool
    """Whether somebody has something to do about it."""
    found: bool
    """Whether any of its drifts is found still."""
    confirmed: bool
    """False while each of its drifts waits for a rerun."""
    silenced: bool
    """Whether all of its drifts are in series that are silenced."""
    direction: Direction
    """Of its largest change."""
    headline: str
    revision: str
    previous_revision: str
    title: str
    author: str
    committed_at: datetime
    """Of its newest drift."""
    first_seen_at: datetime
    changed_at: datetime
    n_drifts: int
    n_series: int
    merged_into: str | None
    last_decision: Decision | None


class EventDetail(EventSummary):
    """An event with everything that is known of it."""

    candidates: list[Candidate]
    knobs: list[KnobChange]
    drifts: list[EventDrift]
    """The largest change first, measured by its level."""
    crossings: list[Crossing]
    allowed: list[Action]
    """What can be decided now."""


class EventList(View):
    """Events, those of the newest commits first."""

    items: list[EventSummary]
    total: int
    limit: int
    offset: int


def unit_of(metric: str) -> str:
    """Return the unit of a metric, nothing where the catalogue does not know it."""
    entry = CATALOGUE.get(metric)
    return entry.unit if entry else ""
