"""Add the commit where a ref was before it moved to one that is not known to descend from it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column."""
    op.add_column("ref", sa.Column("left", sa.String(length=64), nullable=True))
