"""Models of runs, series and drifts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, model_validator

from runner.contract import Kind, Outcome, Revision, Stage, Status
from runner.contract.base import Parameter
from runner.contract.budget import Budget
from service.schemas.certainty import Cause as Cause  # noqa: PLC0414
from service.schemas.certainty import Certainty, decide_certainty
from service.text.cause_text import name_candidates, prefix_provisional
from service.text.setting_words import describe_setting_changes

Number = int | float
"""A level or a sample; an exact count stays an integer, however large."""


class View(BaseModel):
    """Base of all answers: immutable, and an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Direction(StrEnum):
    """Whether a drift is an improvement or a regression."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"


class Standing(StrEnum):
    """How certain it is that a change happened."""

    PROVEN = "proven"
    """Interleaved pairs of the two commits differ."""
    CERTAIN = "certain"
    """The runs alone show the change."""
    SUSPECTED = "suspected"
    """The change is more likely than not, but its two commits have not been compared yet."""


class Health(View):
    """Whether the service and its database work."""

    status: Literal["ok"]
    version: str
    database: Literal["ok"]


class Stored(View):
    """The number of revisions of a subject that the service now has."""

    subject: str
    revisions: int


class ListedRevision(Revision):
    """A commit of a subject as the service lists it."""

    patch: str
    """The patch id, as ``git patch-id --stable`` prints it; empty if it was not sent."""


class RevisionPage(View):
    """A page of the commits of a subject, the newest first."""

    items: list[ListedRevision]
    total: int
    limit: int
    offset: int


class RunReceipt(View):
    """The acknowledgement of a report."""

    run_id: UUID
    created: bool
    """False if the service already had this report."""


class FailureSummary(View):
    """The reason why a run measured nothing, without the log."""

    stage: Stage
    message: str


class RunSummary(View):
    """One run, without its samples."""

    run_id: UUID
    subject: str
    host: str
    case: str
    workload: str
    revision: str
    title: str
    environment: str
    """Hash of the environment."""
    outcome: Outcome
    failure: FailureSummary | None
    quarantine: str | None
    """The reason why the run is never judged; None if the run is judged."""
    reused: bool = False
    """Whether the counts were reused from a run with the same bytes instead of measured."""
    started_at: datetime
    finished_at: datetime


class RunPage(View):
    """A page of runs, the newest first."""

    items: list[RunSummary]
    total: int
    limit: int
    offset: int


class SettingChange(View):
    """A setting that differs between two environments; a value is None if that environment has no such setting."""

    name: str
    before: str | None
    after: str | None


class SeriesPoint(View):
    """A run in a series."""

    run_id: UUID
    revision: str
    title: str
    author: str
    committed_at: datetime
    position: int
    """Position of the revision in the subject's history, counted from the oldest."""
    measured_at: datetime
    environment: str
    """Hash of the environment."""
    status: Status
    value: Number | None
    """Level of the run: the value that all samples agree on, or otherwise their median. None if nothing was counted."""
    low: Number | None
    high: Number | None
    n: int
    """Number of samples that have a value."""
    on_path: bool
    """Whether the point is on the path along which the trend is drawn and judged."""
    quarantine: str | None = None
    """The reason why the point is never judged; None if the point is judged."""
    reused: bool = False
    """Whether the value was reused from a run with the same bytes instead of measured."""


class ConfigChange(View):
    """An environment change along the path."""

    revision: str
    """Revision of the first point in the new environment."""
    committed_at: datetime
    """When this revision was committed."""
    run_before: UUID
    run_after: UUID
    environment_before: str
    environment_after: str
    settings: list[SettingChange]


class SeriesFailure(View):
    """A revision at which this case could not be measured, and the reason."""

    revision: str
    title: str
    position: int
    run_id: UUID
    stage: Stage
    message: str


class Candidate(View):
    """A commit that could have caused a drift."""

    commit: str
    title: str
    author: str


