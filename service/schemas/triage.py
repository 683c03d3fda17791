"""Models of events, decisions, silences and cross-measurements, by which people triage drifts."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from runner.contract.base import CommitHash
from service.schemas.certainty import Certainty, decide_certainty
from service.schemas.history import Candidate, Cause, Direction, FaultPrice, ListedDrift, Number, SettingChange, View
from service.text.cause_text import prefix_provisional

Author = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")
]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000, pattern=r"^[^\x00]*$")]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00]*$")]
r"""A name, in which ``*`` stands for anything and ``\*`` for an asterisk."""


def _convert_time_to_utc(moment: datetime) -> datetime:
    """Return a time in UTC; refuse a time near an end of the calendar that lies outside the calendar in UTC."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside the calendar in UTC") from None


UtcMoment = Annotated[AwareDatetime, AfterValidator(_convert_time_to_utc)]
"""A time in a request, converted to UTC."""


class State(StrEnum):
    """The state of an event."""

    NEW = "new"
    ACKNOWLEDGED = "acknowledged"
    """Somebody investigates the event."""
    EXPECTED = "expected"
    """The change is intended. Later runs are judged from the new level."""
    FIXED = "fixed"
    """A later change restored the former level, or is meant to restore it."""
    FALSE_ALARM = "false_alarm"
    """Nothing changed."""
    REOPENED = "reopened"
    """The change came back, or somebody withdrew the decision."""
    WITHDRAWN = "withdrawn"
    """The drifts were certain, but no longer are. Only the service sets this state."""


class EventDirection(StrEnum):
    """Whether an event made its series worse or better.

    Its certain drifts decide; if none is certain, all of them do.
    """

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    MIXED = "mixed"
    """Some series got worse, others better."""

    @property
    def has_regressions(self) -> bool:
        """Whether anything got worse."""
        return self is not EventDirection.IMPROVEMENT

    @property
    def matches(self) -> frozenset[EventDirection]:
        """The directions that a filter for this one selects: a mixed event got worse, and it got better."""
        return frozenset({self, EventDirection.MIXED})


class Action(StrEnum):
    """A decision about an event."""

    ACKNOWLEDGE = "acknowledge"
    EXPECT = "expect"
    FIX = "fix"
    DISMISS = "dismiss"
    REOPEN = "reopen"
    WITHDRAW = "withdraw"


class EventOrder(StrEnum):
    """The order in which events are listed."""

    IMPORTANCE = "importance"
    """The most important first: size × price × number of series × certainty × direction."""
    SIZE = "size"
    """The largest relative change first."""
    PRICE = "price"
    """The most expensive first, in CPU time of one execution."""
    FOUND = "found"
    """The most recently found first."""
    COMMITTED = "committed"
    """The event with the newest commit first."""


class BisectPolicy(StrEnum):
    """What the service does about a drift with several candidates."""

    OFF = "off"
    """Nothing."""
    ASK = "ask"
    """The event offers a bisect, ready to be ordered."""
    DO = "do"
    """The service orders the bisect."""


def needs_reason(action: Action) -> bool:
    """Return whether a decision needs a reason, so that others understand it later."""
    return action in {Action.EXPECT, Action.DISMISS, Action.REOPEN}


class Decision(View):
    """An entry in the log of an event: the decision, its author, its time and its reason."""

    id: int
    event_id: str
    action: Action
    author: str
    by_service: bool
    """Whether the service made the decision by itself."""
    at: datetime
    reason: str
    commit: str | None
    """The commit that fixed the event, or with which the event came back."""
    carried_from: str | None
    """The event for which the decision was made, if that event was merged into this one or split."""


class DecisionList(View):
    """A page of the log of an event, oldest first."""

    items: list[Decision]
    total: int
    limit: int
    offset: int


class Delivery(View):
    """The delivery of an event through one channel, done or pending."""

    channel: str
    occasion: Literal["new", "reopened", "withdrawn"]
    attempts: int
    """Number of attempts, including the current one."""
    sent_at: datetime | None
    """The time at which the receiver accepted the message; None before that."""
    next_at: datetime | None
    """Earliest time of the next attempt; None after the message was accepted."""
    error: str | None
    """The reason why the last attempt failed; None if the attempt did not fail."""


class DeliveryList(View):
    """A page of the deliveries of an event, oldest first."""

    items: list[Delivery]
    total: int
    limit: int
    offset: int


