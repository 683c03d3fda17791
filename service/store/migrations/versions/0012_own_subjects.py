"""Know whose jobs report of a subject, and what a gate was measured against and merged as."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the columns; nobody owns what is there."""
    for table in ("subject", "night"):
        op.add_column(table, sa.Column("repository", sa.String(length=140)))
    op.add_column("github_gate", sa.Column("baselines", sa.JSON()))
    op.add_column("github_gate", sa.Column("merged_as", sa.String(length=64)))
    op.add_column("github_gate", sa.Column("merged_at", sa.DateTime(timezone=True)))