class Evidence(View):
    """The evidence for a drift."""

    n_before: int
    """Runs on the old level."""
    n_after: int
    """Runs on the new level."""
    spread: Number
    """The difference between the largest and the smallest sample of a level, on the side with the larger difference."""
    sentence: str
    wants_rerun: bool
    """Whether another run is needed before the drift is a fact."""
    pairs: int | None = None
    """The number of interleaved pairs that have proven the drift; None if the runs alone show it."""
    standing: Standing = Standing.CERTAIN
    """How certain the change itself is, whatever its cause."""

    @model_validator(mode="before")
    @classmethod
    def _decide_standing(cls, values: Any) -> Any:
        """Derive the standing of a drift: proven by pairs, or else suspected until further runs confirm it."""
        if not isinstance(values, dict):
            return values
        standing = Standing.SUSPECTED if values.get("wants_rerun") else Standing.CERTAIN
        if values.get("pairs"):
            standing = Standing.PROVEN
        return {**values, "standing": standing}


class Companion(View):
    """Another metric of the same case on both sides of a drift, which shows the cost of the drift."""

    metric: str
    title: str
    unit: str
    before: Number
    after: Number


class FaultPrice(View):
    """The value of a change in a fault count: CPU time of one execution."""

    seconds: float
    """Seconds of CPU time; negative if the change saves time."""
    share: float | None
    """Share of the CPU time before the change; None if that time was not measured."""
    uncertainty: float = 0.0
    """The uncertainty of the change in seconds, because executions of one commit or profiles of huge pages differ; 0 if
    the count repeats. A price is given only if it is larger than this."""
    fault_before: float
    """CPU seconds of one fault before the change."""
    fault_after: float
    source: str
    """How the cost of a fault was measured."""
    sentence: str


