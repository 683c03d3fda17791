"""Reads the summaries that load generators print at their end.

Each reader searches for a few lines of the tool's summary, ignores all others, and yields the benchmarks in the text.
If the numbers of a benchmark are not positive and finite, the text cannot be read.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from runner.work_reports.work_done import WorkDone

_PERCENTILE_NAMES = {50.0: "p50", 99.0: "p99", 99.9: "p99.9"}
_UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class _Benchmark(Struct):
    """One benchmark in the output of a load generator. A reader may add latencies after it has yielded the benchmark.

    Attributes
    ----------
    operations
        The number of operations; None if the text contains only their rate.
    rate
        Operations per second. Tools print it with more digits than the time.
    """

    operations: float | None
    rate: float
    latencies: dict[str, float]


def _read_redis_benchmark(text: str) -> Iterator[_Benchmark]:
    """Read the output of redis-benchmark: its report, its lines with ``-q``, or its table with ``--csv``."""
    operations: float | None = None
    # This one takes the latencies of a table without a summary, and is not yielded.
    benchmark = _Benchmark(operations=None, rate=1.0, latencies={})
    columns: list[str] = ["test", "rps"]
    is_table_next = False
    # Progress messages are overwritten by carriage returns, so one line may contain many messages.
    for line in re.split(r"[\r\n]+", text):
        words = line.split()
        if is_table_next:
            # The line is "0.131     0.040     0.127     0.223     0.359     0.743", in milliseconds. The table follows
            # the summary, so the latencies belong to the benchmark that was yielded last.
            benchmark.latencies |= _name_latencies(zip(columns, words, strict=True), 1e-3)
            is_table_next = False
        elif words[1:4] == ["requests", "completed", "in"]:
            operations = _parse_positive(words[0])
        elif words[:2] == ["throughput", "summary:"] or words[1:] == ["requests", "per", "second"]:
            # The line is "throughput summary: 21505.38 requests per second", without the first two words before 6.2.
            benchmark = _Benchmark(operations, _parse_positive(words[-4]), {})
            operations = None
            yield benchmark
        elif words[:3] == ["avg", "min", "p50"]:
            columns, is_table_next = words, True
        elif match := re.fullmatch(r".+: (\S+) requests per second(?:, p50=(\S+) msec)?\s*", line):
            # Without p50, pass 0, which is left out.
            yield _Benchmark(None, _parse_positive(match[1]), _name_latencies([("p50", match[2] or "0")], 1e-3))
        elif line.startswith('"'):
            # The name of a test may contain quotes and commas.
            if line.startswith('"test","rps"'):
                columns = [name.removesuffix("_latency_ms") for name in line.strip().strip('"').split('","')]
            else:
                row = line.strip().strip('"').rsplit('","', len(columns) - 1)
                cells = dict(zip(columns, row, strict=True))
                yield _Benchmark(None, _parse_positive(cells["rps"]), _name_latencies(cells.items(), 1e-3))


def _read_memtier(text: str) -> Iterator[_Benchmark]:
    """Read the output of memtier_benchmark, whose times are milliseconds: its table, or its JSON."""
    if text.lstrip().startswith("{"):
        document = json.loads(text)["ALL STATS"]
        totals = document["Totals"]
        operations = _parse_positive(totals["Count"])
        seconds = _parse_positive(document["Runtime"]["Total duration"]) / 1e3
        latencies = _name_latencies(totals.get("Percentile Latencies", {}).items(), 1e-3)
        yield _Benchmark(operations, operations / seconds, latencies)
        return
    counts: dict[str, float] = {}
    columns: list[str] = []
    rows = []
    for line in text.splitlines():
        if match := re.fullmatch(r"([0-9]+) +(Threads|Connections|Requests|Seconds)( per (?:thread|client))?\s*", line):
            counts[match[2]] = _parse_positive(match[1])
        elif line.startswith("Type "):
            columns = re.findall(r"\S+ Latency|\S+", line)
        elif line.startswith("Totals "):
            rows.append(dict(zip(columns, line.split(), strict=True)))
    # With several runs, memtier prints a table for each and one of averages, but the number of requests only once. The
    # unpacking raises ValueError in this case.
    (totals,) = rows
    rate = _parse_positive(totals["Ops/sec"])
    clients = counts["Threads"] * counts["Connections"]
    operations = clients * counts["Requests"] if "Requests" in counts else round(rate * counts["Seconds"])
    cells = ((name.removesuffix(" Latency"), cell) for name, cell in totals.items() if name.endswith(" Latency"))
    yield _Benchmark(operations, rate, _name_latencies(cells, 1e-3))


def _read_pgbench(text: str) -> Iterator[_Benchmark]:
    """Read the output of pgbench, which has no percentiles.

    An operation is a transaction; the time does not include connecting.
    """
    operations: float | None = None
    rate: float | None = None
    for line in text.splitlines():
        if match := re.match(r"number of transactions actually processed: ([0-9]+)", line):
            if operations and rate:
                yield _Benchmark(operations, rate, {})
            operations, rate = _parse_positive(match[1]), None
        elif match := re.match(r"tps = (\S+) \(", line):
            # Before version 14, there are two such lines; the second excludes connecting.
            rate = _parse_positive(match[1])
    if operations and rate:
        yield _Benchmark(operations, rate, {})


def _read_wrk(text: str) -> Iterator[_Benchmark]:
    """Read the output of wrk, with or without ``--latency``. An operation is a request."""
    operations: float | None = None
    latencies: dict[str, float] = {}
    for line in text.splitlines():
        words = line.split()
        if words[1:3] == ["requests", "in"]:
            operations = _parse_positive(words[0])
        elif words[:1] == ["Requests/sec:"] and operations:
            yield _Benchmark(operations, _parse_positive(words[1]), latencies)
            operations, latencies = None, {}
        elif match := re.fullmatch(r"\s*([0-9.]+)% +([0-9.]+)(us|ms|s|m|h)\s*", line):  # such as "  99%    1.20ms"
            latencies |= _name_latencies([(match[1], match[2])], _UNIT_SECONDS[match[3]])


def _read_hey(text: str) -> Iterator[_Benchmark]:
    """Read the output of hey. An operation is a request that was answered, with any status.

    A summary without a time cannot be read: it would cause a division by 0.
    """
    for summary in re.split(r"^Summary:", text, flags=re.MULTILINE)[1:]:
        operations = 0.0
        seconds = 0.0
        latencies: dict[str, float] = {}
        for line in summary.splitlines():
            words = line.split()
            # The lines are "Total: 1.25 secs", "[200] 5000 responses", and "99% in 0.0021 secs", in which some versions
            # print the sign twice.
            if words[:1] == ["Total:"]:
                seconds = _parse_positive(words[1])
            elif words[2:] == ["responses"]:
                operations += _parse_positive(words[1])
            elif words[1:2] == ["in"] and words[0].endswith("%"):
                latencies |= _name_latencies([(words[0].rstrip("%"), words[2])], 1.0)
        yield _Benchmark(operations, operations / seconds, latencies)


def _read_ab(text: str) -> Iterator[_Benchmark]:
    """Read the output of ApacheBench, whose latencies are whole milliseconds."""
    operations: float | None = None
    # This one takes percentiles that follow no rate, and is not yielded.
    benchmark = _Benchmark(operations=None, rate=1.0, latencies={})
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["Complete", "requests:"]:
            operations = _parse_positive(words[2])
        elif words[:3] == ["Requests", "per", "second:"] and operations:
            benchmark = _Benchmark(operations, _parse_positive(words[3]), {})
            operations = None
            yield benchmark
        elif match := re.fullmatch(r" +([0-9]+)% +([0-9]+)", line):
            # The percentiles follow the rate, so they belong to the benchmark that was yielded last.
            benchmark.latencies |= _name_latencies([(match[1], match[2])], 1e-3)


def _read_sysbench(text: str) -> Iterator[_Benchmark]:
    """Read the output of sysbench, which has one percentile, by default the 95th, in milliseconds.

    An operation is an event. From 1.1 on, the total time is called ``time elapsed``. If it does not precede the number
    of events, the text cannot be read: the division by 0 fails.
    """
    seconds = 0.0
    # This one takes a percentile that precedes all numbers of events, and is not yielded.
    benchmark = _Benchmark(operations=None, rate=1.0, latencies={})
    for line in text.splitlines():
        if match := re.fullmatch(r"\s*(?:total time|time elapsed): +([0-9.]+)s\s*", line):
            seconds = _parse_positive(match[1])
        elif match := re.fullmatch(r"\s*total number of events: +([0-9]+)\s*", line):
            operations = _parse_positive(match[1])
            benchmark = _Benchmark(operations, operations / seconds, {})
            yield benchmark
        elif match := re.fullmatch(r"\s*([0-9]+)th percentile: +([0-9.]+)\s*", line):
            benchmark.latencies |= _name_latencies([(match[1], match[2])], 1e-3)


def _parse_positive(value: Any) -> float:
    """Return a value as a number.

    Raises
    ------
    ValueError
        The value is not a positive, finite number.
    """
    number = math.nan if isinstance(value, bool) else float(value)
    if not 0 < number < math.inf:
        raise ValueError(value)
    return number


def _name_latencies(cells: Iterable[tuple[str, Any]], seconds_per_unit: float) -> dict[str, float]:
    """Return the percentiles that runs contain, in seconds, from columns such as ``p99``, ``p99.00`` or ``99``.

    Other columns are ignored, and so are times of 0, which are shorter than the tool can print.
    """
    latencies = {}
    for column, value in cells:
        match = re.fullmatch(r"p?([0-9]+(?:\.[0-9]+)?)", column)
        name = _PERCENTILE_NAMES.get(float(match[1])) if match else None
        if name and 0 < float(value) * seconds_per_unit < math.inf:
            latencies[name] = float(value) * seconds_per_unit
    return latencies


def _sum_benchmarks(benchmarks: Iterable[_Benchmark]) -> WorkDone:
    """Return the total work of several benchmarks that ran one after the other.

    A percentile of all operations cannot be computed from those of the parts, so its upper bound, the largest of them,
    is returned.
    """
    benchmark_list = list(benchmarks)
    is_rate = any(benchmark.operations is None for benchmark in benchmark_list)
    # If any benchmark has only a rate, all of them get the same weight.
    operations = [
        1.0 if is_rate or benchmark.operations is None else benchmark.operations for benchmark in benchmark_list
    ]
    seconds = math.fsum(count / benchmark.rate for count, benchmark in zip(operations, benchmark_list, strict=True))
    names = set.intersection(*(set(benchmark.latencies) for benchmark in benchmark_list))
    latencies = {name: max(benchmark.latencies[name] for benchmark in benchmark_list) for name in sorted(names)}
    return WorkDone(math.fsum(operations), seconds, latencies=latencies, is_rate=is_rate)


_BENCHMARK_READERS: Mapping[str, Callable[[str], Iterator[_Benchmark]]] = {
    "redis-benchmark": _read_redis_benchmark,
    "memtier": _read_memtier,
    "pgbench": _read_pgbench,
    "wrk": _read_wrk,
    "hey": _read_hey,
    "ab": _read_ab,
    "sysbench": _read_sysbench,
}


def _make_reader(read_benchmarks: Callable[[str], Iterator[_Benchmark]]) -> Callable[[str], WorkDone]:
    return lambda text: _sum_benchmarks(read_benchmarks(text))


LOAD_GENERATOR_READERS: Mapping[str, Callable[[str], WorkDone]] = {
    output_format: _make_reader(read_benchmarks) for output_format, read_benchmarks in _BENCHMARK_READERS.items()
}
LOAD_GENERATOR_REQUIREMENTS = {
    "redis-benchmark": "it must be what redis-benchmark prints, with or without -q or --csv",
    "memtier": "it must be what memtier_benchmark prints for one run (without --run-count), or its JSON",
    "pgbench": 'it must be what pgbench prints at the end, with "transactions actually processed" and "tps"',
    "wrk": 'it must be what wrk prints at the end, with "requests in" and "Requests/sec"',
    "hey": "it must be the summary of hey (without -o), with at least one response",
    "ab": 'it must be what ab (ApacheBench) prints at the end, with "Complete requests" and "Requests per second"',
    "sysbench": 'it must be what sysbench prints, with "total number of events" after "total time" or "time elapsed"',
}
