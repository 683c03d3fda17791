"""Recognises the format of a file by its content."""

import gzip
import io
import json
import zlib
from pathlib import Path

from pydantic import ValidationError

from runner.errors import FaultwatchError
from runner.importing import csv_columns, perf_output, pyperf_suite
from runner.importing.imported_run import ImportDefaults, ImportedRun, first_mistake
from runner.system.regular_file import read_regular

_GZIP = b"\x1f\x8b"
MOST_BYTES = 64 << 20
"""Of a file, compressed or not: a compressed one of a few bytes can hold gigabytes."""


def read(file: Path, defaults: ImportDefaults) -> list[ImportedRun]:
    """Read the runs of a file of any supported format.

    Raises
    ------
    FaultwatchError
        The file cannot be read completely; then nothing of it is imported.
    """
    try:
        return _read(_text(file), file, defaults)
    except ValidationError as error:
        raise FaultwatchError(f"{file}: {first_mistake(error)}") from None


def _read(text: str, file: Path, defaults: ImportDefaults) -> list[ImportedRun]:
    if defaults.columns:
        return csv_columns.read(text, file.name, defaults)
    if _is_suite(text):
        return pyperf_suite.read(text, file.name, defaults)
    return perf_output.read(text, file, defaults)


def _text(file: Path) -> str:
    try:
        data = read_regular(file, MOST_BYTES)
        return (_unzip(data, file) if data.startswith(_GZIP) else data).decode("utf-8-sig")
    except (gzip.BadGzipFile, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise FaultwatchError(f"{file} is damaged or not text: {error}") from None
    except OSError as error:
        raise FaultwatchError(f"{file} cannot be read: {error.strerror or error}") from None


def _unzip(data: bytes, file: Path) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        text = stream.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise FaultwatchError(f"{file} holds more than {MOST_BYTES >> 20} MiB when decompressed", "split it")
    return text


def _is_suite(text: str) -> bool:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "benchmarks" in document
