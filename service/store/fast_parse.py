"""Parses a batch of reports without building a model for each reading: most readings are just a value.

All other parts of a report are validated by the contract's models, a part that many reports share only once. A report
with any other kind of reading is parsed by the models alone. So the result is always that of the models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import isfinite
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from runner.contract import Case, Environment, Host, Report, ReportList, Revision, Sample
from service.schemas.history import Number

_MOST_REPORTS = 10_000
_LARGEST = 2**64
_NUMBERS = {int, float}
_DEFAULTS = {"status": "counted", "running_percent": None, "reason": None, "outlier": False}
_SHARED: dict[str, type[BaseModel]] = {"revision": Revision, "case": Case, "host": Host, "environment": Environment}
_UNREAD = Sample(readings={})


class PlainReport(NamedTuple):
    """A report whose readings are all counted values."""

    head: Report
    """The report, with samples that have no readings."""
    document: bytes
    """The whole report as JSON."""
    values: dict[str, Sequence[Number]]
    """By metric, in the order of first appearance."""


class _Parts:
    """Validated parts of reports."""

    def __init__(self) -> None:
        self._checked: dict[tuple[str, bytes], BaseModel] = {}

    def __call__(self, name: str, part: Any) -> BaseModel:
        # By its JSON, because Python considers 1, 1.0 and True equal.
        key = name, to_json(part)
        checked = self._checked.get(key)
        if checked is None:
            checked = self._checked[key] = _SHARED[name].model_validate(part)
        return checked


def read(body: bytes) -> list[Report | PlainReport]:
    """Parse a list of reports.

    Raises
    ------
    ValidationError
        Where the body is not a valid one.
    """
    try:
        return list(_read(from_json(body)))
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):  # pydantic's errors are ValueErrors
        return list(ReportList.model_validate_json(body).reports)


def _read(document: Any) -> Iterator[Report | PlainReport]:
    (reports,) = document.values()
    if document.keys() != {"reports"} or not isinstance(reports, list) or len(reports) > _MOST_REPORTS:
        raise ValueError
    parts = _Parts()
    for report in reports:
        yield _plain(report, parts) or Report.model_validate(report)


def _plain(report: dict[str, Any], parts: _Parts) -> PlainReport | None:
    samples = report.get("samples")
    if not samples or (values := _values(samples)) is None:
        return None
    checked = {name: parts(name, report[name]) for name in _SHARED}
    unread = [_UNREAD if len(sample) == 1 else sample | {"readings": {}} for sample in samples]
    return PlainReport(Report.model_validate(report | checked | {"samples": unread}), to_json(report), values)


def _values(samples: list[dict[str, Any]]) -> dict[str, Sequence[Number]] | None:
    """Return the values of each metric; None where any reading is more than a value."""
    readings = [sample["readings"] for sample in samples]
    plain = all(sum(map(len, by_metric.values())) == len(by_metric) for by_metric in readings)
    rows = [
        [reading.get("value") for reading in sample.values()]
        if plain
        else [_value(reading) for reading in sample.values()]
        for sample in readings
    ]
    if not _are_valid(list(chain.from_iterable(rows))):
        return None
    names = list(readings[0])
    if all(list(by_metric) == names for by_metric in readings):
        return dict(zip(names, zip(*rows, strict=True), strict=True))
    values: dict[str, list[Number]] = {}
    for by_metric, row in zip(readings, rows, strict=True):
        for name, value in zip(by_metric, row, strict=True):
            values.setdefault(name, []).append(value)
    return dict(values)


def _value(reading: dict[str, Any]) -> Any:
    """Return the value of a reading that has nothing else but defaults; None where it has more."""
    value = reading.get("value")
    return value if len(reading) == 1 or reading == {**_DEFAULTS, "value": value} else None


def _are_valid(values: list[Any]) -> bool:
    if not values:
        return True
    return set(map(type, values)) <= _NUMBERS and isfinite(sum(values)) and max(map(abs, values)) <= _LARGEST
