"""Reports in the form in which they are stored: zlib-compressed JSON."""

from __future__ import annotations

import zlib

from runner.contract import Report
from service.store.runs.fast_parse import PlainReport

_COMPRESSION_LEVEL = 1
"""zlib level: a higher level takes four times as long and saves only a twentieth."""


def pack_report(report: Report | PlainReport) -> bytes:
    """Return the stored form of a report."""
    if isinstance(report, PlainReport):
        document = report.document
    else:
        document = report.model_dump_json(exclude_defaults=True).encode()
    return zlib.compress(document, _COMPRESSION_LEVEL)


def unpack_report(document: bytes) -> Report:
    """Read a stored report."""
    return Report.model_validate_json(zlib.decompress(document))
