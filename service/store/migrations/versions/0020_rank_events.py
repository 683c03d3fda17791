"""Rank events, say when each was found and who looks into it, snooze them, and know when readers looked last."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"

_WAKES = sa.text("wakes_after IS NOT NULL")


def upgrade() -> None:
    """Add columns, indexes and a table. The service ranks the events of earlier versions when it starts."""
    moment = sa.DateTime(timezone=True)
    for column in (
        sa.Column("found_at", moment, nullable=False, server_default="1970-01-01 00:00:00"),
        sa.Column("direction", sa.String(16), nullable=False, server_default="regression"),
        sa.Column("certainty", sa.String(16), nullable=False, server_default="provisional"),
        sa.Column("size", sa.Double(), nullable=False, server_default="0"),
        sa.Column("price", sa.Double(), nullable=False, server_default="0"),
        sa.Column("importance", sa.Double(), nullable=False, server_default="-1.0"),
        sa.Column("below_floor", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("assignee", sa.String(100), nullable=False, server_default=""),
        sa.Column("snoozed_until", moment),
        sa.Column("wakes_after", sa.Integer()),
    ):
        op.add_column("event", column)
    op.execute("UPDATE event SET found_at = first_seen_at")
    op.create_index(
        "ix_event_importance",
        "event",
        [
            *("importance", "found_at", "id", "state", "found", "merged_into", "below_floor", "snoozed_until"),
            *("wakes_after", "subject_id", "cause", "direction", "certainty", "assignee"),
        ],
    )
    op.create_index("ix_event_wakes", "event", ["wakes_after"], sqlite_where=_WAKES, postgresql_where=_WAKES)
    op.create_table(
        "visit",
        sa.Column("token_id", sa.String(12), sa.ForeignKey("token.id", name="fk_visit_token_id"), nullable=False),
        sa.Column("since", moment),
        sa.Column("seen_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("token_id", name="pk_visit"),
    )
