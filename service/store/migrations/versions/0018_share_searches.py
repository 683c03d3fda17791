"""Let several hosts share a search: each job knows the others of its order, and what its host measures now."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the columns; no known job shares a search."""
    for column in (
        sa.Column("pool_id", sa.Integer()),
        sa.Column("search_key", sa.String(16)),
        sa.Column("search_environment", sa.String(16)),
        sa.Column("measuring", sa.JSON(), nullable=False, server_default="[]"),
        sa.Column("measuring_since", sa.DateTime(timezone=True)),
        sa.Column("measuring_seconds", sa.Double()),
        sa.Column("measuring_ended", sa.DateTime(timezone=True)),
    ):
        op.add_column("job", column)
    for name in ("pool_id", "search_key"):
        op.create_index(op.f(f"ix_job_{name}"), "job", [name])
