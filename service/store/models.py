"""The tables.

A column keeps its first name in the database, because an older version can run at the same time and read the same rows.
If the code has a better name by now, ``mapped_column`` states the name of the column.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Enum,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from runner.contract import Outcome, Stage, Status, Verdict
from runner.contract.job import Backend, Where
from runner.contract.job import State as JobState
from service.schemas.certainty import Certainty
from service.schemas.history import Cause, Number
from service.schemas.triage import Action, BisectPolicy, EventDirection, State


class Moment(TypeDecorator[datetime]):
    """A point in time: stored in UTC, because SQLite keeps no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert the stored time to UTC; a time without a zone already is UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None] | None:
        """Read SQLite's text as UTC at once: adding the time zone to a datetime takes longer than all the rest."""
        return _read_moment if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


def _read_moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")


class Exact(TypeDecorator[Number]):
    """An integer or float of any size: stored as text, because numeric columns would round it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Number | None, dialect: Dialect) -> str | None:
        """Convert the number to the shortest text that reads back as the same number."""
        return None if value is None else repr(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Number | None:
        """Convert the stored text to the number."""
        if value is None:
            return None
        try:
            return int(value)
        except ValueError:
            return float(value)


_IS_STALE = text("version <> judged_version")
UNMEASURED = text("outcome <> 'measured'")
_IS_QUARANTINED = text("quarantine IS NOT NULL")
_HAS_WAKE_RUN = text("wakes_after IS NOT NULL")
_IS_REPORTED = text("reported_in IS NOT NULL")
IS_ASSIGNED = text("assignee <> ''")
_EARLIEST_TIME = "1970-01-01 00:00:00"


class Base(DeclarativeBase):
    """Base of all tables. Constraints have names, so that migrations can change them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: Moment,
        dict[str, Any]: JSON,
        list[str]: JSON,
        Number: Exact,
        # Stored by value and without a constraint, so that a new member needs no migration.
        enum.Enum: Enum(
            enum.Enum, native_enum=False, length=16, values_callable=lambda kind: [member.value for member in kind]
        ),
    }


class Subject(Base):
    """A repository under test."""

    __tablename__ = "subject"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    repository: Mapped[str | None] = mapped_column(String(140))
    """The repository whose Actions jobs may report about it, in lower case; None until one has."""
    drifts_version: Mapped[int] = mapped_column(default=0, server_default="0")
    """Goes up when a drift appears, disappears or changes."""
    events_version: Mapped[int] = mapped_column(default=0, server_default="0")
    """Value of ``drifts_version`` at which the events were last updated."""
    bisect_policy: Mapped[BisectPolicy] = mapped_column(default=BisectPolicy.ASK, server_default="ask")
    """What happens to a drift that several commits could have caused."""


class Revision(Base):
    """A commit of a subject."""

    __tablename__ = "revision"
    __table_args__ = (UniqueConstraint("subject_id", "commit"), Index(None, "subject_id", "position"))
    id: Mapped[int] = mapped_column(primary_key=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    commit: Mapped[str] = mapped_column(String(64))
    parents: Mapped[list[str]]
    author: Mapped[str] = mapped_column(Text)
    committed_at: Mapped[datetime]
    title: Mapped[str] = mapped_column(Text)
    position: Mapped[int] = mapped_column(default=0)
    """Position in the subject's history, oldest first: see service.rules.series.commit_order."""
    patch: Mapped[str] = mapped_column(String(64), default="", server_default="")
    """Its patch id, by which a rewritten commit is recognised; empty where no runner has sent one."""


class RefRow(Base):
    """A tag or a branch of a subject. Its commit need not be known."""

    __tablename__ = "ref"
    __table_args__ = (UniqueConstraint("subject_id", "kind", "name"), Index(None, "name"))
    id: Mapped[int] = mapped_column(primary_key=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    kind: Mapped[str] = mapped_column(String(8))
    name: Mapped[str] = mapped_column(String(200))
    commit: Mapped[str] = mapped_column(String(64))
    left: Mapped[str | None] = mapped_column(String(64))
    """The former commit, while it is unknown whether the branch has grown or was rewritten, because commits between the
    two are unknown, for example after a shallow clone. Until it is known, the former commit counts as living."""


class Host(Base):
    """A machine that runs cases."""

    __tablename__ = "host"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)


class Environment(Base):
    """The values of all settings during a run."""

    __tablename__ = "environment"
    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str] = mapped_column(String(16), unique=True)
    settings: Mapped[dict[str, Any]]


