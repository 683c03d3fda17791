"""``faultwatch import``: files of every format, plain and compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyperf

from runner.contract import build_suite
from runner.errors import FaultwatchError
from runner.importing import ImportDefaults, make_reports, read_file
from runner.importing.formats.csv_columns import parse_column_map
from tests.fuzz.door import Attempt
from tests.fuzz.mutation import mutated_bytes, mutated_json, mutated_text
from tests.runner.importing.recorded import DATA, FILES
from tests.runner.perf.recordings import outputs
from tests.runner.sample_reports import report

SHARE = 60
SAID = ImportDefaults(subject="s", host="h", revision="v1", case="copy 4", started_at=datetime(2025, 1, 1, tzinfo=UTC))
CSV = ImportDefaults(
    subject="s",
    host="h",
    columns=parse_column_map("started_at=when,revision=what,case=program,minor-faults=faults,task-clock=clock_ms:ms"),
)
_ROWS = """when,what,program,faults,clock_ms
20250101_000000,aaa,lu.exe 1024,9008.0,4001.5
2025-01-02T00:00:00+01:00,bbb,lu.exe 1024,9009,4002.5
"""


@contextmanager
def opened(folder: Path) -> Iterator[Attempt]:
    recorded = [(DATA / name).read_text() for name in FILES.values()]
    documents = _suites(folder) + [json.loads(text) for text in recorded if text.startswith(("{", "["))]
    texts = [output.text for output in outputs()] + recorded
    file = folder / "file"

    def attempt(rng: Random) -> str:
        defaults = SAID
        kind = rng.random()
        if kind < 0.45:
            data = mutated_json(rng.choice(documents), rng)
        elif kind < 0.7:
            data, defaults = mutated_text(_ROWS, rng).encode(errors="surrogatepass"), CSV
        else:
            data = mutated_text(rng.choice(texts), rng).encode(errors="surrogatepass")
        if rng.random() < 0.1:
            data = gzip.compress(data, 1)
            data = mutated_bytes(data, rng) if rng.random() < 0.7 else data
        file.write_bytes(data)
        if rng.random() < 0.5:
            defaults = ImportDefaults(columns=defaults.columns)
        try:
            made = make_reports(read_file(file, defaults), defaults)
        except FaultwatchError:
            return "refused"
        return "imported" if made else "nothing"

    yield attempt


def _suites(folder: Path) -> list[Any]:
    own = build_suite(report(1))
    assert own is not None
    told = {"name": "touch", "loops": 8, "unit": "second", "date": "2025-01-01 10:00:00", "hostname": "h"}
    hooked = told | {
        "faultwatch_minor_faults": 2400, "faultwatch_major_faults": 0, "faultwatch_values": 3,
        "faultwatch_user_time": 0.03, "faultwatch_sys_time": 0.01,
    }  # fmt: skip
    runs = [pyperf.Run([0.5, 0.5], metadata=one, collect_metadata=False) for one in (told, hooked)]
    made = []
    for number, suite in enumerate((own, pyperf.BenchmarkSuite([pyperf.Benchmark(runs)]))):
        suite.dump(str(folder / f"suite-{number}.json"))
        made.append(json.loads((folder / f"suite-{number}.json").read_text()))
    return made
