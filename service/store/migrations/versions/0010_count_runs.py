"""Count runs as they arrive, and find the rare ones by indexes of their own."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_UNMEASURED = sa.text("outcome <> 'measured'")
_QUARANTINED = sa.text("quarantine IS NOT NULL")


def upgrade() -> None:
    """Make the table of counts, fill it, and change the indexes."""
    op.create_table(
        "run_count",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("quarantined", sa.Boolean(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_run_count_subject_id")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_run_count_host_id")),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_run_count_case_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_count")),
        sa.UniqueConstraint(
            "subject_id", "host_id", "case_id", "outcome", "quarantined", name=op.f("uq_run_count_subject_id")
        ),
    )
    op.execute(
        "INSERT INTO run_count (subject_id, host_id, case_id, outcome, quarantined, runs) "
        "SELECT subject_id, host_id, case_id, outcome, quarantine IS NOT NULL, count(*) FROM run GROUP BY 1, 2, 3, 4, 5"
    )
    op.create_index("ix_run_subject_id_started_at", "run", ["subject_id", "started_at"])
    op.drop_index(op.f("ix_run_outcome"), "run")
    for name, rare in (("ix_run_unmeasured", _UNMEASURED), ("ix_run_quarantined", _QUARANTINED)):
        op.create_index(name, "run", ["started_at"], sqlite_where=rare, postgresql_where=rare)
