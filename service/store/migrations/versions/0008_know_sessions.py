"""Know which runs were measured in turns."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Give each run a place for its session; runs that were stored before count as measured alone."""
    op.add_column("run", sa.Column("session", sa.Uuid()))
