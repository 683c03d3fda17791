"""Writes all samples as flat rows, in formats that other programs read.

The rows are suitable for a column store such as Parquet: every row has the same columns, each of one type, and nothing
is nested. Counts beyond 2^53 stay exact in CSV and JSON lines; a reader must accept integers of any size in `value`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, TypeVar

from service.text.csv_cells import escape_cells
from service.text.moments import format_moment

Row = TypeVar("Row", bound=NamedTuple)


class SampleRow(NamedTuple):
    """One sample of one metric of one run."""

    run_id: str
    subject: str
    revision: str
    position: int
    """Position of the revision in the subject's history, oldest first."""
    committed_at: datetime
    host: str
    environment: str
    workload: str
    case: str
    definition: str
    metric: str
    unit: str
    status: str
    quarantined: bool
    started_at: datetime
    sample: int | None
    """Index of the sample among those of the run that have a value; None if the metric has no value."""
    value: int | float | None
    level: int | float | None
    """The level of the run."""
    reused: bool
    """Whether the counts of the run were reused from a run with the same bytes, and not measured."""
    quarantine: str
    """Why the run is not part of the history, such as a measurement for a bisect; empty if it is part of the
    history."""


COLUMNS = SampleRow._fields


def format_csv(rows: Iterable[SampleRow]) -> Iterator[str]:
    """Yield rows as CSV (RFC 4180) with a header."""
    yield _format_line(COLUMNS)
    for row in rows:
        yield _format_line([_format_plain_value(value) for value in row])


def format_json_lines(rows: Iterable[SampleRow]) -> Iterator[str]:
    """Yield rows as JSON, one document per line."""
    for row in rows:
        yield (
            json.dumps({name: _format_json_value(value) for name, value in row._asdict().items()}, ensure_ascii=False)
            + "\n"
        )


def _format_line(values: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(escape_cells(values))
    return text.getvalue()


def _format_plain_value(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return format_moment(value) if isinstance(value, datetime) else value


def _format_json_value(value: object) -> object:
    return format_moment(value) if isinstance(value, datetime) else value
