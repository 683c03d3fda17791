"""Exports samples as Parquet files, incrementally: each export adds only the runs that have arrived since the last."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import func, select

from service.errors import ServiceError
from service.store.engine.database import Database
from service.store.maintenance.export import list_samples
from service.store.models import LastNumber, Run
from service.text.sample_rows import COLUMNS, SampleRow

RUNS_PER_FILE = 2_000
"""How many runs are held in memory at a time; their rows of one month become one file."""
_STATE_FILE = "exported.json"
_MAX_EXACT_COUNT = 2**64
"""Integers below this fit into the column of exact counts."""
_TIMES = ("committed_at", "started_at")
_TYPES: dict[str, Any] = {
    **dict.fromkeys(_TIMES, "datetime64[us]"),
    **dict.fromkeys(("quarantined", "reused"), bool),
    **dict.fromkeys(("position", "sample"), np.int64),
    **dict.fromkeys(("value", "level"), float),
    "whole": np.uint64,
}
"""Types of the columns that do not contain text."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The numbers of what an export added to a folder."""

    runs: int
    rows: int


def export_parquet(
    database: Database,
    folder: Path,
    subject: str | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ExportResult:
    """Add to a folder the runs that it lacks, as ``subject=NAME/month=YYYY-MM/runs-FIRST-0.parquet``.

    The columns are those of :class:`service.text.sample_rows.SampleRow`, except for the subject, which is in the path;
    the additional column ``whole`` contains the value of a count, exact even beyond 2^53. Times are in UTC. Files are
    added atomically; an interrupted export can be continued.

    Parameters
    ----------
    subject
        The only subject to export; None for all.
    progress
        Called with the number of runs done and the total number.

    Raises
    ------
    ServiceError
        If DuckDB is not installed, or the folder was made from another database or for another subject.
    OSError
        If a file cannot be written.
    """
    duckdb = _import_duckdb()
    folder.mkdir(parents=True, exist_ok=True)
    # Read which runs the folder already contains.
    state_file = folder / _STATE_FILE
    state: dict[str, Any] = {"runs": 0, "subject": subject}
    newest_run = _find_newest_complete_run(database)
    try:
        if state_file.exists():
            state = json.loads(state_file.read_text(encoding="utf-8"))
        is_same_export = state["subject"] == subject and state["runs"] in range(newest_run + 1)
    except (ValueError, TypeError, KeyError, RecursionError):  # another program's file, or a damaged one
        is_same_export = False
    if not is_same_export:
        problem = "The folder contains another export, or a damaged one"
        raise ServiceError(problem, str(folder), "Choose an empty folder with --output.")
    # Export the rest, and record the progress after each file.
    first_run = state["runs"]
    n_runs = n_rows = 0
    for start in range(first_run, newest_run, RUNS_PER_FILE):
        end = min(start + RUNS_PER_FILE, newest_run)
        with database.reading() as session:
            sample_rows = list(list_samples(session, subject, (start, end)))
        if sample_rows:
            name = f"runs-{start + 1:010}-{{i}}"  # DuckDB replaces {i} by the number of the file
            try:
                with duckdb.connect() as connection:
                    connection.execute("SET threads = 1")  # the other processors are for the service
                    _write_files(connection, sample_rows, folder, name)
            except duckdb.Error as error:
                raise OSError(" ".join(str(error).split())) from error
            finally:
                for part_file in _list_parts(folder, name):
                    part_file.unlink(missing_ok=True)
        n_runs += len({row.run_id for row in sample_rows})
        n_rows += len(sample_rows)
        new_state_file = state_file.with_suffix(".part")
        new_state_file.write_text(json.dumps({"runs": end, "subject": subject}), encoding="utf-8")
        new_state_file.replace(state_file)
        progress(end - first_run, newest_run - first_run)
    return ExportResult(n_runs, n_rows)


def _import_duckdb() -> Any:
    """Return the module of DuckDB; raise an error with a remedy if it is not installed."""
    try:
        import duckdb  # noqa: PLC0415 - an optional dependency
    except ImportError:
        remedy = "pip install 'faultwatch[parquet]'"
        raise ServiceError("Parquet needs DuckDB", "it is not installed", remedy) from None
    return duckdb


def _find_newest_complete_run(database: Database) -> int:
    """Return the newest run number below which no further run can appear: the newest one while no writer is active.

    It may be the number of a run that was deleted since: its number is never used again.
    """
    with database.writing() as session:
        newest_run: int | None = session.scalar(select(func.max(Run.number)))
        newest_before_deletion = session.scalar(select(LastNumber.number).where(LastNumber.kind == Run.__tablename__))
    return max(newest_run or 0, newest_before_deletion or 0)


def _write_files(connection: Any, rows: Sequence[SampleRow], folder: Path, name: str) -> None:
    """Write rows into files by subject and month; the files get their final names once all of them are complete."""
    connection.register("held", _build_arrays(rows))
    folder_literal = str(folder).replace("'", "''")
    connection.execute(
        f"COPY (SELECT *, strftime(started_at, '%Y-%m') AS month FROM held) TO '{folder_literal}' (FORMAT parquet, "  # noqa: S608
        f"COMPRESSION zstd, PARTITION_BY (subject, month), OVERWRITE_OR_IGNORE, FILENAME_PATTERN '{name}', "
        "FILE_EXTENSION 'part')"
    )
    for part_file in _list_parts(folder, name):
        part_file.replace(part_file.with_suffix(".parquet"))


def _list_parts(folder: Path, name: str) -> list[Path]:
    """Return the incomplete files with a name."""
    return sorted(folder.glob(f"*/*/{name.replace('{i}', '*')}.part"))


def _build_arrays(rows: Sequence[SampleRow]) -> dict[str, Any]:
    """Return the columns as arrays in which missing values are masked.

    Column ``value`` has floating-point numbers, so counts are repeated in ``whole``, where even large ones are exact.
    """
    columns: dict[str, Sequence[Any]] = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    for name in _TIMES:
        columns[name] = [moment.astimezone(UTC).replace(tzinfo=None) for moment in columns[name]]
    columns["whole"] = [
        value if type(value) is int and 0 <= value < _MAX_EXACT_COUNT else None for value in columns["value"]
    ]
    return {name: _build_array(values, _TYPES.get(name, object)) for name, values in columns.items()}


def _build_array(values: Sequence[Any], kind: Any) -> Any:
    """Return values as an array in which missing values are masked."""
    if kind is object:
        return np.array(values, object)
    filled = [0 if value is None else value for value in values]
    return np.ma.masked_array(np.array(filled, kind), [value is None for value in values])
