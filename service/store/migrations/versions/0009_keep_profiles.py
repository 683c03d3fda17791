"""Keep profiles."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "profile",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("gist", sa.LargeBinary(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("thinned", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_profile_subject_id")),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name=op.f("fk_profile_revision_id")),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_profile_case_id")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_profile_host_id")),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name=op.f("fk_profile_environment_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_profile")),
        sa.UniqueConstraint("id", name=op.f("uq_profile_id")),
    )
    op.create_index(op.f("ix_profile_revision_id_case_id"), "profile", ["revision_id", "case_id"])
    op.create_index(op.f("ix_profile_started_at"), "profile", ["started_at"])
