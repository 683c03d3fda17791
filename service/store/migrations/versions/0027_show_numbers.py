"""On PostgreSQL, show levels and samples as numbers, so that SQL can add them up."""

from alembic import op

revision = "0027"
down_revision = "0026"

_NAMES = """
    subject.name AS subject, case_.name AS "case", case_.workload, host.name AS host, environment.hash AS environment,
    revision.commit AS revision, revision.position, revision.committed_at, run.id AS run_id, run.started_at,
    run.quarantine IS NOT NULL AS quarantined, series.metric, point.status
"""
_TABLES = """
    point
    JOIN series ON series.id = point.series_id
    JOIN run ON run.number = point.run_number
    JOIN subject ON subject.id = series.subject_id
    JOIN host ON host.id = series.host_id
    JOIN case_ ON case_.id = series.case_id
    JOIN revision ON revision.id = run.revision_id
    JOIN environment ON environment.id = run.environment_id
"""
_SAMPLES = """
    CROSS JOIN LATERAL (
        SELECT place - 1 AS sample, value FROM jsonb_array_elements(point.samples::jsonb)
        WITH ORDINALITY AS packed(value, place)
        UNION ALL
        SELECT place - 1, to_jsonb(point.value::numeric) FROM generate_series(1, point.n) AS place
        WHERE point.samples IS NULL
    ) AS taken
"""


def upgrade() -> None:
    """Make the views. Numbers stay text in the tables: exact, whatever their size, and known to older versions."""
    if op.get_bind().dialect.name == "postgresql":
        _make("level", "point.value::numeric AS value, point.n", _TABLES)
        _make("sample", "taken.sample, taken.value::numeric AS value", f"{_TABLES} {_SAMPLES}")


def _make(view: str, columns: str, tables: str) -> None:
    op.execute(f"CREATE VIEW {view} AS SELECT {_NAMES}, {columns} FROM {tables}")  # noqa: S608 - no user input
