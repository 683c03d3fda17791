"""Reads a batch of reports without a model for each of its readings: most are a value and nothing else.

Everything else about a report is checked by the contract's models as ever, and what is not plain is read by them
altogether. So this is an abbreviation, never another opinion.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from runner.contract import Report, ReportList
from service.views import Number

_MOST_REPORTS = 10_000
_LARGEST = 2**64
_NUMBERS = {int, float}
_TOLD_DEFAULTS = {"status": "counted", "running_percent": None, "reason": None, "outlier": False}


class PlainReport(NamedTuple):
    """A report whose readings are all counted values."""

    head: Report
    """The report, with samples that have no readings."""
    document: bytes
    """The whole report as JSON."""
    values: dict[str, list[Number]]
    """By metric, in the order of first appearance."""


def read(body: bytes) -> list[Report | PlainReport]:
    """Read a list of reports.

    Raises
    ------
    ValidationError
        Where it is none.
    """
    try:
        return list(_read(from_json(body)))
    except (AttributeError, KeyError, TypeError, ValueError):  # pydantic's errors are ValueErrors too
        return list(ReportList.model_validate_json(body).reports)


def _read(found: Any) -> Iterator[Report | PlainReport]:
    (reports,) = found.values()
    if found.keys() != {"reports"} or not isinstance(reports, list) or len(reports) > _MOST_REPORTS:
        raise ValueError
    for report in reports:
        yield _plain(report) or Report.model_validate(report)


def _plain(report: dict[str, Any]) -> PlainReport | None:
    samples = report.get("samples")
    if not samples:
        return None
    values: dict[str, list[Number]] = {}
    for sample in samples:
        for name, reading in sample["readings"].items():
            value = reading.get("value") if len(reading) == 1 else _told_in_full(reading)
            if name in values:
                values[name].append(value)
            else:
                values[name] = [value]
    if not all(_fit(column) for column in values.values()):
        return None
    head = Report.model_validate(report | {"samples": [sample | {"readings": {}} for sample in samples]})
    return PlainReport(head, to_json(report), values)


def _told_in_full(reading: dict[str, Any]) -> Any:
    """Return the value of a reading that spells out what it could have left out; None where it says more."""
    value = reading.get("value")
    return value if reading == {**_TOLD_DEFAULTS, "value": value} else None


def _fit(values: list[Any]) -> bool:
    return set(map(type, values)) <= _NUMBERS and -_LARGEST <= min(values) <= max(values) <= _LARGEST
