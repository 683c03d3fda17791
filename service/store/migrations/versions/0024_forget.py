"""Know which reports have one sample of each noisy metric left, and let runs be deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Mark reports, none of which is reduced yet.

    On PostgreSQL, points refer to runs without a constraint from now on: it has no index, so each deleted run would
    read all points. SQLite could drop it only by copying all points; there, who deletes runs switches the check off.
    """
    op.add_column("report", sa.Column("reduced", sa.Boolean(), server_default=sa.false(), nullable=False))
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("fk_point_run_number", "point", type_="foreignkey")
