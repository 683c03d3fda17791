"""List events in the order of their index, and find who looks into one without a walk through all of them."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the index of the few events that somebody looks into; drop that of states, of which nearly all are open.

    With it, SQLite chose to read and sort all open events, instead of the first ones of the index by importance.
    The drifts of an event are found with their series, so that a filter by host reads no other table's rows.
    """
    assigned = sa.text("assignee <> ''")
    op.create_index(
        "ix_event_assignee", "event", ["assignee", "state"], sqlite_where=assigned, postgresql_where=assigned
    )
    op.drop_index("ix_event_state", "event")
    op.drop_index("ix_event_drift_event_id", "event_drift")
    op.create_index("ix_event_drift_event_id", "event_drift", ["event_id", "found", "series_id"])
