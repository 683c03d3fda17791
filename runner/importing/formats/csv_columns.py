"""Reads CSV files with one row for each run, according to a map of their columns."""

import csv
import io
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from runner.contract.metrics import CATALOGUE, Kind, get_metric
from runner.contract.report import IMPORT_FORMAT, Reading, Sample
from runner.contract.word_list import join_words
from runner.errors import FaultwatchError
from runner.importing.imported_run import ImportDefaults, ImportedRun, parse_time
from runner.importing.provenance import locate_result
from runner.importing.source import Source

RUN_FIELDS = ("revision", "case", "started_at", "host", "subject")
"""The names in a column map that are neither metrics nor settings."""
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""The units that a column of times may have, in seconds."""
_MAX_HINT_CHARACTERS, _MAX_QUOTED_CHARACTERS = 500, 60


def parse_column_map(text: str) -> dict[str, str]:
    """Parse ``NAME=COLUMN,…``, which says that the file's COLUMN contains the values of NAME; return COLUMN by NAME.

    NAME is ``revision``, ``case``, ``started_at``, ``host`` or ``subject``, a metric of the catalogue, or a setting of
    the environment, which has a dot in its name. A time that is not in seconds needs a unit, as in
    ``task-clock=task_clock_ms:ms``.

    Raises
    ------
    FaultwatchError
        A part does not have this form, its NAME is none of these or occurs twice, or it gives a unit to a metric that
        is not a time.
    """
    columns: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, equals, column = part.strip().partition("=")
        if not equals or not column:
            raise FaultwatchError(f"--columns: {part!r} does not have the form NAME=COLUMN")
        if name not in RUN_FIELDS and name not in CATALOGUE and "." not in name:
            raise FaultwatchError(
                f"--columns: {name!r} is not a known name; another name needs a dot, which makes it a setting",
                f"run: {', '.join(RUN_FIELDS)}; metrics: {', '.join(CATALOGUE)}",
            )
        if name in CATALOGUE and get_metric(name).kind is not Kind.TIME and _parse_column(column).unit:
            raise FaultwatchError(
                f"--columns: {part.strip()!r} gives a unit of time to {name}, which is not a time",
                f"omit the unit, as in {name}={_parse_column(column).header}",
            )
        if name in columns:
            raise FaultwatchError(f"--columns: {name} has two columns", "name one column for it")
        columns[name] = column
    return columns


def read(source: Source, defaults: ImportDefaults) -> list[ImportedRun]:
    """Read every row; the first line names the columns.

    Raises
    ------
    FaultwatchError
        A column is missing or occurs more than once, or a row is not valid; the message names the line.
    """
    name = source.name
    rows = csv.DictReader(io.StringIO(source.text, newline=""), strict=True)
    headers = {_parse_column(text).header for text in defaults.columns.values()}
    try:
        names = rows.fieldnames or ()
    except csv.Error as error:
        raise FaultwatchError(f"{name}: line 1: {error}") from None
    missing_columns = sorted(headers - set(names))
    if missing_columns:
        hint = f"use the columns of the first line: {', '.join(names)}"[:_MAX_HINT_CHARACTERS]
        absence = "there is no column" if len(missing_columns) == 1 else "there are no columns"
        raise FaultwatchError(f"{name}: {absence} {join_words(missing_columns)}", hint)
    for header in sorted(headers):
        if names.count(header) > 1:
            raise FaultwatchError(f"{name}: the column {header} occurs more than once", "give each column its own name")
    return [_make_run(row, source, f"{name}: line {number}", defaults) for number, row in _read_rows(rows, name)]


def _read_rows(rows: "csv.DictReader[str]", name: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows of a CSV file with their line numbers; raise if a row does not fit the first line."""
    try:
        for row in rows:
            if None in row or None in row.values():
                raise FaultwatchError(
                    f"{name}: line {rows.line_num} and the first line have different numbers of fields"
                )
            yield rows.line_num, row
    except csv.Error as error:
        raise FaultwatchError(f"{name}: line {rows.line_num}: {error}") from None


def _make_run(row: Mapping[str, str], source: Source, location: str, defaults: ImportDefaults) -> ImportedRun:
    """Return one row as a run. What the row lacks is taken from options of the command line or the name of the file.

    Raises
    ------
    FaultwatchError
        No metric has a value, a cell is not valid, or the revision is unknown.
    """
    columns = {name: _parse_column(text) for name, text in defaults.columns.items()}
    cells = {name: row[column.header].strip() for name, column in columns.items()}
    readings = {
        name: Reading(value=_parse_value(name, cells[name], column.unit, location))
        for name, column in columns.items()
        if name in CATALOGUE and cells[name]
    }
    # Only settings of the environment, such as kernel.release, have a dot in their names.
    settings = {name: cell for name, cell in cells.items() if "." in name and cell}
    if not readings:
        raise FaultwatchError(f"{location}: no metric has a value")
    time = parse_time(cells["started_at"], location) if cells.get("started_at") else None
    placement = locate_result(source, defaults, location, cells.get("revision", ""), time)
    elapsed = readings["elapsed"].value if "elapsed" in readings else None
    return ImportedRun(
        location=location,
        revision=placement.revision,
        case=cells.get("case") or defaults.case,
        started_at=placement.time,
        samples=(Sample(readings=readings),),
        settings={IMPORT_FORMAT: "csv"} | settings,
        subject=cells.get("subject", ""),
        host=cells.get("host", ""),
        seconds=max(float(elapsed or 0), 0.0),
        time_is_known=placement.time_is_known,
    )


class _Column(NamedTuple):
    """A column of the file: its header, and the unit of its values; empty for the usual unit of its metric."""

    header: str
    unit: str


def _parse_column(text: str) -> _Column:
    """Parse ``HEADER:UNIT`` or ``HEADER``."""
    header, colon, unit = text.rpartition(":")
    return _Column(header, unit) if colon and unit in _UNITS else _Column(text, "")


def _parse_value(name: str, text: str, unit: str, location: str) -> int | float:
    """Return the number in a cell, converted from its column's unit to the metric's unit.

    Raises
    ------
    FaultwatchError
        The text is not a finite number, or the metric is a count and the number is not a valid one.
    """
    try:
        value = int(text) if text.isdecimal() else float(text)
        is_valid = math.isfinite(value)
    except (ValueError, OverflowError):  # OverflowError: a whole number beyond those of 64-bit floats
        is_valid = False
    if not is_valid:
        raise FaultwatchError(
            f"{location}: {text[:_MAX_QUOTED_CHARACTERS]!r} is not a valid number for {name}",
            "write it as in 9009, 1.5 or 2e-3",
        )
    if unit:
        return value * _UNITS[unit]
    if get_metric(name).kind is Kind.COUNT:
        if value != int(value) or value < 0:
            raise FaultwatchError(
                f"{location}: {text[:_MAX_QUOTED_CHARACTERS]!r} is not a valid count for {name}",
                "write a whole number, 0 or more",
            )
        return int(value)
    return value
