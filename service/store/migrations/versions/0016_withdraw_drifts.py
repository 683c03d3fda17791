"""Know why a drift that was sure no longer stands."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column; why earlier drifts disappeared is unknown."""
    op.add_column("event_drift", sa.Column("withdrawal", sa.Text()))
