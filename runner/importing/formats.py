"""Recognises the format of a file by its content."""

import gzip
import json
from pathlib import Path

from runner.errors import FaultwatchError
from runner.importing import csv_columns, perf_output, pyperf_suite
from runner.importing.imported_run import ImportDefaults, ImportedRun

_GZIP = b"\x1f\x8b"


def read(file: Path, defaults: ImportDefaults) -> list[ImportedRun]:
    """Read the runs of a file of any supported format.

    Raises
    ------
    FaultwatchError
        The file cannot be read completely; then nothing of it is imported.
    """
    text = _text(file)
    if defaults.columns:
        return csv_columns.read(text, file.name, defaults)
    if _is_suite(text):
        return pyperf_suite.read(text, file.name, defaults)
    return perf_output.read(text, file, defaults)


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
        return (gzip.decompress(data) if data.startswith(_GZIP) else data).decode("utf-8-sig")
    except OSError as error:
        raise FaultwatchError(f"{file} cannot be read: {error.strerror or error}") from None
    except (EOFError, UnicodeDecodeError) as error:
        raise FaultwatchError(f"{file} is damaged or not text: {error}") from None


def _is_suite(text: str) -> bool:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "benchmarks" in document
