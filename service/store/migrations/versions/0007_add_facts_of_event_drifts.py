"""Add a hash of the facts about a drift that its event shows, so that the event follows them."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the column."""
    op.add_column("event_drift", sa.Column("facts", sa.String(length=16), nullable=True))
