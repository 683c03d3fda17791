"""Know which reports have one sample of each noisy metric left; on PostgreSQL, store points and reports in parts."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


RUNS = 1 << 18
"""Runs of a part, as service.store.engine.parts has it."""
_KEYS = {"point": "series_id, run_number", "report": "run_number"}


def upgrade() -> None:
    """Mark reports, none of which is reduced yet. What is stored becomes the first part of each table.

    The parts have no foreign keys: with them, making a part would lock runs and series, and deleting a run would read
    all points. SQLite keeps its own; who deletes runs there switches the check off.
    """
    op.add_column("report", sa.Column("reduced", sa.Boolean(), server_default=sa.false(), nullable=False))
    if op.get_bind().dialect.name == "postgresql":
        for table, key in _KEYS.items():
            _divide(table, key)


def _divide(table: str, key: str) -> None:
    first = f"{table}_p0"
    newest = op.get_bind().execute(sa.text("SELECT coalesce(max(number), 0) FROM run")).scalar_one()
    end = (newest // RUNS + 1) * RUNS
    for column in key.split(", "):
        op.drop_constraint(f"fk_{table}_{column}", table, type_="foreignkey")
    op.execute(f"ALTER TABLE {table} RENAME TO {first}")
    op.execute(f"ALTER INDEX pk_{table} RENAME TO pk_{first}")
    op.execute(f"CREATE TABLE {table} (LIKE {first} INCLUDING DEFAULTS) PARTITION BY RANGE (run_number)")
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT pk_{table} PRIMARY KEY ({key})")
    op.execute(f"ALTER TABLE {table} ATTACH PARTITION {first} FOR VALUES FROM (MINVALUE) TO ({end})")
