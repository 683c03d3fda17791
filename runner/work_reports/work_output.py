"""Reads a program's report of its work, in the formats of common benchmark tools.

Each reader takes the text of a result, and returns the number of operations and the seconds that they took. If a
document contains several benchmarks, their operations and seconds are added up.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from runner.work_reports.load_generators import LOAD_GENERATOR_READERS, LOAD_GENERATOR_REQUIREMENTS
from runner.work_reports.regex_search import find_named_groups
from runner.work_reports.work_done import WorkDone


class UnreadableWorkError(Exception):
    """The text does not have the required format; the message says what is required."""


def read_work(text: str, output_format: str, pattern: str | None = None) -> WorkDone:
    """Read the report that a program printed or wrote to its result file.

    Parameters
    ----------
    output_format
        A key of :data:`READERS`, or ``regex``.
    pattern
        For ``regex``: an expression with the groups ``operations`` and ``seconds``. A missing group counts as 1.

    Raises
    ------
    UnreadableWorkError
        The text does not have the format.
    """
    try:
        work = _match_output(text, pattern or "") if output_format == "regex" else READERS[output_format](text)
    # The text is untrusted: with unexpected content, a reader can raise any of these.
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, ArithmeticError):
        raise UnreadableWorkError(REQUIREMENTS[output_format]) from None
    is_finite = _is_positive(work.operations) and _is_positive(work.seconds)
    if not is_finite or math.isinf(work.operations / work.seconds):
        raise UnreadableWorkError(REQUIREMENTS[output_format])
    return work


def _read_json_line(text: str) -> WorkDone:
    """Return the work in the JSON object on the last line of a text."""
    # Do not use str.splitlines(): it would also split at characters that JSON strings may contain.
    document = json.loads(re.split(r"[\r\n]", text.strip())[-1])
    stated_counts = {
        key: document[key] for key in THEORETICAL_COUNTS if _is_number(document.get(key)) and document[key] >= 0
    }
    return WorkDone(document["operations"], document["seconds"], stated_counts)


def _read_google_benchmark(text: str) -> WorkDone:
    """Read the JSON output of Google Benchmark, except for the aggregates of repetitions."""
    entries = [entry for entry in json.loads(text)["benchmarks"] if entry.get("run_type", "iteration") == "iteration"]
    unit_seconds = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    seconds = math.fsum(
        entry["iterations"] * entry["real_time"] * unit_seconds[entry.get("time_unit", "ns")] for entry in entries
    )
    return WorkDone(sum(entry["iterations"] for entry in entries), seconds)


def _read_hyperfine(text: str) -> WorkDone:
    """Read hyperfine's ``--export-json``. An operation is one execution of a command."""
    times = [time for result in json.loads(text)["results"] for time in result["times"]]
    return WorkDone(len(times), math.fsum(times))


def _read_pytest_benchmark(text: str) -> WorkDone:
    """Read pytest-benchmark's ``--benchmark-json``: ``total`` is the sum of the times per iteration of all rounds."""
    stats = [entry["stats"] for entry in json.loads(text)["benchmarks"]]
    operations = sum(entry["rounds"] * entry["iterations"] for entry in stats)
    return WorkDone(operations, math.fsum(entry["total"] * entry["iterations"] for entry in stats))


def _read_pyperf(text: str) -> WorkDone:
    """Read a pyperf suite, in which a value is the time of one loop in seconds."""
    import pyperf  # noqa: PLC0415 - only for workloads that use it: the command must start fast

    runs = [
        run for bench in pyperf.BenchmarkSuite.loads(text) if bench.get_unit() == "second" for run in bench.get_runs()
    ]
    loops = [(run.get_total_loops(), value) for run in runs for value in run.values]
    return WorkDone(sum(count for count, _ in loops), math.fsum(count * value for count, value in loops))


def _match_output(text: str, pattern: str) -> WorkDone:
    """Return the work in the groups of a pattern; without a group, one operation or one second is assumed."""
    groups = find_named_groups(pattern, text)
    return WorkDone(float(groups.get("operations") or 1), float(groups.get("seconds") or 1))


READERS: Mapping[str, Callable[[str], WorkDone]] = {
    "json": _read_json_line,
    "google-benchmark": _read_google_benchmark,
    "hyperfine": _read_hyperfine,
    "pytest-benchmark": _read_pytest_benchmark,
    "pyperf": _read_pyperf,
    **LOAD_GENERATOR_READERS,
}
_MAX_VALUE = 2**64
"""The largest number that a report can contain. The comparison with it also excludes NaN and infinity."""
THEORETICAL_COUNTS = ("bytes", "pages", "faults")
REQUIREMENTS = {
    "json": 'the last line must be a JSON object with positive "operations" and "seconds"',
    "google-benchmark": "it must be the JSON output of Google Benchmark (--benchmark_format=json)",
    "hyperfine": "it must be the JSON output of hyperfine (--export-json)",
    "pytest-benchmark": "it must be the JSON output of pytest-benchmark (--benchmark-json)",
    "pyperf": "it must be a pyperf suite with values in seconds (--output)",
    "regex": "the pattern must match, and its groups must capture positive numbers",
    **LOAD_GENERATOR_REQUIREMENTS,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MAX_VALUE


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0
