"""Count the runs of each environment as they arrive."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Make the table of counts, and fill it."""
    op.create_table(
        "environment_count",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["environment_id"], ["environment.id"], name=op.f("fk_environment_count_environment_id")
        ),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_environment_count_host_id")),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_environment_count_subject_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environment_count")),
        sa.UniqueConstraint(
            "environment_id", "host_id", "subject_id", name=op.f("uq_environment_count_environment_id")
        ),
    )
    op.execute(
        "INSERT INTO environment_count (environment_id, host_id, subject_id, runs) "
        "SELECT environment_id, host_id, subject_id, count(*) FROM run GROUP BY 1, 2, 3"
    )
    op.create_index(op.f("ix_environment_count_host_id"), "environment_count", ["host_id"])
