"""What an older version stored is there after the upgrade."""

from __future__ import annotations

import uuid
import zlib
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config as AlembicConfig
from sqlalchemy import MetaData, insert

import service.store
from service.store import points, runs, series
from service.store.engine.database import Database
from service.store.engine.upgrade import upgrade
from service.store.runs import RunFilter
from tests.service import postgres, reports


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'faultwatch.db'}"
    server: postgres.Server = request.getfixturevalue("postgresql")
    return server.url(server.create())


def make(database: Database, schema: str) -> MetaData:
    """Make the tables of an older version."""
    with database.writing() as session:
        config = AlembicConfig(attributes={"connection": session.connection()})
        config.set_main_option("script_location", str(Path(service.store.__file__).parent / "migrations"))
        command.upgrade(config, schema)
    tables = MetaData()
    tables.reflect(database.engine)
    return tables


def test_runs_that_were_stored_by_their_ids_are_numbered(empty_url: str) -> None:
    database = Database(empty_url)
    tables = make(database, "0003").tables
    sent = [reports.report(number, level, level + 2) for number, level in ((1, 100), (2, 300))]
    with database.writing() as session:
        shared = {"subject_id": 1, "host_id": 1, "case_id": 1}
        rows = {
            "subject": [{"id": 1, "name": "demo"}],
            "host": [{"id": 1, "name": "box"}],
            "case_": [{"id": 1, "key": "k", "workload": "copy", "definition": "d", "parameters": {}, "name": "copy"}],
            "environment": [{"id": 1, "hash": "h", "knobs": {}}],
            "revision": [
                {
                    **one.revision.model_dump(include={"author", "committed_at", "title", "commit"}),
                    **{"id": place, "subject_id": 1, "parents": [], "position": place},
                }
                for place, one in enumerate(sent)
            ],
            "series": [{"id": 1, **shared, "metric": "minor-faults", "version": 2, "judged_version": 2}],
            "run": [
                {
                    **shared,
                    **{
                        "id": id_of(one.run_id, database),
                        "revision_id": place,
                        "environment_id": 1,
                        "outcome": "measured",
                    },
                    **{"started_at": one.started_at, "finished_at": one.finished_at, "digest": "x"},
                    "report": zlib.compress(one.model_dump_json().encode()),
                }
                for place, one in enumerate(sent)
            ],
            "point": [
                {
                    **{"series_id": 1, "run_id": id_of(one.run_id, database), "status": "counted", "n": 2},
                    **{"value": str(level), "low": str(level), "high": str(level + 2), "samples": [level, level + 2]},
                }
                for one, level in zip(sent, (101, 301), strict=True)
            ],
        }
        for name, held in rows.items():
            session.execute(insert(tables[name]), held)
    upgrade(database)
    with database.reading() as session:
        assert [run.run_id for run in runs.page(session, RunFilter(), 10, 0).items] == [sent[1].run_id, sent[0].run_id]
        assert runs.report(session, sent[0].run_id) == sent[0]
        assert [(row.value, row.samples) for row in points.of_series(session, 1)] == [
            (101, (101, 103)),
            (301, (301, 303)),
        ]
        (entry,) = series.page(session, series.SeriesFilter()).items
        assert (entry.n_points, entry.latest) == (2, 301)
    database.close()


def id_of(run_id: uuid.UUID, database: Database) -> object:
    return run_id.hex if database.is_sqlite else run_id
