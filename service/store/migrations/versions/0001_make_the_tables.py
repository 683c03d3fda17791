"""Make the schema of the first version."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

RUNS = 1 << 18
"""Runs of a part, as service.store.engine.table_partitions has it."""
_REFUSED = "entries of the audit log are added, never changed"
_NAMES = """
    subject.name AS subject, case_.name AS "case", case_.workload, host.name AS host, environment.hash AS environment,
    revision.commit AS revision, revision.position, revision.committed_at, run.id AS run_id, run.started_at,
    run.quarantine IS NOT NULL AS quarantined, series.metric, point.status
"""
_TABLES = """
    point
    JOIN series ON series.id = point.series_id
    JOIN run ON run.number = point.run_number
    JOIN subject ON subject.id = series.subject_id
    JOIN host ON host.id = series.host_id
    JOIN case_ ON case_.id = series.case_id
    JOIN revision ON revision.id = run.revision_id
    JOIN environment ON environment.id = run.environment_id
"""
_SAMPLES = """
    CROSS JOIN LATERAL (
        SELECT place - 1 AS sample, value FROM jsonb_array_elements(point.samples::jsonb)
        WITH ORDINALITY AS packed(value, place)
        UNION ALL
        SELECT place - 1, to_jsonb(point.value::numeric) FROM generate_series(1, point.n) AS place
        WHERE point.samples IS NULL
    ) AS taken
