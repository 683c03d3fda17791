"""Know of each series whether it is judged, and by which budget."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns; so far the faults alone were judged."""
    op.add_column("series", sa.Column("judged", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("series", sa.Column("budget", sa.Text()))
    series = sa.table("series", sa.column("metric"), sa.column("judged"))
    op.execute(series.update().where(series.c.metric.in_(["minor-faults", "major-faults"])).values(judged=True))