class Case(Base):
    """One workload at one point of its parameter matrix, with one definition."""

    __tablename__ = "case_"  # "case" is a word of SQL
    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(16), unique=True)
    """Hash of workload, definition and parameters: a name alone does not distinguish 1 from "1"."""
    workload: Mapped[str] = mapped_column(String(100))
    definition: Mapped[str] = mapped_column(String(16))
    parameters: Mapped[dict[str, Any]]
    name: Mapped[str] = mapped_column(Text, index=True)


class Run(Base):
    """The fields of a report that queries search and list."""

    __tablename__ = "run"
    __table_args__ = (
        Index(None, "subject_id", "host_id", "case_id", "environment_id"),
        Index("ix_run_subject_id_started_at", "subject_id", "started_at"),
        Index(None, "host_id", "started_at"),
        Index(None, "case_id", "started_at"),
        Index(None, "environment_id", "started_at"),
        # Partial indexes of rare rows, so that no query for common rows uses them by mistake.
        Index("ix_run_unmeasured", "started_at", sqlite_where=UNMEASURED, postgresql_where=UNMEASURED),
        Index("ix_run_quarantined", "started_at", sqlite_where=_IS_QUARANTINED, postgresql_where=_IS_QUARANTINED),
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    """Number of the run in the order of arrival. Points refer to it: it takes a tenth of the space of the id."""
    id: Mapped[UUID] = mapped_column(unique=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    revision_id: Mapped[int] = mapped_column(ForeignKey("revision.id"), index=True)
    case_id: Mapped[int] = mapped_column(ForeignKey("case_.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))
    outcome: Mapped[Outcome]
    failure_stage: Mapped[Stage | None]
    failure_message: Mapped[str | None] = mapped_column(Text)
    failure_temporary: Mapped[bool | None]
    """Whether another attempt can succeed; None if there was no failure, or the run is older than this column."""
    quarantine: Mapped[str | None] = mapped_column(Text)
    """Why the run is stored but never judged; None if it is judged.

    Besides reasons for quarantine, such as a wrong count of the canary, this can be the purpose of a run: it was
    measured for a bisect or its proof, or with the settings of a search, or its counts were reused.
    """
    session: Mapped[UUID | None]
    """The session; runs that were measured interleaved share it."""
    own_bytes: Mapped[str | None] = mapped_column(String(16))
    """Digest of the files of its revision that the program mapped and read; None if it is unknown."""
    system_bytes: Mapped[str | None] = mapped_column(String(16))
    """Digest of the files that the program mapped from outside of its revision; None if it is unknown."""
    doubt_least: Mapped[int | None] = mapped_column(BigInteger)
    doubt_most: Mapped[int | None] = mapped_column(BigInteger)
    """The range of the number of its faults in unprepared files; None if there are none."""
    started_at: Mapped[datetime] = mapped_column(index=True)
    finished_at: Mapped[datetime]
    levels: Mapped[str | None] = mapped_column(Text)
    """The levels that comparisons show, as JSON: an index of its points, see :mod:`service.store.runs.packed_levels`.
    None if the run was stored by an older version."""

    subject: Mapped[Subject] = relationship(lazy="raise")
    revision: Mapped[Revision] = relationship(lazy="raise")
    case: Mapped[Case] = relationship(lazy="raise")
    host: Mapped[Host] = relationship(lazy="raise")
    environment: Mapped[Environment] = relationship(lazy="raise")


class RunCount(Base):
    """The number of runs by subject, host, case and outcome, so that lists need not count the runs."""

    __tablename__ = "run_count"
    __table_args__ = (UniqueConstraint("subject_id", "host_id", "case_id", "outcome", "quarantined"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    case_id: Mapped[int] = mapped_column(ForeignKey("case_.id"))
    outcome: Mapped[Outcome]
    quarantined: Mapped[bool]
    runs: Mapped[int]


class EnvironmentCount(Base):
    """The number of runs by environment, host and subject, so that pages of environments need not count the runs."""

    __tablename__ = "environment_count"
    __table_args__ = (UniqueConstraint("environment_id", "host_id", "subject_id"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"), index=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    runs: Mapped[int]


class StoredReport(Base):
    """The whole report of a run, in its own table so that lists need not read it; partitioned like points."""

    __tablename__ = "report"
    run_number: Mapped[int] = mapped_column(ForeignKey("run.number"), primary_key=True, autoincrement=False)
    document: Mapped[bytes] = mapped_column(LargeBinary)
    """zlib-compressed JSON."""
    thinned: Mapped[bool] = mapped_column(default=False)
    """Whether retention has thinned it."""
    reduced: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether retention has left one sample of each noisy metric."""


class Series(Base):
    """One metric of one case of one subject on one host."""

    __tablename__ = "series"
    __table_args__ = (
        UniqueConstraint("subject_id", "host_id", "case_id", "metric"),
        Index("ix_series_stale", "id", sqlite_where=_IS_STALE, postgresql_where=_IS_STALE),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    case_id: Mapped[int] = mapped_column(ForeignKey("case_.id"), index=True)
    metric: Mapped[str] = mapped_column(Text)
    version: Mapped[int] = mapped_column(default=0)
    """Increases with each change that can affect drifts: a new point, or a new order of the history."""
    judged_version: Mapped[int] = mapped_column(default=0)
    """The version at which the stored drifts were detected."""
    n_points: Mapped[int] = mapped_column(default=0)
    latest: Mapped[Number | None]
    """Level at the newest revision that has a level."""
    latest_revision_id: Mapped[int | None] = mapped_column(ForeignKey("revision.id"))
    latest_at: Mapped[datetime | None]
    """When the newest level was measured."""
    judged: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether drifts are detected in it, according to the newest report."""
    budget: Mapped[str | None] = mapped_column(Text)
    """By how much the metric may get worse, as JSON, according to the newest report; None if there is no budget."""
    first_nightly_at: Mapped[datetime | None]
    """The start of the first nightly run that measured it; None if there is none."""
    last_nightly_at: Mapped[datetime | None]
    """The start of the last nightly run that measured it; None if there is none."""

    subject: Mapped[Subject] = relationship(lazy="raise")
    case: Mapped[Case] = relationship(lazy="raise")
    host: Mapped[Host] = relationship(lazy="raise")


class LastNumber(Base):
    """The largest number of a kind of rows when some were deleted, because SQLite would reuse it."""

    __tablename__ = "last_number"
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    number: Mapped[int]


class LoosePartition(Base):
    """A partition of PostgreSQL's tables in which space was freed, by its first run."""

    __tablename__ = "loose_part"
    first_run: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    freed: Mapped[int] = mapped_column(BigInteger)
    """Bytes that were deleted since the partition was written."""


class Point(Base):
    """One metric of one run. PostgreSQL partitions the table: see :mod:`service.store.engine.table_partitions`."""

    __tablename__ = "point"
    # Stored in the order of the primary key, so that the points of a series are adjacent on disk.
    __table_args__ = ({"sqlite_with_rowid": False},)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True)
    run_number: Mapped[int] = mapped_column(ForeignKey("run.number"), primary_key=True)
    status: Mapped[Status]
    value: Mapped[Number | None]
    n: Mapped[int]
    """Number of samples that have a value."""
    samples: Mapped[str | None] = mapped_column(Text)
    """The samples as JSON; None if each of them equals the value."""

    run: Mapped[Run] = relationship(lazy="raise")


class SparklineRow(Base):
    """A drawn sparkline of a series: a cache, rebuilt when the version of the series changes."""

    __tablename__ = "sparkline"
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"), primary_key=True, autoincrement=False)
    version: Mapped[int]
    document: Mapped[dict[str, Any]]


class DriftRow(Base):
    """A drift detected in a series: a cache, rebuilt when the version of the series changes."""

    __tablename__ = "drift"
    __table_args__ = (Index(None, "series_id", "position"),)
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"))
    cause: Mapped[Cause]
    committed_at: Mapped[datetime] = mapped_column(index=True)
    position: Mapped[int]
    document: Mapped[dict[str, Any]]
    """The drift as the API serves it."""
    event_id: Mapped[str | None] = mapped_column(String(16), index=True)
    """The event to which it belongs; None until the events are updated."""


class ProofRow(Base):
    """The verdict of an interleaved comparison of two commits on one metric."""

    __tablename__ = "proof"
    __table_args__ = (UniqueConstraint("session", "case_id", "metric"), Index(None, "subject_id", "host_id", "case_id"))
    id: Mapped[int] = mapped_column(primary_key=True)
    session: Mapped[UUID]
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    case_id: Mapped[int] = mapped_column(ForeignKey("case_.id"))
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))
    metric: Mapped[str] = mapped_column(Text)
    base: Mapped[str] = mapped_column(String(64))
    head: Mapped[str] = mapped_column(String(64))
    verdict: Mapped[Verdict]
    pairs: Mapped[int]
    before: Mapped[Number]
    after: Mapped[Number]
    measured_at: Mapped[datetime]
    excluded: Mapped[Number | None]
    """The smallest change that the pairs exclude; None if they exclude every change."""


class Event(Base):
    """Drifts with one cause at one location. It is kept, with its decisions, when none of them is detected any more."""

    __tablename__ = "event"
    __table_args__ = (
        Index(None, "subject_id", "committed_at"),
        # All columns by which the list of events is filtered and sorted, so that only the index has to be read.
        Index(
            "ix_event_importance",
            *("importance", "found_at", "id", "state", "found", "merged_into", "below_floor", "snoozed_until"),
            *("wakes_after", "subject_id", "cause", "direction", "certainty", "assignee"),
        ),
        Index("ix_event_assignee", "assignee", "state", sqlite_where=IS_ASSIGNED, postgresql_where=IS_ASSIGNED),
        Index("ix_event_wakes", "wakes_after", sqlite_where=_HAS_WAKE_RUN, postgresql_where=_HAS_WAKE_RUN),
    )
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    number: Mapped[int] = mapped_column(index=True)
    """Number of the event within its subject, in the order of detection."""
    cause: Mapped[Cause]
    state: Mapped[State]
    """The state after all of its decisions."""
    still_detected: Mapped[bool] = mapped_column("found")
    """Whether any of its drifts is still detected."""
    confirmed: Mapped[bool]
    merged_into: Mapped[str | None] = mapped_column(ForeignKey("event.id"))
    committed_at: Mapped[datetime]
    position: Mapped[int]
    first_seen_at: Mapped[datetime]
    changed_at: Mapped[datetime]
    document: Mapped[dict[str, Any]]
    """The part of its view that does not depend on decisions or silences."""
    found_at: Mapped[datetime] = mapped_column(server_default=_EARLIEST_TIME)
    """When it was first detected, or when it came back."""
    direction: Mapped[EventDirection] = mapped_column(default=EventDirection.REGRESSION, server_default="regression")
    certainty: Mapped[Certainty] = mapped_column(default=Certainty.PROVISIONAL, server_default="provisional")
    size: Mapped[float] = mapped_column(default=0, server_default="0")
    """Its largest change, in percent."""
    price: Mapped[float] = mapped_column(default=0, server_default="0")
    """The price of its most expensive change, in seconds of CPU time; estimated if it was not measured."""
    importance: Mapped[float]
    """The importance: see :mod:`service.rules.events.importance`."""
    below_floor: Mapped[bool] = mapped_column(default=False, server_default=false())
    assignee: Mapped[str] = mapped_column(String(100), default="", server_default="")
    """The assignee; empty if nobody is assigned."""
    snoozed_until: Mapped[datetime | None]
    wakes_after: Mapped[int | None]
    """Snoozed until one of its series has a run with a number above this; None if it does not wait for a run."""


class VisitRow(Base):
    """The current visit of a reader who has signed in: see :mod:`service.rules.events.visit`."""

    __tablename__ = "visit"
    token_id: Mapped[str] = mapped_column(ForeignKey("token.id"), primary_key=True)
    since: Mapped[datetime | None]
    seen_at: Mapped[datetime]


class EventDriftRow(Base):
    """A drift of an event with its location. The row is kept when the drift disappears, as it may be detected again."""

    __tablename__ = "event_drift"
    # To find out whether an event has a drift on a host, only this index has to be read.
    __table_args__ = (
        Index(None, "event_id", "found", "series_id"),
        Index("ix_event_drift_reported_in", "reported_in", sqlite_where=_IS_REPORTED, postgresql_where=_IS_REPORTED),
    )
    drift_id: Mapped[str] = mapped_column(String(16), primary_key=True)
    event_id: Mapped[str] = mapped_column(ForeignKey("event.id"))
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"), index=True)
    series_id: Mapped[int | None] = mapped_column(ForeignKey("series.id"), index=True)
    """None for a shift of a whole suite."""
    cause: Mapped[Cause]
    detail: Mapped[str] = mapped_column(String(200))
    first_revision_id: Mapped[int] = mapped_column(ForeignKey("revision.id"))
    last_revision_id: Mapped[int] = mapped_column(ForeignKey("revision.id"))
    since: Mapped[datetime]
    until: Mapped[datetime]
    before: Mapped[Number]
    after: Mapped[Number]
    spread: Mapped[Number]
    worse: Mapped[bool]
    revision: Mapped[str] = mapped_column(String(64))
    rule: Mapped[str] = mapped_column(String(40))
    facts: Mapped[str | None] = mapped_column(String(16))
    """A hash of further facts that the event shows, such as a proof; None if an earlier version stored the drift."""
    run_after: Mapped[UUID | None]
    unsure: Mapped[bool]
    returned: Mapped[bool]
    still_detected: Mapped[bool] = mapped_column("found")
    """Whether the drift is still detected."""
    withdrawal: Mapped[str | None] = mapped_column(Text)
    """Why the drift is withdrawn: no longer certain, or no longer detected. None if it is certain, or never was."""
    found_at: Mapped[datetime]
    """When it was first found."""
    reported_in: Mapped[str | None] = mapped_column(String(100))
    """The nightly run that reported it; None if no nightly run did."""


class DecisionRow(Base):
    """An entry in the log of an event. Entries are added, never changed."""

    __tablename__ = "decision"
    __table_args__ = (UniqueConstraint("event_id", "original_id"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(ForeignKey("event.id"), index=True)
    action: Mapped[Action]
    author: Mapped[str] = mapped_column(String(100))
    by_service: Mapped[bool]
    at: Mapped[datetime]
    reason: Mapped[str] = mapped_column(Text)
    commit: Mapped[str | None] = mapped_column(String(64))
    original_id: Mapped[int | None] = mapped_column(ForeignKey("decision.id"))
    """The entry of another event of which this one is a copy, made when that event was split or merged."""


class SilenceRow(Base):
    """Suppresses the notifications of matching drifts until a time. A silence that somebody ends early is kept."""

    __tablename__ = "silence"
    id: Mapped[int] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(Text)
    host: Mapped[str] = mapped_column(Text)
    case: Mapped[str] = mapped_column(Text)
    metric: Mapped[str] = mapped_column(Text)
    author: Mapped[str] = mapped_column(String(100))
    reason: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    until: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[str | None] = mapped_column(String(100))


class SuiteCheck(Base):
    """The check of one metric of a whole suite at one revision, and the shift that it has found."""

    __tablename__ = "suite_look"
    __table_args__ = (UniqueConstraint("subject_id", "host_id", "metric", "revision_id"),)
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    metric: Mapped[str] = mapped_column(Text)
    revision_id: Mapped[int] = mapped_column(ForeignKey("revision.id"))
    document: Mapped[dict[str, Any] | None]
    """The shift, as a drift without a series; None if nothing shifted."""


class CrossMeasurementRow(Base):
    """A cross-measurement: each of two revisions with different environments is measured in the other's environment."""

    __tablename__ = "cross_measurement"
    __table_args__ = (
        UniqueConstraint(
            "series_id",
            "revision_before_id",
            "revision_after_id",
            "environment_before_id",
            "environment_after_id",
            name="uq_cross_measurement_place",
        ),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    series_id: Mapped[int] = mapped_column(ForeignKey("series.id"))
    revision_before_id: Mapped[int] = mapped_column(ForeignKey("revision.id"))
    revision_after_id: Mapped[int] = mapped_column(ForeignKey("revision.id"))
    environment_before_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))
    environment_after_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))


class Channel(Base):
    """A notification channel, stored when the service first uses it."""

    __tablename__ = "channel"
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    since: Mapped[datetime]
    digest_at: Mapped[datetime | None]
    """When its last digest was due."""


class DeliveryRow(Base):
    """The notification of an event through a channel: for each occasion, at most one row and one message."""

    __tablename__ = "delivery"
    __table_args__ = (UniqueConstraint("channel", "event_id", "occasion"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    channel: Mapped[str] = mapped_column(ForeignKey("channel.name"))
    event_id: Mapped[str] = mapped_column(ForeignKey("event.id"))
    occasion: Mapped[str] = mapped_column(String(40))
    """``new``, or ``reopened`` or ``withdrawn`` with the number of the decision."""
    message_id: Mapped[str | None] = mapped_column(String(40), index=True)
    """Key of the message, which is the same for each attempt to send it."""
    attempts: Mapped[int]
    next_at: Mapped[datetime]
    """Earliest time of the next attempt, after the message has failed or while another process is sending it."""
    sent_at: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)


class Token(Base):
    """An access token: see service.web.access. Only its bearer knows the secret."""

    __tablename__ = "token"
    id: Mapped[str] = mapped_column(String(12), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the secret."""
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    repository: Mapped[str | None] = mapped_column(String(140))
    """For the token of an Actions job: the only repository that it may report about."""
    hosts: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    """Patterns of the host names under which it may report; None for all: service.rules.access.token_limits."""
    subjects: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    """Patterns of the subjects about which it may report; None for all."""
    repositories: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    """Patterns of the repositories for which it may register runners; None for all."""

    def is_valid(self, now: datetime) -> bool:
        """Return whether the token is valid at a time."""
        return self.revoked_at is None and self.created_at <= now < self.expires_at


class AuditRow(Base):
    """An entry of the audit log: who did what, and when. The database refuses to change or delete entries."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    author: Mapped[str] = mapped_column(String(140))
    """The name of the token, a GitHub login, or ``command line: USER``; empty if nobody signed in."""
    token_id: Mapped[str | None] = mapped_column(String(12))
    address: Mapped[str] = mapped_column(String(64))
    """Where the request came from; empty if there was none."""
    action: Mapped[str] = mapped_column(String(40), index=True)
    target: Mapped[str] = mapped_column(String(200))
    detail: Mapped[dict[str, Any]]


class FailedSignIn(Base):
    """A sign-in with a wrong token or identity, which counts for some minutes and is then deleted."""

    __tablename__ = "failed_sign_in"
    id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(index=True)


class ForgeDelivery(Base):
    """A webhook received from a forge. Its payload is deleted once it is handled; its id is kept.

    The tables of all forges are named after the first forge, GitHub.
    """

    __tablename__ = "github_delivery"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the payload, which identifies it, because the signature does not cover the id."""
    event: Mapped[str] = mapped_column(String(50))
    """With its forge, as :mod:`service.forges.qualified_names` writes it."""
    payload: Mapped[str | None] = mapped_column(Text)
    received_at: Mapped[datetime]
    attempts: Mapped[int] = mapped_column(default=0)
    due_at: Mapped[datetime | None] = mapped_column(index=True)
    """When to handle it; None once it is handled."""
    error: Mapped[str | None] = mapped_column(Text)


class ForgePull(Base):
    """A pull request named by a webhook or a report."""

    __tablename__ = "github_pull"
    __table_args__ = (UniqueConstraint("repository", "number"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    repository: Mapped[str] = mapped_column(String(140))
    """Its name with the forge (see :mod:`service.forges.qualified_names`), in lower case, as forges ignore the case."""
    number: Mapped[int]
    comment_id: Mapped[int | None] = mapped_column(BigInteger)
    """The comment that is edited in place."""
    busy_until: Mapped[datetime | None]
    """The end of a worker's lease: until then, only this worker writes to the pull request."""


class ForgeGate(Base):
    """The gate of one head of a pull request: its measurements and its publication."""

    __tablename__ = "github_gate"
    __table_args__ = (UniqueConstraint("pull_id", "head"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    pull_id: Mapped[int] = mapped_column(ForeignKey("github_pull.id"))
    head: Mapped[str] = mapped_column(String(64), index=True)
    document: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The newest report, as zlib-compressed JSON; None until something is measured."""
    measured_at: Mapped[datetime | None]
    accepted_by: Mapped[str | None] = mapped_column(String(100))
    accepted_reason: Mapped[str] = mapped_column(Text, default="")
    baselines: Mapped[dict[str, Any] | None]
    """The baselines of its series at the time of the report."""
    merged_as: Mapped[str | None] = mapped_column(String(64))
    """The commit that merged it into its base."""
    merged_at: Mapped[datetime | None]
    wanted: Mapped[int] = mapped_column(default=0)
    """The newest version, which has to be published."""
    told: Mapped[int] = mapped_column(default=0)
    """The version that was published last."""
    attempts: Mapped[int] = mapped_column(default=0)
    due_at: Mapped[datetime | None] = mapped_column(index=True)
    error: Mapped[str | None] = mapped_column(Text)

    pull: Mapped[ForgePull] = relationship(lazy="raise")


class ActionsToken(Base):
    """An identity token of an Actions job that was used to sign in; each one is accepted only once."""

    __tablename__ = "actions_token"
    jti: Mapped[str] = mapped_column(String(200), primary_key=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class NightlyRun(Base):
    """A nightly run: its plan, and the reports of its hosts."""

    __tablename__ = "nightly_run"
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    started_at: Mapped[datetime]
    repository: Mapped[str | None] = mapped_column(String(140))
    """The repository whose Actions jobs may report about it; None if no job may."""
    document: Mapped[dict[str, Any]]
    """Its cells."""


class StoredProfile(Base):
    """A profile: where a case of a revision faults and spends its time. It is not a run, and adds no samples."""

    __tablename__ = "profile"
    __table_args__ = (Index("ix_profile_revision_id_case_id", "revision_id", "case_id"),)
    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(unique=True)
    subject_id: Mapped[int] = mapped_column(ForeignKey("subject.id"))
    revision_id: Mapped[int] = mapped_column(ForeignKey("revision.id"))
    case_id: Mapped[int] = mapped_column(ForeignKey("case_.id"))
    host_id: Mapped[int] = mapped_column(ForeignKey("host.id"))
    environment_id: Mapped[int] = mapped_column(ForeignKey("environment.id"))
    started_at: Mapped[datetime] = mapped_column(index=True)
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the document as sent: distinguishes a repeated profile from a different one with the same id."""
    summary: Mapped[bytes] = mapped_column("gist", LargeBinary)
    """The profile summary, without stacks, as zlib-compressed JSON: pages show it before they load the stacks."""
    document: Mapped[bytes] = mapped_column(LargeBinary)
    """The whole profile as gzip-compressed JSON, which browsers accept as it is."""
    thinned: Mapped[bool] = mapped_column(default=False)
    """Whether retention has merged the lighter stacks."""


class Job(Base):
    """Work ordered from a host, and its progress."""

    __tablename__ = "job"
    id: Mapped[int] = mapped_column(primary_key=True)
    question: Mapped[dict[str, Any]]
    kind: Mapped[str] = mapped_column(String(16))
    subject: Mapped[str] = mapped_column(String(100), index=True)
    """The name of the subject, which need not have been measured yet."""
    fingerprint: Mapped[str] = mapped_column(String(16), index=True)
    """Hash of the question, the backend and the repository: two open jobs never share it."""
    state: Mapped[JobState] = mapped_column(index=True)
    backend: Mapped[Backend]
    github: Mapped[str | None] = mapped_column(String(140))
    """The repository in whose Actions it runs, in lower case."""
    asked_by: Mapped[str] = mapped_column(String(100))
    asked_in: Mapped[Where]
    thread: Mapped[str] = mapped_column(String(160))
    created_at: Mapped[datetime]
    changed_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    deadline_at: Mapped[datetime | None]
    max_runs: Mapped[int | None] = mapped_column("most_runs")
    attempts: Mapped[int]
    fruitless: Mapped[int]
    """Number of starts since the last new measurement."""
    due_at: Mapped[datetime | None]
    """Earliest time of the next dispatch."""
    host: Mapped[str | None] = mapped_column(String(100))
    lease: Mapped[str | None] = mapped_column(String(40))
    """The secret that its runner presents with each report; None if no runner holds a lease."""
    leased_until: Mapped[datetime | None]
    leased_by: Mapped[str | None] = mapped_column(String(160))
    """The holder of the lease: a token's id, or the repository of an Actions job; None if callers need no token."""
    runs: Mapped[list[str]]
    runs_left: Mapped[int | None]
    seconds_left: Mapped[float | None]
    sentence: Mapped[str] = mapped_column(Text)
    log_url: Mapped[str] = mapped_column(Text)
    result: Mapped[dict[str, Any] | None]
    steps: Mapped[list[Any]] = mapped_column("course", JSON)
    """The history of its states, as the API serves them."""
    post_at: Mapped[datetime | None] = mapped_column(index=True)
    """When its result is due to be posted in its thread; None if there is none."""
    post_attempts: Mapped[int]
    """Number of attempts to post the result."""
