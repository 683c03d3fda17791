"""Remember which numbers were given to rows that are deleted, and where space can be returned."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Make the tables, which begin empty."""
    op.create_table(
        "last_number",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_last_number")),
    )
    op.create_table(
        "loose_part",
        sa.Column("first_run", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("freed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("first_run", name=op.f("pk_loose_part")),
    )