class DecisionRequest(BaseModel):
    """A decision that somebody makes about an event."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Action
    author: Author | None = None
    """The author of the decision; required if no token identifies the caller."""
    reason: Reason = ""
    commit: CommitHash | None = None
    """The commit that fixes the event; only with ``fix``."""

    @model_validator(mode="after")
    def _require_completeness(self) -> DecisionRequest:
        """Check that a decision has the reason and the commit that it needs, and no others."""
        if self.action is Action.WITHDRAW:
            raise ValueError("only the service can withdraw an event: dismiss it if nothing changed")
        if needs_reason(self.action) and not self.reason:
            raise ValueError(f"reason is required to {self.action}, so that others know why")
        if self.action is Action.FIX and self.commit is None:
            raise ValueError("commit is required with fix: specify the commit that fixes the event")
        if self.commit is not None and self.action is not Action.FIX:
            raise ValueError(f"commit is allowed only with fix, not with {self.action}")
        return self


class SubjectEntry(View):
    """A subject and its settings."""

    name: str
    repository: str | None
    """The repository whose GitHub Actions jobs report about the subject; None if no job has reported."""
    bisect_policy: BisectPolicy


class SubjectList(View):
    """A page of the subjects, by name."""

    items: list[SubjectEntry]
    total: int
    limit: int
    offset: int


class SubjectChange(BaseModel):
    """New settings of a subject."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bisect_policy: BisectPolicy
    author: Author | None = None
    """The author of the change; required if no token identifies the caller."""


class Silence(View):
    """A silence: until a given time, nobody is notified of the drifts of some series."""

    id: int
    series_id: int | None
    """The series; None if it covers several. Of several definitions of the case, the newest one counts."""
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
    """The time at which somebody ended the silence early; None if nobody did."""
    ended_by: str | None


class SilenceList(View):
    """Silences, the newest first."""

    items: list[Silence]
    total: int
    limit: int
    offset: int


