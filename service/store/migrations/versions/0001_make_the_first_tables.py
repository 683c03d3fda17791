"""Make the first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "case_",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=16), nullable=False),
        sa.Column("workload", sa.String(length=100), nullable=False),
        sa.Column("definition", sa.String(length=16), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_case_")),
        sa.UniqueConstraint("key", name=op.f("uq_case__key")),
    )
    op.create_index(op.f("ix_case__name"), "case_", ["name"])
    op.create_table(
        "environment",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=16), nullable=False),
        sa.Column("knobs", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environment")),
        sa.UniqueConstraint("hash", name=op.f("uq_environment_hash")),
    )
    op.create_table(
        "host",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host")),
        sa.UniqueConstraint("name", name=op.f("uq_host_name")),
    )
    op.create_table(
        "subject",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subject")),
        sa.UniqueConstraint("name", name=op.f("uq_subject_name")),
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
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_revision_subject_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revision")),
        sa.UniqueConstraint("subject_id", "commit", name=op.f("uq_revision_subject_id")),
    )
    op.create_index(op.f("ix_revision_subject_id"), "revision", ["subject_id", "position"])
    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("judged_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_series_case_id")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_series_host_id")),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_series_subject_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint("subject_id", "host_id", "case_id", "metric", name=op.f("uq_series_subject_id")),
    )
    op.create_index(op.f("ix_series_case_id"), "series", ["case_id"])
    op.create_table(
        "drift",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=16), nullable=False),
        sa.Column("committed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_drift_series_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drift")),
    )
    op.create_index(op.f("ix_drift_committed_at"), "drift", ["committed_at"])
    op.create_index(op.f("ix_drift_series_id"), "drift", ["series_id"])
    op.create_table(
        "run",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("failure_stage", sa.String(length=16)),
        sa.Column("failure_message", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_run_case_id")),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name=op.f("fk_run_environment_id")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_run_host_id")),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name=op.f("fk_run_revision_id")),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_run_subject_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_revision_id"), "run", ["revision_id"])
    op.create_index(op.f("ix_run_started_at"), "run", ["started_at"])
    op.create_index(op.f("ix_run_subject_id"), "run", ["subject_id", "host_id", "case_id", "environment_id"])
    op.create_table(
        "point",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("low", sa.Text()),
        sa.Column("high", sa.Text()),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("samples", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_point_run_id")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_point_series_id")),
        sa.PrimaryKeyConstraint("series_id", "run_id", name=op.f("pk_point")),
    )
    op.create_index(op.f("ix_point_run_id"), "point", ["run_id"])
