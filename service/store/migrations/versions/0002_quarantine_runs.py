"""Quarantine runs of hosts that count wrong."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Give each run a place for the reason why it is not judged; let the newest run of a host be found fast."""
    op.add_column("run", sa.Column("quarantine", sa.Text()))
    op.create_index(op.f("ix_run_host_id"), "run", ["host_id", "started_at"])