class Drift(View):
    """A change of a series' level, with its cause."""

    id: str
    series_id: int
    subject: str
    host: str
    case: str
    workload: str
    metric: str
    unit: str
    kind: Kind
    cause: Cause
    direction: Direction
    certainty: Certainty = Certainty.CONFIRMED
    """How certain the drift and its cause are. The event of the drift says whether a bisect has proven the cause."""
    revision: str
    """Revision of the first point on the new level: the newest commit that could have caused it."""
    title: str = ""
    """Title of the commit that caused it; empty unless only one commit is possible and the change is a fact."""
    author: str = ""
    """Author of the commit that caused it; empty unless only one commit is possible and the change is a fact."""
    committed_at: datetime
    previous_revision: str
    last_good: str | None = None
    """The newest revision that is certainly on the old level; None for ``previous_revision``."""
    first_bad: str | None = None
    """The oldest revision that is certainly on the new level; None for ``revision``."""
    candidates: list[Candidate]
    """The commits of ``git rev-list last_good..first_bad``, oldest first; empty if no commit lies between."""
    candidates_known: bool = True
    """False if the service does not know all commits in between."""
    before: Number
    after: Number
    change: Number
    percent: float | None
    """Change in percent of the old level; None if the old level is zero."""
    rule: str
    evidence: Evidence
    settings: list[SettingChange]
    run_before: UUID
    run_after: UUID
    environment_before: str
    environment_after: str
    companions: list[Companion]
    within_budget: bool = False
    """Whether the drift is a regression within the budget of the workload."""
    price: FaultPrice | None = None
    """The price of the change in CPU time; None if the cost of a fault was not measured, or if the price is within
    its noise."""
    floor: Number | None = None
    """The difference between measured runs with the same bytes in this series; None if no two such runs were
    measured."""

    @model_validator(mode="before")
    @classmethod
    def _decide_certainty_and_author(cls, values: Any) -> Any:
        """Decide the certainty; show the title and author of a commit only if it is certainly the only candidate."""
        if not isinstance(values, dict):
            return values
        candidates = values.get("candidates", ())
        certainty_of_drift = decide_certainty(
            Cause(values["cause"]),
            len(candidates),
            certain=not _get_value(values["evidence"], "wants_rerun"),
            all_known=values.get("candidates_known", True),
        )
        is_single = certainty_of_drift is Certainty.SINGLE_COMMIT
        title_and_author = {name: _get_value(candidates[0], name) if is_single else "" for name in ("title", "author")}
        evidence = values["evidence"]
        n_pairs = evidence.get("pairs") if isinstance(evidence, dict) else evidence.pairs
        if is_single and n_pairs:
            certainty_of_drift = Certainty.PROVEN
        return {**values, **title_and_author, "certainty": certainty_of_drift}

    @property
    def good(self) -> str:
        """The revision after which the candidates begin: the good end of a bisect."""
        return self.last_good or self.previous_revision

    @property
    def bad(self) -> str:
        """The revision that contains all candidates: the bad end of a bisect."""
        return self.first_bad or self.revision

    @property
    def blamed(self) -> str:
        """The title of the only candidate, or the range of candidates if there are several; empty if there are none.

        While further runs have to confirm the drift, the text begins with “suspected: ”.
        """
        commits = [candidate.commit for candidate in self.candidates]
        title = self.candidates[-1].title if self.candidates else ""  # of the newest candidate
        confirmed = not self.evidence.wants_rerun
        return name_candidates(commits, title, all_known=self.candidates_known, confirmed=confirmed)

    @property
    def has_commit_range(self) -> bool:
        """Whether several commits, or unknown ones, may have caused the drift, so that no single one can be shown."""
        may_be_commit = self.cause in {Cause.COMMIT, Cause.COMMIT_AND_CONFIG}
        return may_be_commit and (len(self.candidates) != 1 or not self.candidates_known)

    @property
    def cause_words(self) -> str:
        """What changed, in one line: the commits that could have caused the drift, or the settings."""
        if self.cause is Cause.COMMIT:
            return self.blamed
        is_provisional = self.certainty is Certainty.PROVISIONAL
        settings_text = describe_setting_changes(self.settings) if self.settings else ""
        words = {
            Cause.CONFIG: settings_text or "the configuration changed",
            Cause.COMMIT_AND_CONFIG: f"{self.blamed}, or {settings_text or 'the configuration'}",
            Cause.UNKNOWN: "no recorded factor explains it" if is_provisional else "No recorded factor explains it",
        }[self.cause]
        return prefix_provisional(words) if is_provisional else words


def _get_value(value: Any, name: str) -> Any:
    """Return an attribute of a model or an entry of its document."""
    return value[name] if isinstance(value, dict) else getattr(value, name)


class ListedDrift(Drift):
    """A drift with the details of its event that a list of drifts needs."""

    below_floor: bool = False
    """Whether the event is below the floor. Lists fold such events, because runs with the same bytes can differ by
    as much."""


class DriftList(View):
    """Drifts, the newest first."""

    items: list[ListedDrift]
    total: int
    limit: int
    offset: int


class SeriesHead(View):
    """The case, host and metric of a series."""

    id: int
    subject: str
    host: str
    case: str
    workload: str
    definition: str
    parameters: dict[str, Parameter]
    metric: str
    title: str
    unit: str
    kind: Kind
    better: Literal["lower", "higher"]
    judged: bool
    budget: Budget | None = None
    """How much worse the metric may get; None if the workload does not set a budget."""


class SeriesSummary(SeriesHead):
    """A series without its points."""

    n_points: int
    latest: Number | None
    """Level at the newest revision that has a level."""


class SeriesPage(View):
    """A page of series."""

    items: list[SeriesSummary]
    total: int
    limit: int
    offset: int


class SeriesDetail(SeriesHead):
    """A series with everything that its page shows."""

    n_points: int
    """Number of points; larger than the number of returned points if these were thinned."""
    points: list[SeriesPoint]
    """The points on the path first, then the other points in history order."""
    changes: list[ConfigChange]
    drifts: list[Drift]
    failures: list[SeriesFailure]
