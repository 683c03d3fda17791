"""Add the verdicts of interleaved comparisons."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "proof",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("session", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("base", sa.String(length=64), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name="fk_proof_case_id"),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name="fk_proof_environment_id"),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_proof_host_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name="fk_proof_subject_id"),
        sa.PrimaryKeyConstraint("id", name="pk_proof"),
        sa.UniqueConstraint("session", "case_id", "metric", name="uq_proof_session"),
    )
    op.create_index("ix_proof_subject_id", "proof", ["subject_id", "host_id", "case_id"])
