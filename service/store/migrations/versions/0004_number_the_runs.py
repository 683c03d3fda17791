"""Number the runs, and lay the points of a series side by side."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_LOOKED_UP = (
    "id, subject_id, revision_id, case_id, host_id, environment_id, outcome, failure_stage, failure_message, "
    "quarantine, started_at, finished_at"
)


def upgrade() -> None:
    """Give each run a number that its points refer to, and its report and each series' newest level a place."""
    op.execute("CREATE TABLE run_copy AS SELECT row_number() OVER (ORDER BY started_at, id) AS number, run.* FROM run")
    op.execute(
        "CREATE TABLE point_copy AS SELECT point.*, run_copy.number FROM point JOIN run_copy ON run_id = run_copy.id"
    )
    op.drop_table("point")
    op.drop_table("run")
    _make_tables()
    op.execute(f"INSERT INTO run (number, {_LOOKED_UP}) SELECT number, {_LOOKED_UP} FROM run_copy")  # noqa: S608
    op.execute("INSERT INTO report (run_number, document, thinned) SELECT number, report, false FROM run_copy")
    op.execute(
        "INSERT INTO point (series_id, run_number, status, value, n, samples) "
        "SELECT series_id, number, status, value, n, CAST(samples AS TEXT) FROM point_copy"
    )
    op.drop_table("point_copy")
    op.drop_table("run_copy")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SELECT setval('run_number_seq', coalesce((SELECT max(number) FROM run), 0) + 1, false)")
    _extend_series()


def _make_tables() -> None:
    op.create_table(
        "run",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("subject_id", sa.Integer(), nullable=False),
        sa.Column("revision_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("failure_stage", sa.String(length=16)),
        sa.Column("failure_message", sa.Text()),
        sa.Column("quarantine", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_run_case_id")),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name=op.f("fk_run_environment_id")),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=op.f("fk_run_host_id")),
        sa.ForeignKeyConstraint(["revision_id"], ["revision.id"], name=op.f("fk_run_revision_id")),
        sa.ForeignKeyConstraint(["subject_id"], ["subject.id"], name=op.f("fk_run_subject_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_run")),
        sa.UniqueConstraint("id", name=op.f("uq_run_id")),
    )
    op.create_index(op.f("ix_run_revision_id"), "run", ["revision_id"])
    op.create_index(op.f("ix_run_started_at"), "run", ["started_at"])
    op.create_index(op.f("ix_run_subject_id"), "run", ["subject_id", "host_id", "case_id", "environment_id"])
    for first in ("host_id", "case_id", "outcome", "environment_id"):
        op.create_index(op.f(f"ix_run_{first}"), "run", [first, "started_at"])
    op.create_table(
        "report",
        sa.Column("run_number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("thinned", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["run_number"], ["run.number"], name=op.f("fk_report_run_number")),
        sa.PrimaryKeyConstraint("run_number", name=op.f("pk_report")),
    )
    op.create_table(
        "point",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("run_number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("samples", sa.Text()),
        sa.ForeignKeyConstraint(["run_number"], ["run.number"], name=op.f("fk_point_run_number")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_point_series_id")),
        sa.PrimaryKeyConstraint("series_id", "run_number", name=op.f("pk_point")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outline",
        sa.Column("series_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_outline_series_id")),
        sa.PrimaryKeyConstraint("series_id", name=op.f("pk_outline")),
    )


def _extend_series() -> None:
    op.add_column("series", sa.Column("n_points", sa.Integer(), server_default="0", nullable=False))
    op.add_column("series", sa.Column("latest", sa.Text()))
    op.add_column("series", sa.Column("latest_at", sa.DateTime(timezone=True)))
    op.execute(
        "ALTER TABLE series ADD COLUMN latest_revision_id INTEGER "
        "CONSTRAINT fk_series_latest_revision_id REFERENCES revision (id)"
    )
    stale = sa.text("version <> judged_version")
    op.create_index("ix_series_stale", "series", ["id"], sqlite_where=stale, postgresql_where=stale)
    op.execute("UPDATE series SET n_points = (SELECT count(*) FROM point WHERE point.series_id = series.id)")
    op.execute(
        "UPDATE series SET latest = newest.value, latest_at = newest.started_at, "
        "latest_revision_id = newest.revision_id FROM (SELECT series_id, value, started_at, revision_id, "
        "row_number() OVER (PARTITION BY series_id ORDER BY position DESC, started_at DESC) AS place "
        "FROM point JOIN run ON run.number = run_number JOIN revision ON revision.id = revision_id "
        "WHERE value IS NOT NULL AND quarantine IS NULL) AS newest "
        "WHERE newest.series_id = series.id AND newest.place = 1"
    )
