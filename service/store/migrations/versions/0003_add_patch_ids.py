"""Add the patch ids of commits, by which a rewritten commit is recognised."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column."""
    op.add_column("revision", sa.Column("patch", sa.String(length=64), server_default="", nullable=False))
