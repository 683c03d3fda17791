"""Know the tags and branches by which people name commits."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the table; runners send its rows with the next commits."""
    op.create_table(
        "ref",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("subject_id", sa.Integer(), sa.ForeignKey("subject.id", name="fk_ref_subject_id"), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("commit", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_ref"),
        sa.UniqueConstraint("subject_id", "kind", "name", name="uq_ref_subject_id"),
    )
    op.create_index("ix_ref_name", "ref", ["name"])