"""


def upgrade() -> None:
    """Make all tables; on PostgreSQL, also the views that show levels and samples as numbers."""
    _make_subjects()
    _make_runs()
    _make_series()
    _make_events()
    _make_jobs()
    _make_access()
    if _is_postgresql():
        _make_view("level", "point.value::numeric AS value, point.n", _TABLES)
        _make_view("sample", "taken.sample, taken.value::numeric AS value", f"{_TABLES} {_SAMPLES}")


def _make_subjects() -> None:
    """Make what runs refer to: subjects with their commits, hosts, cases, environments."""
    op.create_table(
        "subject",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("repository", sa.String(length=140)),
        sa.Column("drifts_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("events_version", sa.Integer(), server_default="0", nullable=False),
        sa.Column("bisect_policy", sa.String(length=16), server_default="ask", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_subject"),
        sa.UniqueConstraint("name", name="uq_subject_name"),
    )
    op.create_table(
        "revision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("commit", sa.String(length=64), nullable=False),
        sa.Column("parents", sa.JSON(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_revision_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_revision"),
        sa.UniqueConstraint("subject_id", "commit", name="uq_revision_subject_id"),
    )
    op.create_index("ix_revision_subject_id", "revision", ["subject_id", "position"])
    op.create_table(
        "ref",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("commit", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_ref_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_ref"),
        sa.UniqueConstraint("subject_id", "kind", "name", name="uq_ref_subject_id"),
    )
    op.create_index("ix_ref_name", "ref", ["name"])
    op.create_table(
        "host",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_host"),
        sa.UniqueConstraint("name", name="uq_host_name"),
    )
    op.create_table(
        "case_",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=16), nullable=False),
        sa.Column("workload", sa.String(length=100), nullable=False),
        sa.Column("definition", sa.String(length=16), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_case_"),
        sa.UniqueConstraint("key", name="uq_case__key"),
    )
    op.create_index("ix_case__name", "case_", ["name"])
    op.create_table(
        "environment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=16), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_environment"),
        sa.UniqueConstraint("hash", name="uq_environment_hash"),
    )


def _make_runs() -> None:
    """Make runs, what counts them, and their profiles."""
    op.create_table(
        "run",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("failure_stage", sa.String(length=16)),
        sa.Column("failure_message", sa.Text()),
        sa.Column("failure_temporary", sa.Boolean()),
        sa.Column("quarantine", sa.Text()),
        sa.Column("session", sa.Uuid()),
        sa.Column("own_bytes", sa.String(length=16)),
        sa.Column("system_bytes", sa.String(length=16)),
        sa.Column("doubt_least", sa.BigInteger()),
        sa.Column("doubt_most", sa.BigInteger()),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_run_case_id"),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name="fk_run_environment_id"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_run_host_id"),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name="fk_run_revision_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_run_subject_id"),
        sa.PrimaryKeyConstraint("number", name="pk_run"),
        sa.UniqueConstraint("id", name="uq_run_id"),
    )
    op.create_index("ix_run_case_id", "run", ["case_id", "started_at"])
    op.create_index("ix_run_environment_id", "run", ["environment_id", "started_at"])
    op.create_index("ix_run_host_id", "run", ["host_id", "started_at"])
    op.create_index("ix_run_quarantined", "run", ["started_at"], **_where("quarantine IS NOT NULL"))
    op.create_index("ix_run_revision_id", "run", ["revision_id"])
    op.create_index("ix_run_started_at", "run", ["started_at"])
    op.create_index("ix_run_subject_id", "run", ["subject_id", "host_id", "case_id", "environment_id"])
    op.create_index("ix_run_subject_id_started_at", "run", ["subject_id", "started_at"])
    op.create_index("ix_run_unmeasured", "run", ["started_at"], **_where("outcome <> 'measured'"))
    op.create_table(
        "run_count",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("quarantined", sa.Boolean(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_run_count_case_id"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_run_count_host_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_run_count_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_run_count"),
        sa.UniqueConstraint(
            "subject_id", "host_id", "case_id", "outcome", "quarantined", name="uq_run_count_subject_id"
        ),
    )
    op.create_table(
        "environment_count",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name="fk_environment_count_environment_id"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_environment_count_host_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_environment_count_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_environment_count"),
        sa.UniqueConstraint("environment_id", "host_id", "subject_id", name="uq_environment_count_environment_id"),
    )
    op.create_index("ix_environment_count_host_id", "environment_count", ["host_id"])
    op.create_table(
        "profile",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("gist", sa.LargeBinary(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("thinned", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_profile_case_id"),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name="fk_profile_environment_id"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_profile_host_id"),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name="fk_profile_revision_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_profile_subject_id"),
        sa.PrimaryKeyConstraint("number", name="pk_profile"),
        sa.UniqueConstraint("id", name="uq_profile_id"),
    )
    op.create_index("ix_profile_revision_id_case_id", "profile", ["revision_id", "case_id"])
    op.create_index("ix_profile_started_at", "profile", ["started_at"])
    op.create_table(
        "last_number",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("kind", name="pk_last_number"),
    )
    op.create_table(
        "loose_part",
        sa.Column("first_run", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("freed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("first_run", name="pk_loose_part"),
    )


def _make_series() -> None:
    """Make series, their points and drifts, and the reports of the runs."""
    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("judged_version", sa.Integer(), nullable=False),
        sa.Column("n_points", sa.Integer(), nullable=False),
        sa.Column("latest", sa.Text()),
        sa.Column("latest_revision_id", sa.Integer()),
        sa.Column("latest_at", sa.DateTime(timezone=True)),
        sa.Column("judged", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("budget", sa.Text()),
        sa.Column("first_nightly_at", sa.DateTime(timezone=True)),
        sa.Column("last_nightly_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_series_case_id"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_series_host_id"),
        sa.ForeignKeyConstraint(["latest_revision_id"], ["revision.id"], name="fk_series_latest_revision_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_series_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.UniqueConstraint("subject_id", "host_id", "case_id", "metric", name="uq_series_subject_id"),
    )
    op.create_index("ix_series_case_id", "series", ["case_id"])
    op.create_index("ix_series_stale", "series", ["id"], **_where("version <> judged_version"))
    _make_divided(
        "point",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("samples", sa.Text()),
        key=("series_id", "run_number"),
        refers={"run_number": "run.number", "series_id": "series.id"},
        sqlite_with_rowid=False,
    )
    _make_divided(
        "report",
        sa.Column("run_number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("thinned", sa.Boolean(), nullable=False),
        sa.Column("reduced", sa.Boolean(), server_default=sa.false(), nullable=False),
        key=("run_number",),
        refers={"run_number": "run.number"},
    )
    op.create_table(
        "sparkline",
        sa.Column("series_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_sparkline_series_id"),
        sa.PrimaryKeyConstraint("series_id", name="pk_sparkline"),
    )
    op.create_table(
        "drift",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=16), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("event_id", sa.String(length=16)),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_drift_series_id"),
        sa.PrimaryKeyConstraint("id", name="pk_drift"),
    )
    op.create_index("ix_drift_committed_at", "drift", ["committed_at"])
    op.create_index("ix_drift_event_id", "drift", ["event_id"])
    op.create_index("ix_drift_series_id", "drift", ["series_id", "position"])
    op.create_table(
        "cross_measurement",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("revision_before_id", sa.Integer(), nullable=False),
        sa.Column("revision_after_id", sa.Integer(), nullable=False),
        sa.Column("environment_before_id", sa.Integer(), nullable=False),
        sa.Column("environment_after_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_after_id"], ["environment.id"], name="fk_cross_measurement_environment_after_id"
        ),
        sa.ForeignKeyConstraint(
            ["environment_before_id"], ["environment.id"], name="fk_cross_measurement_environment_before_id"
        ),
        sa.ForeignKeyConstraint(["revision_after_id"], ["revision.id"], name="fk_cross_measurement_revision_after_id"),
        sa.ForeignKeyConstraint(
            ["revision_before_id"], ["revision.id"], name="fk_cross_measurement_revision_before_id"
        ),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_cross_measurement_series_id"),
        sa.PrimaryKeyConstraint("id", name="pk_cross_measurement"),
        sa.UniqueConstraint(
            "series_id",
            "revision_before_id",
            "revision_after_id",
            "environment_before_id",
            "environment_after_id",
            name="uq_cross_measurement_place",
        ),
    )
    op.create_table(
        "suite_look",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON()),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_suite_look_host_id"),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name="fk_suite_look_revision_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_suite_look_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_suite_look"),
        sa.UniqueConstraint("subject_id", "host_id", "metric", "revision_id", name="uq_suite_look_subject_id"),
    )


def _make_events() -> None:
    """Make events, what was decided about them, and who was told."""
    op.create_table(
        "event",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("found", sa.Boolean(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.Column("merged_into", sa.String(length=16)),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), server_default="1970-01-01 00:00:00", nullable=False),
        sa.Column("direction", sa.String(length=16), server_default="regression", nullable=False),
        sa.Column("certainty", sa.String(length=16), server_default="provisional", nullable=False),
        sa.Column("size", sa.Double(), server_default="0", nullable=False),
        sa.Column("price", sa.Double(), server_default="0", nullable=False),
        sa.Column("importance", sa.Double(), nullable=False),
        sa.Column("below_floor", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("assignee", sa.String(length=100), server_default="", nullable=False),
        sa.Column("snoozed_until", sa.DateTime(timezone=True)),
        sa.Column("wakes_after", sa.Integer()),
        sa.ForeignKeyConstraint(["merged_into"], ["event.id"], name="fk_event_merged_into"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_event_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
    )
    op.create_index("ix_event_assignee", "event", ["assignee", "state"], **_where("assignee <> ''"))
    op.create_index(
        "ix_event_importance",
        "event",
        [
            "importance",
            "found_at",
            "id",
            "state",
            "found",
            "merged_into",
            "below_floor",
            "snoozed_until",
            "wakes_after",
            "subject_id",
            "cause",
            "direction",
            "certainty",
            "assignee",
        ],
    )
    op.create_index("ix_event_number", "event", ["number"])
    op.create_index("ix_event_subject_id", "event", ["subject_id", "committed_at"])
    op.create_index("ix_event_wakes", "event", ["wakes_after"], **_where("wakes_after IS NOT NULL"))
    op.create_table(
        "event_drift",
        sa.Column("drift_id", sa.String(length=16), nullable=False),
        sa.Column("event_id", sa.String(length=16), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer()),
        sa.Column("cause", sa.String(length=16), nullable=False),
        sa.Column("detail", sa.String(length=200), nullable=False),
        sa.Column("first_revision_id", sa.Integer(), nullable=False),
        sa.Column("last_revision_id", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("spread", sa.Text(), nullable=False),
        sa.Column("worse", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.String(length=64), nullable=False),
        sa.Column("rule", sa.String(length=40), nullable=False),
        sa.Column("run_after", sa.Uuid()),
        sa.Column("unsure", sa.Boolean(), nullable=False),
        sa.Column("returned", sa.Boolean(), nullable=False),
        sa.Column("found", sa.Boolean(), nullable=False),
        sa.Column("withdrawal", sa.Text()),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reported_in", sa.String(length=100)),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], name="fk_event_drift_event_id"),
        sa.ForeignKeyConstraint(["first_revision_id"], ["revision.id"], name="fk_event_drift_first_revision_id"),
        sa.ForeignKeyConstraint(["last_revision_id"], ["revision.id"], name="fk_event_drift_last_revision_id"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_event_drift_series_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_event_drift_subject_id"),
        sa.PrimaryKeyConstraint("drift_id", name="pk_event_drift"),
    )
    op.create_index("ix_event_drift_event_id", "event_drift", ["event_id", "found", "series_id"])
    op.create_index("ix_event_drift_series_id", "event_drift", ["series_id"])
    op.create_index("ix_event_drift_subject_id", "event_drift", ["subject_id"])
    op.create_index("ix_event_drift_reported_in", "event_drift", ["reported_in"], **_where("reported_in IS NOT NULL"))
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.String(length=16), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("author", sa.String(length=100), nullable=False),
        sa.Column("by_service", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("commit", sa.String(length=64)),
        sa.Column("original_id", sa.Integer()),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], name="fk_decision_event_id"),
        sa.ForeignKeyConstraint(["original_id"], ["decision.id"], name="fk_decision_original_id"),
        sa.PrimaryKeyConstraint("id", name="pk_decision"),
        sa.UniqueConstraint("event_id", "original_id", name="uq_decision_event_id"),
    )
    op.create_index("ix_decision_event_id", "decision", ["event_id"])
    op.create_table(
        "silence",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("case", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("author", sa.String(length=100), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("ended_by", sa.String(length=100)),
        sa.PrimaryKeyConstraint("id", name="pk_silence"),
    )
    op.create_table(
        "channel",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("name", name="pk_channel"),
    )
    op.create_table(
        "delivery",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("channel", sa.String(length=100), nullable=False),
        sa.Column("event_id", sa.String(length=16), nullable=False),
        sa.Column("occasion", sa.String(length=40), nullable=False),
        sa.Column("message_id", sa.String(length=40)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
        sa.Column("error", sa.Text()),
        sa.ForeignKeyConstraint(["channel"], ["channel.name"], name="fk_delivery_channel"),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], name="fk_delivery_event_id"),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
        sa.UniqueConstraint("channel", "event_id", "occasion", name="uq_delivery_channel"),
    )
    op.create_index("ix_delivery_message_id", "delivery", ["message_id"])
    op.create_table(
        "nightly_run",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("repository", sa.String(length=140)),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_night"),
    )


def _make_jobs() -> None:
    """Make jobs, and what the forges sent and are sent."""
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("question", sa.JSON(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=100), nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("backend", sa.String(length=16), nullable=False),
        sa.Column("github", sa.String(length=140)),
        sa.Column("asked_by", sa.String(length=100), nullable=False),
        sa.Column("asked_in", sa.String(length=16), nullable=False),
        sa.Column("thread", sa.String(length=160), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("deadline_at", sa.DateTime(timezone=True)),
        sa.Column("most_runs", sa.Integer()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("fruitless", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("host", sa.String(length=100)),
        sa.Column("lease", sa.String(length=40)),
        sa.Column("leased_until", sa.DateTime(timezone=True)),
        sa.Column("leased_by", sa.String(length=160)),
        sa.Column("runs", sa.JSON(), nullable=False),
        sa.Column("runs_left", sa.Integer()),
        sa.Column("seconds_left", sa.Double()),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("log_url", sa.Text(), nullable=False),
        sa.Column("result", sa.JSON()),
        sa.Column("course", sa.JSON(), nullable=False),
        sa.Column("post_at", sa.DateTime(timezone=True)),
        sa.Column("post_attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    op.create_index("ix_job_fingerprint", "job", ["fingerprint"])
    op.create_index("ix_job_state", "job", ["state"])
    op.create_index("ix_job_subject", "job", ["subject"])
    op.create_index("ix_job_post_at", "job", ["post_at"])
    op.create_table(
        "github_delivery",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("event", sa.String(length=50), nullable=False),
        sa.Column("payload", sa.Text()),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_github_delivery"),
        sa.UniqueConstraint("digest", name="uq_github_delivery_digest"),
    )
    op.create_index("ix_github_delivery_due_at", "github_delivery", ["due_at"])
    op.create_table(
        "github_pull",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(length=140), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("comment_id", sa.BigInteger()),
        sa.Column("busy_until", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_github_pull"),
        sa.UniqueConstraint("repository", "number", name="uq_github_pull_repository"),
    )
    op.create_table(
        "github_gate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pull_id", sa.Integer(), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("document", sa.LargeBinary()),
        sa.Column("measured_at", sa.DateTime(timezone=True)),
        sa.Column("accepted_by", sa.String(length=100)),
        sa.Column("accepted_reason", sa.Text(), nullable=False),
        sa.Column("baselines", sa.JSON()),
        sa.Column("merged_as", sa.String(length=64)),
        sa.Column("merged_at", sa.DateTime(timezone=True)),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("told", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("error", sa.Text()),
        sa.ForeignKeyConstraint(["pull_id"], ["github_pull.id"], name="fk_github_gate_pull_id"),
        sa.PrimaryKeyConstraint("id", name="pk_github_gate"),
        sa.UniqueConstraint("pull_id", "head", name="uq_github_gate_pull_id"),
    )
    op.create_index("ix_github_gate_due_at", "github_gate", ["due_at"])
    op.create_index("ix_github_gate_head", "github_gate", ["head"])


def _make_access() -> None:
    """Make tokens, what their owners do, and the log that the database itself keeps as it is."""
    op.create_table(
        "token",
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.Column("repository", sa.String(length=140)),
        sa.Column("hosts", sa.JSON(none_as_null=True)),
        sa.Column("subjects", sa.JSON(none_as_null=True)),
        sa.Column("repositories", sa.JSON(none_as_null=True)),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
    )
    op.create_table(
        "visit",
        sa.Column("token_id", sa.String(length=12), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True)),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["token_id"], ["token.id"], name="fk_visit_token_id"),
        sa.PrimaryKeyConstraint("token_id", name="pk_visit"),
    )
    op.create_table(
        "actions_token",
        sa.Column("jti", sa.String(length=200), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("jti", name="pk_actions_token"),
    )
    op.create_index("ix_actions_token_expires_at", "actions_token", ["expires_at"])
    op.create_table(
        "failed_sign_in",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_failed_sign_in"),
    )
    op.create_index("ix_failed_sign_in_at", "failed_sign_in", ["at"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("author", sa.String(length=140), nullable=False),
        sa.Column("token_id", sa.String(length=12)),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_action", "audit", ["action"])
    op.create_index("ix_audit_at", "audit", ["at"])
    _keep_audit()


def _is_postgresql() -> bool:
    return op.get_bind().dialect.name == "postgresql"


def _where(condition: str) -> dict[str, Any]:
    """Return the options of an index of the rows that meet a condition."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _make_divided(
    table: str, *columns: sa.Column[Any], key: tuple[str, ...], refers: dict[str, str], **options: Any
) -> None:
    """Make a table that PostgreSQL stores in parts, by the numbers of the runs, with its first part.

    The parts have no foreign keys: with them, making a part would lock runs and series, and deleting a run would read
    all points. SQLite has them; who deletes runs there switches the check off.
    """
    primary = sa.PrimaryKeyConstraint(*key, name=f"pk_{table}")
    if not _is_postgresql():
        foreign = [sa.ForeignKeyConstraint([own], [of], name=f"fk_{table}_{own}") for own, of in refers.items()]
        op.create_table(table, *columns, *foreign, primary, **options)
        return
    op.create_table(table, *columns, primary, postgresql_partition_by="RANGE (run_number)")
    first = f"{table}_p0"
    op.execute(f"CREATE TABLE {first} (LIKE {table} INCLUDING DEFAULTS)")
    op.create_primary_key(f"pk_{first}", first, list(key))
    op.execute(f"ALTER TABLE {table} ATTACH PARTITION {first} FOR VALUES FROM (MINVALUE) TO ({RUNS})")


def _make_view(view: str, columns: str, tables: str) -> None:
    op.execute(f"CREATE VIEW {view} AS SELECT {_NAMES}, {columns} FROM {tables}")  # noqa: S608 - no user input


def _keep_audit() -> None:
    """Have the database refuse changes of the audit log."""
    if _is_postgresql():
        op.execute(
            "CREATE OR REPLACE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keeps()"
        )
        return
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_keeps_{event.lower()} BEFORE {event} ON audit "
            f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
        )
