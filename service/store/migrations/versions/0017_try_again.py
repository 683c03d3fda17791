"""Know which runs failed for a reason that may have passed."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column; of earlier failures it is not known."""
    op.add_column("run", sa.Column("failure_temporary", sa.Boolean()))
