"""Find who looks into an event without a walk through all events."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the index of the few events that somebody looks into."""
    assigned = sa.text("assignee <> ''")
    op.create_index(
        "ix_event_assignee", "event", ["assignee", "state"], sqlite_where=assigned, postgresql_where=assigned
    )
