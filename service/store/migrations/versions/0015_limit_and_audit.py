"""Limit tokens, bind leases to their holders, log what people and tokens do, and count failed sign-ins."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_REFUSED = "entries of the audit log are added, never changed"


def upgrade() -> None:
    """Add columns and tables. Existing tokens have no limits. The database itself keeps the log as it is."""
    for name in ("hosts", "subjects", "repositories"):
        op.add_column("token", sa.Column(name, sa.JSON()))
    op.add_column("job", sa.Column("leased_by", sa.String(length=160)))
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("author", sa.String(length=140), nullable=False),
        sa.Column("token_id", sa.String(length=12)),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("target", sa.String(length=200), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_audit_action", "audit", ["action"])
    op.create_table(
        "failed_sign_in",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_failed_sign_in"),
    )
    op.create_index("ix_failed_sign_in_at", "failed_sign_in", ["at"])
    if op.get_bind().dialect.name == "sqlite":
        for event in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_keeps_{event.lower()} BEFORE {event} ON audit "
                f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
            )
    else:
        op.execute(
            "CREATE OR REPLACE FUNCTION audit_keeps() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_keeps()"
        )
