"""Give columns their first names in databases that were made on the day when the first migration had other names."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_COLUMNS = (
    ("event", "still_detected", "found"),
    ("event_drift", "still_detected", "found"),
    ("job", "max_runs", "most_runs"),
    ("job", "steps", "course"),
)
"""Table, name on that day, first name."""


def upgrade() -> None:
    """Rename the columns that have the other names."""
    inspector = sa.inspect(op.get_bind())
    for table, other_name, first_name in _COLUMNS:
        if any(column["name"] == other_name for column in inspector.get_columns(table)):
            op.execute(f"ALTER TABLE {table} RENAME COLUMN {other_name} TO {first_name}")
