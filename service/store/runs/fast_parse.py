"""Parses a batch of reports without building a model for each reading, because most readings are just a value.

All other parts of a report are validated by the contract's models; a part that many reports share is validated only
once. A report with any other kind of reading is parsed only by the models. So the result is always the same as that of
the models. If a field occurs twice, the last one counts, as for the models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw
from pydantic import BaseModel
from pydantic_core import from_json

from runner.contract import Case, Environment, Host, Report, ReportList, Revision, Sample
from service.schemas.history import Number

_MAX_REPORTS = 10_000
"""The maximum length of a list of reports in the contract. A longer list is left to the models, which refuse it."""
_MAX_INTEGER = 2**64
"""Larger integers are left to the models, which read them exactly."""
_SHARED_PARTS: dict[str, type[BaseModel]] = {
    "revision": Revision,
    "case": Case,
    "host": Host,
    "environment": Environment,
}
_UNREAD_SAMPLE = Sample(readings={})
"""Replaces, in the head of a report, a sample with nothing but readings, which are stored separately."""
_NO_SAMPLES = Raw(b"[]")


class PlainReport(NamedTuple):
    """A report whose readings are all counted values."""

    head: Report
    """The report, with samples without readings."""
    document: bytes
    """The whole report as JSON."""
    values: dict[str, Sequence[Number]]
    """The values by metric, in the order of first appearance."""


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    """A list of unparsed reports."""

    reports: list[Raw]


class _PlainReading(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A reading with only a value and defaults."""

    value: int | float
    status: Literal["counted"] = "counted"
    running_percent: None = None
    reason: None = None
    outlier: bool = False


_value_of: Callable[[_PlainReading], Number] = attrgetter("value")
_batch = msgspec.json.Decoder(_Batch)
_fields = msgspec.json.Decoder(dict[str, Raw])
_samples = msgspec.json.Decoder(list[dict[str, Raw]])
_readings = msgspec.json.Decoder(dict[str, _PlainReading])


class _PartValidator:
    """Validates parts of reports; a part that several reports share is validated once."""

    def __init__(self) -> None:
        self._validated_parts: dict[tuple[str, bytes], BaseModel] = {}

    def __call__(self, name: str, part: Raw) -> BaseModel:
        """Return a part of a report, such as its ``case``, as its model."""
        # The key is the JSON text, because Python considers 1, 1.0 and True equal.
        text = bytes(part)
        key = name, text
        validated_part = self._validated_parts.get(key)
        if validated_part is None:
            validated_part = self._validated_parts[key] = _SHARED_PARTS[name].model_validate(from_json(text))
        return validated_part


def parse_reports(body: bytes) -> list[Report | PlainReport]:
    """Parse a list of reports.

    Raises
    ------
    ValidationError
        If the body is not a valid list of reports.
    """
    try:
        return list(_parse_reports(_batch.decode(body).reports))
    # A field is missing, the JSON is nested too deeply, or msgspec or pydantic refuses a value: their errors are
    # ValueErrors. The models then parse the list, or explain what is wrong with it.
    except (KeyError, RecursionError, ValueError):
        return list(ReportList.model_validate_json(body).reports)


def _parse_reports(reports: Sequence[Raw]) -> Iterator[Report | PlainReport]:
    """Yield each report, parsed the fast way if its readings are plain values."""
    if len(reports) > _MAX_REPORTS:
        raise ValueError
    validate_part = _PartValidator()
    for report in reports:
        yield _parse_plain_report(report, validate_part) or Report.model_validate(from_json(bytes(report)))


def _parse_plain_report(report: Raw, validate_part: _PartValidator) -> PlainReport | None:
    """Parse a report the fast way; return None if any reading is more than a value, so that the models parse it."""
    fields = _fields.decode(report)
    samples = _samples.decode(fields["samples"])
    # A report without samples, such as that of a failed build, has no readings to parse the fast way. The word "true"
    # may mark a reading as an outlier, which only the models read.
    if not samples or b"true" in bytes(fields["samples"]):
        return None
    values = _read_values([sample["readings"] for sample in samples])
    if values is None:
        return None
    # Parts that reports share are validated once; all other fields are parsed in one call, as a list, which is faster.
    validated_parts: dict[str, Any] = {name: validate_part(name, fields[name]) for name in _SHARED_PARTS}
    other_fields = {name: value for name, value in fields.items() if name not in validated_parts}
    other_fields["samples"] = _NO_SAMPLES
    validated_parts |= zip(other_fields, from_json(b"[%s]" % b",".join(map(bytes, other_fields.values()))), strict=True)
    validated_parts["samples"] = list(map(_skip_readings, samples))
    report_without_readings = Report.model_validate(validated_parts)
    # The document is built from the fields that were read, because a field that was sent twice was read only once.
    document = _select_json(fields | {"samples": Raw(b"[%s]" % b",".join(map(_select_json, samples)))})
    return PlainReport(report_without_readings, document, values)


def _skip_readings(sample: Mapping[str, Raw]) -> Sample | dict[str, Any]:
    """Return a sample with its readings left out."""
    if len(sample) == 1:
        return _UNREAD_SAMPLE
    return {name: from_json(bytes(value)) for name, value in sample.items() if name != "readings"} | {"readings": {}}


def _select_json(fields: Mapping[str, Raw]) -> bytes:
    """Return the JSON of fields, whose names need no escaping because the models define them."""
    return b"{%s}" % b",".join([b'"%s":%s' % (name.encode(), value) for name, value in fields.items()])


def _read_values(samples: Sequence[Raw]) -> dict[str, Sequence[Number]] | None:
    """Return the values of each metric; None if any reading is more than a value."""
    try:
        readings = [_readings.decode(sample) for sample in samples]
    except msgspec.ValidationError:
        return None
    rows = [list(map(_value_of, readings_of_sample.values())) for readings_of_sample in readings]
    if any(min(row) < -_MAX_INTEGER or max(row) > _MAX_INTEGER for row in rows if row):
        return None
    # Usually all samples have the same metrics in the same order.
    names = list(readings[0])
    if all(list(readings_of_sample) == names for readings_of_sample in readings):
        return dict(zip(names, zip(*rows, strict=True), strict=True))
    values: dict[str, list[Number]] = {}
    for readings_of_sample, row in zip(readings, rows, strict=True):
        for name, value in zip(readings_of_sample, row, strict=True):
            values.setdefault(name, []).append(value)
    return dict(values)
