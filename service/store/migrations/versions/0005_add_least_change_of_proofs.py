"""Add the smallest change that the pairs of a proof exclude."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column."""
    op.add_column("proof", sa.Column("excluded", sa.Text(), nullable=True))
