"""Make events, what is decided about them, and how they are told."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables of events, and let the events of the drifts that are there be made."""
    op.create_table(
        "channel",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_channel")),
    )
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_silence")),
    )
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
        sa.ForeignKeyConstraint(["merged_into"], ["event.id"], name=op.f("fk_event_merged_into")),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_event_subject_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index(op.f("ix_event_number"), "event", ["number"])
    op.create_index(op.f("ix_event_state"), "event", ["state"])
    op.create_index(op.f("ix_event_subject_id"), "event", ["subject_id", "committed_at"])
    op.create_table(
        "crossing",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("revision_before_id", sa.Integer(), nullable=False),
        sa.Column("revision_after_id", sa.Integer(), nullable=False),
        sa.Column("environment_before_id", sa.Integer(), nullable=False),
        sa.Column("environment_after_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_after_id"], ["environment.id"], name=op.f("fk_crossing_environment_after_id")
        ),
        sa.ForeignKeyConstraint(
            ["environment_before_id"], ["environment.id"], name=op.f("fk_crossing_environment_before_id")
        ),
        sa.ForeignKeyConstraint(["revision_after_id"], ["revision.id"], name=op.f("fk_crossing_revision_after_id")),
        sa.ForeignKeyConstraint(["revision_before_id"], ["revision.id"], name=op.f("fk_crossing_revision_before_id")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_crossing_series_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crossing")),
        sa.UniqueConstraint(
            "series_id",
            "revision_before_id",
            "revision_after_id",
            "environment_before_id",
            "environment_after_id",
            name="uq_crossing_place",
        ),
    )
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
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], name=op.f("fk_decision_event_id")),
        sa.ForeignKeyConstraint(["original_id"], ["decision.id"], name=op.f("fk_decision_original_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
        sa.UniqueConstraint("event_id", "original_id", name=op.f("uq_decision_event_id")),
    )
    op.create_index(op.f("ix_decision_event_id"), "decision", ["event_id"])
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
        sa.ForeignKeyConstraint(["channel"], ["channel.name"], name=op.f("fk_delivery_channel")),
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], name=op.f("fk_delivery_event_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint("channel", "event_id", "occasion", name=op.f("uq_delivery_channel")),
    )
    op.create_index(op.f("ix_delivery_message_id"), "delivery", ["message_id"])
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
        sa.ForeignKeyConstraint(["event_id"], ["event.id"], name=op.f("fk_event_drift_event_id")),
        sa.ForeignKeyConstraint(["first_revision_id"], ["revision.id"], name=op.f("fk_event_drift_first_revision_id")),
        sa.ForeignKeyConstraint(["last_revision_id"], ["revision.id"], name=op.f("fk_event_drift_last_revision_id")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_event_drift_series_id")),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_event_drift_subject_id")),
        sa.PrimaryKeyConstraint("drift_id", name=op.f("pk_event_drift")),
    )
    op.create_index(op.f("ix_event_drift_event_id"), "event_drift", ["event_id"])
    op.create_index(op.f("ix_event_drift_series_id"), "event_drift", ["series_id"])
    op.create_index(op.f("ix_event_drift_subject_id"), "event_drift", ["subject_id"])
    op.create_table(
        "suite_look",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON()),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_suite_look_host_id")),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name=op.f("fk_suite_look_revision_id")),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_suite_look_subject_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suite_look")),
        sa.UniqueConstraint("subject_id", "host_id", "metric", "revision_id", name=op.f("uq_suite_look_subject_id")),
    )
    op.add_column("drift", sa.Column("event_id", sa.String(length=16)))
    op.create_index(op.f("ix_drift_event_id"), "drift", ["event_id"])
    op.add_column("subject", sa.Column("drifts_version", sa.Integer(), server_default="0", nullable=False))
    op.add_column("subject", sa.Column("events_version", sa.Integer(), server_default="0", nullable=False))
    op.execute("UPDATE subject SET drifts_version = 1")
