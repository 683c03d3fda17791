"""The levels of a run in one column: an index of its points, so that a comparison reads one row per run.

A comparison of a thousand cases would otherwise look up each of thousands of points by its series and its run. The
column is written in the transaction that writes the points. It holds nothing that the points do not:
:func:`rebuild_all_levels` writes it again from them. A run without it was stored by an older version, and is read
from its points.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.orm import Session

from runner.contract import Status
from service.rules.comparison.compare_stored_runs import SideReadings
from service.store.engine import bulk, table_partitions
from service.store.engine.database import Database
from service.store.models import Point, Run, Series
from service.store.series.points import select_points_by_run

PACKED_METRICS = frozenset(
    {
        *("minor-faults", "major-faults", "sys-percent", "elapsed", "throughput"),
        *("latency-p50", "latency-p99", "latency-p99.9", "scaling-efficiency"),
    }
)
"""The metrics that the column holds: those that a comparison shows unless the reader chooses others. If they change, a
migration has to empty the column."""
_RUNS_PER_QUERY = 1000
_RUNS_PER_TRANSACTION = 1000


class EncodedPoint(NamedTuple):
    """A point, encoded as in its columns."""

    metric: str
    series_id: int
    status: str
    n: int
    level: str | None
    samples: str | None


def pack_levels(points: Iterable[EncodedPoint]) -> str:
    """Return the column of a run, from its points.

    It is a JSON object: by metric, the id of the series, whether all samples were counted, their number, the level, and
    the samples as JSON text, which is parsed only when it is needed.
    """
    entries = []
    for metric, series_id, status, n, level, samples in points:
        if metric in PACKED_METRICS:
            counted = "true" if status == Status.COUNTED.value else "false"
            quoted_samples = f'"{samples}"' if samples else "null"
            entries.append(f'"{metric}":[{series_id},{counted},{n},{level or "null"},{quoted_samples}]')
    return f"{{{','.join(entries)}}}"


def unpack_levels(levels_by_run: Mapping[int, str], metrics: Collection[str]) -> dict[int, dict[str, SideReadings]]:
    """Return the readings of runs by run number and metric, from the columns of the runs.

    ``metrics`` are among :data:`PACKED_METRICS`.
    """
    # All columns are parsed at once, which is faster than one after the other.
    documents = json.loads(f"[{','.join(levels_by_run.values())}]")
    return {
        number: {
            metric: SideReadings(samples or (level,) * n, n, level, counted, series)
            for metric, (series, counted, n, level, samples) in document.items()
            if metric in metrics
        }
        for number, document in zip(levels_by_run, documents, strict=True)
    }


def write_levels(session: Session, runs: Collection[int]) -> None:
    """Write the column of runs again, from their points."""
    points_of_run: dict[int, list[EncodedPoint]] = defaultdict(list)
    query = select_points_by_run(
        *(Run.number, Series.metric, Series.id, type_coerce(Point.status, Text), Point.n),
        *(type_coerce(Point.value, Text), Point.samples),
    ).where(Series.metric.in_(sorted(PACKED_METRICS)))
    for chunk in table_partitions.group_neighbours(runs, _RUNS_PER_QUERY):
        is_in_chunk = bulk.is_among(session, Run.number, chunk)
        partition_conditions = table_partitions.build_partition_conditions(session, chunk)
        for number, *point in session.connection().execute(query.where(is_in_chunk, *partition_conditions)):
            points_of_run[number].append(EncodedPoint._make(point))
    rows = [(number, pack_levels(points_of_run[number])) for number in sorted(runs)]
    bulk.update_rows(session, bulk.get_table(Run), ["levels"], rows, key=["number"])


def rebuild_all_levels(database: Database, progress: Callable[[int, int], None] = lambda _done, _total: None) -> int:
    """Write the column of every run again while the service runs; return the number of runs.

    ``progress`` is called with the number of runs done and the total number.
    """
    with database.reading() as session:
        numbers: Sequence[int] = session.scalars(select(Run.number).order_by(Run.number)).all()
    n_done = 0
    for chunk in bulk.split_into_chunks(numbers, _RUNS_PER_TRANSACTION):
        with database.writing() as session:
            write_levels(session, chunk)
        n_done += len(chunk)
        progress(n_done, len(numbers))
    return n_done