class SilenceRequest(BaseModel):
    """The series to silence, and the end of the silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    series_id: int | None = Field(default=None, ge=1, lt=2**63)
    """One series, instead of patterns."""
    subject: Pattern = "*"
    host: Pattern = "*"
    case: Pattern = "*"
    metric: Pattern = "*"
    until: UtcMoment
    author: Author | None = None
    """The author of the silence; required if no token identifies the caller."""
    reason: Reason

    @model_validator(mode="after")
    def _require_series(self) -> SilenceRequest:
        """Check that a silence names one series or a pattern, and has a reason."""
        patterns = (self.subject, self.host, self.case, self.metric)
        if self.series_id is None and set("".join(patterns)) <= {"*"}:
            raise ValueError(
                "pass a `series_id`, or a pattern for `subject`, `host`, `case` or `metric` that does not match "
                "everything"
            )
        if self.series_id is not None and set(patterns) != {"*"}:
            raise ValueError("pass either a `series_id` or patterns, not both")
        if not self.reason:
            raise ValueError("reason is required, so that others know why they are not notified")
        return self


class Split(View):
    """The shares of the commits and of the configuration in a change."""

    commit: Number
    config: Number
    interaction: Number | None
    """The difference between the commits' effect in the new environment and in the old one; None until both are
    measured. If it is not zero, each part is the mean over both orders in which the changes can be made."""


class CrossMeasurement(View):
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
    """`settled` as soon as one of the two missing levels is measured; `impossible` if both attempts failed."""
    split: Split | None


class EventDrift(View):
    """A drift in an event."""

    drift_id: str | None
    """The id of the drift; None for a shift of a whole suite, which no single series shows."""
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
    """Whether the drift shows that the event came back."""
    silenced_until: datetime | None
    sentence: str
    price: FaultPrice | None


class CaseDrift(ListedDrift):
    """A drift as the page of its case lists it."""

    event_id: str | None
    """The event of the drift; None until the events are updated."""
    state: State | None
    """The state of that event."""


class CaseDriftList(View):
    """Drifts of one case, those waiting for a decision first."""

    items: list[CaseDrift]
    total: int


class WithdrawnDrift(View):
    """A drift of an event that was certain, but is now uncertain or no longer found."""

    series_id: int
    host: str
    case: str
    metric: str
    unit: str
    revision: str
    before: Number
    after: Number
    reason: str
    """The reason why the drift is no longer certain, in one sentence."""


class NextStep(View):
    """The bisect that would show which of several commits caused an event."""

    drift: str
    """The drift to bisect, which an order for a job can refer to."""
    commits: int | None
    """The number of candidates; None if the service does not know all candidates."""
    runs: int | None
    """Expected number of measurements, for a metric that repeats; None if unknown."""
    policy: BisectPolicy
    command: str
    """The command that runs the bisect on a host; empty if no command can express the drift."""


class EventSummary(View):
    """Drifts with one cause at one location."""

    id: str
    subject: str
    cause: Cause
    state: State
    open: bool
    """Whether the event still needs a decision."""
    still_detected: bool = Field(validation_alias=AliasChoices("still_detected", "found"))
    """Whether at least one drift of the event is still detected."""
    confirmed: bool
    """False while all drifts of the event wait for a rerun."""
    certainty: Certainty = Certainty.CONFIRMED
    """How certain the largest change and the cause are."""
    silenced: bool
    """Whether all drifts of the event are in silenced series."""
    direction: EventDirection
    within_budget: bool = False
    """Whether every regression of the event is within the budget of its workload."""
    headline: str
    price: str = ""
    """The price of the largest change in CPU time; empty if the cost of a fault was not measured."""
    revision: str
    """Revision of the first point on the new level."""
    previous_revision: str
    """The newest revision that is certainly on the old level. The candidates begin after this revision."""
    first_bad: str | None = None
    """The oldest revision that is certainly on the new level, which is the last candidate; None for ``revision``."""
    title: str = ""
    """Title of the commit that caused the event; empty unless a bisect has proven a commit, or only one commit is
    possible and the change is a fact."""
    n_candidates: int = 0
    """The number of candidates."""
    candidates_known: bool = True
    """False if the service does not know all candidates."""
    blamed: str = ""
    """The title of the only candidate, or of the only commit that a bisect has proven; of several proven commits, the
    hashes; otherwise the number of candidates, with the first and the last. A prefix is added while further runs must
    confirm the change."""
    culprits: list[Candidate] = Field(default_factory=list)
    """The commits that a bisect has proven to have caused the event; empty without such a bisect."""
    bisect: int | None = None
    """The job that proved the culprits."""
    only_builds: int | None = None
    """The job that showed that only builds differ: further builds of one commit, in one or in two folders, differ as
    much."""
    author: str = ""
    """Author of the commit that caused the event; empty unless a bisect has proven a commit, or only one commit is
    possible and the change is a fact."""
    committed_at: datetime
    """Commit time of the newest drift."""
    first_seen_at: datetime
    found_at: datetime
    """The time at which the event was first detected, or came back."""
    changed_at: datetime
    n_drifts: int
    n_series: int
    pairs: int | None = None
    """The number of interleaved pairs that have proven the leading drift; None if no pairs have."""
    authors: list[str] = Field(default_factory=list)
    """The authors of the candidates, each once."""
    importance: float = 0
    """Size × price × number of series × certainty. A larger number is more important."""
    below_floor: bool = False
    """Whether runs with the same bytes can differ by as much as each change of the event."""
    assignee: str = ""
    """The assignee; empty if nobody is assigned."""
    snoozed_until: datetime | None = None
    """The time until which the event is left out of the list of open events; None without such a time."""
    snoozed_to_next_run: bool = False
    """Whether the event is left out of the list of open events until one of its series is measured again."""
    merged_into: str | None
    last_decision: Decision | None

    @property
    def full_headline(self) -> str:
        """The headline as a sentence that stands alone, for mail and titles; it says if the cause is provisional."""
        return prefix_provisional(self.headline) if self.certainty is Certainty.PROVISIONAL else self.headline

    @property
    def last_candidate(self) -> str:
        """The last candidate: the oldest revision that is certainly on the new level."""
        return self.first_bad or self.revision

    @model_validator(mode="before")
    @classmethod
    def _decide_certainty_and_author(cls, values: Any) -> Any:
        """Decide the certainty; show the title and the author of a commit only if this commit is the cause."""
        if not isinstance(values, dict):
            return values
        culprits = [Candidate.model_validate(entry) for entry in values.get("culprits", ())]
        certainty_of_event = decide_certainty(
            Cause(values["cause"]),
            values.get("n_candidates", 0),
            certain=values["confirmed"],
            all_known=values.get("candidates_known", True),
            proven=bool(culprits),
        )
        title_and_author: dict[str, str] = {"title": "", "author": ""}
        if len(culprits) == 1:
            title_and_author = {"title": culprits[0].title, "author": culprits[0].author}
        elif certainty_of_event is Certainty.SINGLE_COMMIT:
            title_and_author = {}  # Nothing to hide: the stored title and author belong to the only candidate.
            if values.get("pairs"):
                certainty_of_event = Certainty.PROVEN
        return {**values, **title_and_author, "certainty": certainty_of_event}


class FixedEvent(View):
    """An event that another one undid."""

    id: str
    headline: str


class UnmovedHost(View):
    """A host that measured cases of an event before and after it, and has no drift between."""

    host: str
    n_series: int
    """The number of series of the event that the host measured on both sides."""
    series_id: int
    """The host's series in which the event is largest elsewhere."""
    case: str
    before: Number
    """The newest value of this series at the commit before the candidates."""
    after: Number
    """The newest value of this series at the last candidate."""


