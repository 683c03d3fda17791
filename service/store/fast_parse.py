"""Reads a batch of reports without a model for each of its readings: most are a value and nothing else.

Everything else about a report is checked by the contract's models as ever, each part once that many reports share, and
what is not plain is read by them altogether. So this is an abbreviation, never another opinion.
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
_TOLD_DEFAULTS = {"status": "counted", "running_percent": None, "reason": None, "outlier": False}
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
    """The parts of reports that were checked already."""

    def __init__(self) -> None:
        self._checked: dict[tuple[str, bytes], BaseModel] = {}

    def __call__(self, name: str, told: Any) -> BaseModel:
        # Written out, because Python takes 1, 1.0 and True for the same.
        key = name, to_json(told)
        found = self._checked.get(key)
        if found is None:
            found = self._checked[key] = _SHARED[name].model_validate(told)
        return found


def read(body: bytes) -> list[Report | PlainReport]:
    """Read a list of reports.

    Raises
    ------
    ValidationError
        Where it is none.
    """
    try:
        return list(_read(from_json(body)))
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):  # pydantic's errors are ValueErrors too
        return list(ReportList.model_validate_json(body).reports)


def _read(found: Any) -> Iterator[Report | PlainReport]:
    (reports,) = found.values()
    if found.keys() != {"reports"} or not isinstance(reports, list) or len(reports) > _MOST_REPORTS:
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
    plain = all(sum(map(len, one.values())) == len(one) for one in readings)
    rows = [
        [reading.get("value") for reading in one.values()] if plain else [_value(reading) for reading in one.values()]
        for one in readings
    ]
    if not _fit(list(chain.from_iterable(rows))):
        return None
    names = list(readings[0])
    if all(list(one) == names for one in readings):
        return dict(zip(names, zip(*rows, strict=True), strict=True))
    values: dict[str, list[Number]] = {}
    for one, row in zip(readings, rows, strict=True):
        for name, value in zip(one, row, strict=True):
            values.setdefault(name, []).append(value)
    return dict(values)


def _value(reading: dict[str, Any]) -> Any:
    """Return the value of a reading that says nothing else, or what it could have left out; None where it says more."""
    value = reading.get("value")
    return value if len(reading) == 1 or reading == {**_TOLD_DEFAULTS, "value": value} else None


def _fit(values: list[Any]) -> bool:
    if not values:
        return True
    return set(map(type, values)) <= _NUMBERS and isfinite(sum(values)) and max(map(abs, values)) <= _LARGEST
