"""Make what it takes to be told by GitHub and to tell it: deliveries, pull requests, their gates, shown identities."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables, and let a token be of one repository."""
    op.add_column("token", sa.Column("repository", sa.String(length=140)))
    op.create_table(
        "github_delivery",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("event", sa.String(length=50), nullable=False),
        sa.Column("payload", sa.Text()),
        sa.Column("received_at", _MOMENT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", _MOMENT),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_github_delivery")),
        sa.UniqueConstraint("digest", name=op.f("uq_github_delivery_digest")),
    )
    op.create_index(op.f("ix_github_delivery_due_at"), "github_delivery", ["due_at"])
    op.create_table(
        "github_pull",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(length=140), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("comment_id", sa.BigInteger()),
        sa.Column("busy_until", _MOMENT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_github_pull")),
        sa.UniqueConstraint("repository", "number", name=op.f("uq_github_pull_repository")),
    )
    op.create_table(
        "github_gate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pull_id", sa.Integer(), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("document", sa.LargeBinary()),
        sa.Column("measured_at", _MOMENT),
        sa.Column("accepted_by", sa.String(length=100)),
        sa.Column("accepted_reason", sa.Text(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("told", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", _MOMENT),
        sa.Column("error", sa.Text()),
        sa.ForeignKeyConstraint(["pull_id"], ["github_pull.id"], name=op.f("fk_github_gate_pull_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_github_gate")),
        sa.UniqueConstraint("pull_id", "head", name=op.f("uq_github_gate_pull_id")),
    )
    op.create_index(op.f("ix_github_gate_head"), "github_gate", ["head"])
    op.create_index(op.f("ix_github_gate_due_at"), "github_gate", ["due_at"])
    op.create_table(
        "actions_token",
        sa.Column("jti", sa.String(length=200), nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("jti", name=op.f("pk_actions_token")),
    )
    op.create_index(op.f("ix_actions_token_expires_at"), "actions_token", ["expires_at"])
