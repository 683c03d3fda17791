"""Let people choose, for each subject, what happens to a drift that several commits can have caused."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the column; every known subject asks."""
    op.add_column("subject", sa.Column("bisect_policy", sa.String(16), nullable=False, server_default="ask"))
