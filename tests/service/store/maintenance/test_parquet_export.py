"""The export of columns: DuckDB reads what was stored, and each export adds only what is new."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import duckdb
import pytest

from runner.contract import Report
from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.maintenance import parquet_export
from service.store.maintenance.parquet_export import ExportResult, export_parquet
from tests.docs.blocks import BLOCKS
from tests.service import reports
from tests.service.apiclient import Api

EVERY_DATABASE = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
LARGE = 2**63 + 1
EXAMPLES = [block for block in BLOCKS if block.language == "sql" and ".parquet" in block.text]


def asked(folder: Path, question: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(question.replace("samples/", f"{folder}/")).fetchall()


def varied(number: int) -> Report:
    """Return a report with counts and times, which other runs do not have."""
    environment = reports.GLIBC if number < 3 else reports.JEMALLOC
    others = {"elapsed": number + 0.5, "sys-time": 0.25}
    return reports.report(number, LARGE, LARGE + number, environment=environment, others=others)


@EVERY_DATABASE
def test_every_sample_is_there_with_its_value(api: Api, database: Database, tmp_path: Path) -> None:
    api.send(*(varied(number) for number in (1, 2, 3)), reports.failed_build(4), reports.report(5, 7, subject="other"))
    folder = tmp_path / "it's here"
    assert export_parquet(database, folder) == ExportResult(runs=4, rows=3 * 6 + 1)
    assert not list(folder.rglob("*.part"))
    place = str(folder).replace("'", "''")
    rows = asked(Path(place), "SELECT * FROM 'samples/*/*/*.parquet' WHERE metric = 'minor-faults' ORDER BY ALL")
    assert len(rows) == 7
    counts = "SELECT subject, whole, value FROM 'samples/*/*/*.parquet' WHERE metric = 'minor-faults' ORDER BY whole"
    found = asked(Path(place), counts)
    assert found[0] == ("other", 7, 7.0)
    assert [whole for _, whole, _ in found[1:]] == [LARGE] * 3 + [LARGE + 1, LARGE + 2, LARGE + 3]
    times = (
        "SELECT whole, value, level, started_at FROM 'samples/*/*/*.parquet' WHERE metric = 'elapsed' ORDER BY value"
    )
    started = [varied(number).started_at.replace(tzinfo=None) for number in (1, 2, 3)]
    assert asked(Path(place), times) == [
        (None, number + 0.5, number + 0.5, started[number - 1]) for number in (1, 2, 3) for _ in range(2)
    ]


@EVERY_DATABASE
def test_an_export_adds_what_is_new(
    api: Api, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_export, "RUNS_PER_FILE", 2)
    api.send(*(varied(number) for number in range(1, 6)))

    def stop(done: int, total: int) -> None:
        assert total == 5
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_parquet(database, tmp_path, "demo", stop)
    assert export_parquet(database, tmp_path, "demo") == ExportResult(runs=1, rows=6)
    assert export_parquet(database, tmp_path, "demo") == ExportResult(runs=0, rows=0)
    api.send(varied(6), reports.report(1, 1, subject="other"))
    assert export_parquet(database, tmp_path, "demo") == ExportResult(runs=1, rows=6)
    everything = "SELECT count(DISTINCT run_id), count(*), count(DISTINCT subject) FROM 'samples/*/*/*.parquet'"
    assert asked(tmp_path, everything) == [(6, 36, 1)]


def test_a_file_that_an_interrupted_export_left_is_written_again(api: Api, database: Database, tmp_path: Path) -> None:
    api.send(varied(1))
    export_parquet(database, tmp_path)
    (file,) = tmp_path.rglob("*.parquet")
    (tmp_path / "exported.json").unlink()
    file.write_bytes(b"half")
    assert export_parquet(database, tmp_path).rows == 6
    assert asked(tmp_path, "SELECT count(*) FROM 'samples/*/*/*.parquet'") == [(6,)]


def test_a_folder_of_another_export_is_left_alone(api: Api, database: Database, tmp_path: Path) -> None:
    api.send(varied(1))
    export_parquet(database, tmp_path, "demo")
    with pytest.raises(ServiceError, match="another export"):
        export_parquet(database, tmp_path)
    (tmp_path / "exported.json").write_text('{"runs": 99, "subject": "demo"}')
    with pytest.raises(ServiceError, match="another export"):
        export_parquet(database, tmp_path, "demo")


@pytest.mark.parametrize("content", ["[" * 200_000, '{"subject": null, "runs": 0.5}', '{"subject": null, "runs": -1}'])
def test_a_folder_with_a_damaged_export_is_left_alone(
    api: Api, database: Database, tmp_path: Path, content: str
) -> None:
    api.send(varied(1))
    (tmp_path / "exported.json").write_text(content)
    with pytest.raises(ServiceError, match="a damaged one"):
        export_parquet(database, tmp_path)


def test_without_duckdb_it_says_what_to_install(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ServiceError) as refused:
        export_parquet(database, tmp_path)
    assert "faultwatch[parquet]" in str(refused.value)


@pytest.mark.parametrize("block", EXAMPLES, ids=str)
def test_the_documented_questions_have_answers(api: Api, database: Database, tmp_path: Path, block: object) -> None:
    api.send(*(varied(number) for number in range(1, 6)))
    again = varied(2).model_copy(update={"run_id": uuid.uuid4(), "environment": reports.JEMALLOC})
    api.send(again)
    export_parquet(database, tmp_path)
    assert asked(tmp_path, block.text)


def test_three_questions_are_documented() -> None:
    assert len(EXAMPLES) == 3
