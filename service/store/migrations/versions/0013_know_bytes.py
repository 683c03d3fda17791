"""Know what the program of a run was made of, and how many of its faults are in doubt."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the columns; of what is there nothing is known."""
    for name in ("own_bytes", "system_bytes"):
        op.add_column("run", sa.Column(name, sa.String(length=16)))
    for name in ("doubt_least", "doubt_most"):
        op.add_column("run", sa.Column(name, sa.BigInteger()))