class EventDetail(EventSummary):
    """An event with all its details."""

    candidates: list[Candidate]
    settings: list[SettingChange]
    drifts: list[EventDrift]
    """The drifts. The largest change, relative to its level, comes first."""
    withdrawn: list[WithdrawnDrift]
    """Drifts that were certain, but no longer are. The largest change, relative to its level, comes first."""
    fixed_events: list[FixedEvent]
    """The events that the commit of this one fixed."""
    unmoved_hosts: list[UnmovedHost]
    """Hosts that measured both sides of some of the drifts, and have no drift there."""
    unmeasured_hosts: list[str]
    """Hosts that measure some of the cases, but none of them on both sides of its drift."""
    cross_measurements: list[CrossMeasurement]
    allowed: list[Action]
    """The decisions that are possible now."""
    next_step: NextStep | None = None
    """The bisect that would narrow the cause; None if a bisect was ordered, the subject's policy is off, or no host
    can measure the series."""


class TriageAction(StrEnum):
    """A decision that applies to several events at once."""

    ACKNOWLEDGE = "acknowledge"
    EXPECT = "expect"
    DISMISS = "dismiss"
    REOPEN = "reopen"
    ASSIGN = "assign"
    """Choose the assignee."""
    SNOOZE = "snooze"
    """Leave the events out of the list of open events until a time, or until the next run."""
    WAKE = "wake"
    """Put the events back into the list of open events."""
    SILENCE = "silence"
    """Do not notify anybody of drifts in the series of the events until a time."""

    @property
    def decision(self) -> Action | None:
        """The decision about an event that this action makes; None if it makes none."""
        return Action(self.value) if self.value in set(Action) else None


class TriageRequest(BaseModel):
    """One decision about several events."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    events: list[Annotated[str, StringConstraints(min_length=1, max_length=16)]] = Field(min_length=1, max_length=500)
    """Ids of the events."""
    action: TriageAction
    author: Author | None = None
    """The author of the decision; required if no token identifies the caller."""
    reason: Reason = ""
    assignee: Author | None = None
    """The new assignee, or none for nobody; only with ``assign``."""
    until: UtcMoment | None = None
    """The end of the ``snooze`` or the ``silence``. A ``snooze`` without an end lasts until the next run of one of
    the series."""

    @model_validator(mode="after")
    def _require_completeness(self) -> TriageRequest:
        """Check that a request has the reason, the assignee and the time that its action needs."""
        decision = self.action.decision
        if decision is not None and needs_reason(decision) and not self.reason:
            raise ValueError(f"reason is required to {self.action}, so that others know why")
        if self.assignee is not None and self.action is not TriageAction.ASSIGN:
            raise ValueError(f"assignee is allowed only with assign, not with {self.action}")
        if self.until is not None and self.action not in {TriageAction.SNOOZE, TriageAction.SILENCE}:
            raise ValueError(f"until is allowed only with snooze and silence, not with {self.action}")
        if self.action is TriageAction.SILENCE and not (self.reason and self.until):
            raise ValueError("reason and until are required to silence, so that others know why and for how long")
        return self


class Refusal(View):
    """An event that was left unchanged."""

    event_id: str
    reason: str
    """The reason, in one sentence."""


class TriageReceipt(View):
    """The result of a decision about several events."""

    done: list[str]
    """Ids of the events to which the decision applies."""
    refused: list[Refusal]
    """The events that did not allow the decision."""
    silences: list[Silence] = Field(default_factory=list)
    """The new silences, one for each series that was not already silenced for as long; only with ``silence``."""


class EventList(View):
    """A page of events."""

    items: list[EventSummary]
    total: int
    limit: int
    offset: int
