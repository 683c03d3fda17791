"""Keep jobs: what was ordered from hosts, and how far it is."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make their table."""
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
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("changed_at", _MOMENT, nullable=False),
        sa.Column("started_at", _MOMENT),
        sa.Column("finished_at", _MOMENT),
        sa.Column("deadline_at", _MOMENT),
        sa.Column("most_runs", sa.Integer()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("fruitless", sa.Integer(), nullable=False),
        sa.Column("due_at", _MOMENT),
        sa.Column("host", sa.String(length=100)),
        sa.Column("lease", sa.String(length=40)),
        sa.Column("leased_until", _MOMENT),
        sa.Column("runs", sa.JSON(), nullable=False),
        sa.Column("runs_left", sa.Integer()),
        sa.Column("seconds_left", sa.Double()),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("log_url", sa.Text(), nullable=False),
        sa.Column("result", sa.JSON()),
        sa.Column("course", sa.JSON(), nullable=False),
        sa.Column("tell_at", _MOMENT),
        sa.Column("tellings", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    for column in ("fingerprint", "state", "subject", "tell_at"):
        op.create_index(op.f(f"ix_job_{column}"), "job", [column])
