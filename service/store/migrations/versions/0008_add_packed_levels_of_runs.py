"""Add the packed levels of a run, so that a comparison reads one row per run."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column."""
    op.add_column("run", sa.Column("levels", sa.Text(), nullable=True))
