"""The summaries of load generators.

The texts in ``recorded/`` are what the tools printed: redis-benchmark 7.0.15, pgbench 15.18, wrk 4.1.0, ab 2.3 and
sysbench 1.0.20. Those of hey and memtier were written after the tools' sources (``requester/print.go``, and
``run_stats.cpp`` with ``memtier_benchmark.cpp``), because neither is a package of Debian; that of sysbench 1.1 after
published outputs.
"""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.work_reports.load_generators import LOAD_GENERATOR_READERS
from runner.work_reports.work_output import REQUIREMENTS, UnreadableWorkError, read_work

RECORDED = Path(__file__).parent / "recorded"
TEXTS = {file.name: file.read_bytes().decode() for file in sorted(RECORDED.iterdir())}


def get_form(name: str) -> str:
    return max((form for form in LOAD_GENERATOR_READERS if name.startswith(form)), key=len)


@pytest.mark.parametrize(
    ("name", "operations", "rate", "latencies"),
    [
        ("redis-benchmark-default-command.txt", 2000, 22222.22, {"p50": 0.000103, "p99": 0.000415}),
        ("memtier.txt", 10_000, 25_000, {"p50": 0.000383, "p99": 0.001207, "p99.9": 0.003007}),
        ("memtier-time.txt", 100_000, 25_000, {"p50": 0.000383, "p99": 0.001207, "p99.9": 0.003007}),
        ("memtier.json", 10_000, 25_000, {"p50": 0.000383, "p99": 0.001207, "p99.9": 0.003007}),
        ("pgbench.txt", 400, 1482.991936, {}),
        ("pgbench-r.txt", 100, 469.816631, {}),
        ("pgbench-time.txt", 5090, 5135.847713, {}),
        ("wrk.txt", 12_824, 11660.04, {}),
        ("wrk-latency.txt", 6678, 6558.39, {"p50": 0.000163, "p99": 0.00649}),
        ("hey.txt", 200, 200 / 0.2104, {"p50": 0.0009, "p99": 0.0291}),
        ("ab.txt", 500, 2032.50, {"p99": 0.007}),
        ("ab-nopercent.txt", 500, 2066.59, {}),
        ("sysbench-memory.txt", 262_144, 262_144 / 0.293, {}),
        ("sysbench-p99.txt", 200, 200 / 0.2029, {"p99": 0.0123}),
        ("sysbench-1.1.txt", 200, 200 / 0.2029, {"p99": 0.0123}),
        ("sysbench-none.txt", 200, 200 / 0.1335, {}),
    ],
)
def test_each_summary_gives_operations_and_the_latencies_that_it_prints(
    name: str, operations: float, rate: float, latencies: dict[str, float]
) -> None:
    work = read_work(TEXTS[name], get_form(name))
    assert work.operations == operations
    assert work.operations / work.seconds == pytest.approx(rate)
    assert work.latencies == pytest.approx(latencies)
    assert not work.is_rate


def test_a_hey_that_prints_two_percent_signs_has_its_latencies() -> None:
    assert "99% in" in TEXTS["hey.txt"]
    work = read_work(TEXTS["hey.txt"].replace("% in", "%% in"), "hey")
    assert work == read_work(TEXTS["hey.txt"], "hey")


def test_tests_of_redis_benchmark_are_added_up_and_the_largest_latency_bounds_all() -> None:
    work = read_work(TEXTS["redis-benchmark-default.txt"], "redis-benchmark")
    rates = [float(rate) for rate in re.findall(r"summary: ([0-9.]+)", TEXTS["redis-benchmark-default.txt"])]
    assert len(rates) == 2
    assert work.operations == 4000
    assert work.seconds == pytest.approx(sum(2000 / rate for rate in rates))
    assert work.latencies == pytest.approx({"p50": 0.000127, "p99": 0.000359})


def test_the_fill_of_a_test_of_redis_benchmark_is_work_too() -> None:
    assert read_work(TEXTS["redis-benchmark-threads.txt"], "redis-benchmark").operations == 4 * 4000


@pytest.mark.parametrize(
    ("name", "rates", "latencies"),
    [
        ("redis-benchmark-quiet.txt", [21276.60, 21276.60], {"p50": 0.000111}),
        ("redis-benchmark-quiet-command.txt", [26666.67], {"p50": 0.000103}),
        ("redis-benchmark-csv.txt", [8163.27, 25974.03], {"p50": 0.000111, "p99": 0.009503}),
    ],
)
def test_lines_of_redis_benchmark_only_say_a_rate(name: str, rates: list[float], latencies: dict[str, float]) -> None:
    work = read_work(TEXTS[name], "redis-benchmark")
    assert work.is_rate
    assert work.operations / work.seconds == pytest.approx(len(rates) / sum(1 / rate for rate in rates))
    assert work.latencies == pytest.approx(latencies)


@pytest.mark.parametrize(
    ("text", "operations", "rate"),
    [
        # redis-benchmark 5: no "throughput summary", no latency summary
        (
            "====== SET ======\n  2000 requests completed in 0.02 seconds\n  50 parallel clients\n\n"
            "99.95% <= 1 milliseconds\n100.00% <= 1 milliseconds\n86956.52 requests per second\n\n",
            2000,
            86956.52,
        ),
        ("SET: 86956.52 requests per second\n", 1, 86956.52),
        ('"SET","86956.52"\n', 1, 86956.52),
        ('"test","rps"\n"SET a "b","c"","86956.52"\n', 1, 86956.52),
    ],
)
def test_older_versions_of_redis_benchmark_are_read(text: str, operations: float, rate: float) -> None:
    work = read_work(text, "redis-benchmark")
    assert work.operations == operations
    assert work.operations / work.seconds == pytest.approx(rate)


def test_pgbench_before_version_14_prints_two_rates_of_which_the_second_excludes_connecting() -> None:
    text = (
        "number of transactions actually processed: 400/400\nlatency average = 0.2 ms\n"
        "tps = 900.5 (including connections establishing)\ntps = 1000.0 (excluding connections establishing)\n"
    )
    work = read_work(text, "pgbench")
    assert (work.operations, work.seconds) == (400, pytest.approx(0.4))


@pytest.mark.parametrize("name", ["pgbench.txt", "wrk-latency.txt", "hey.txt", "ab.txt", "sysbench-p99.txt"])
def test_several_summaries_in_one_text_are_added_up(name: str) -> None:
    alone, twice = (read_work(TEXTS[name] * times, get_form(name)) for times in (1, 2))
    assert twice.operations == 2 * alone.operations
    assert twice.seconds == pytest.approx(2 * alone.seconds)
    assert twice.latencies == alone.latencies


def test_a_percentile_that_one_of_several_summaries_lacks_is_lacking() -> None:
    work = read_work(TEXTS["wrk.txt"] + TEXTS["wrk-latency.txt"], "wrk")
    assert (work.operations, work.latencies) == (12_824 + 6678, {})


def test_several_runs_of_memtier_are_refused_because_one_number_of_requests_stands_for_all() -> None:
    with pytest.raises(UnreadableWorkError, match="for one run"):
        read_work(TEXTS["memtier.txt"] * 2, "memtier")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("redis-benchmark-default.txt", "21505.38", "inf"),
        ("redis-benchmark-csv.txt", "8163.27", "0.00"),
        ("redis-benchmark-threads.txt", "4000 requests completed in 0.50", "0 requests completed in 0.50"),
        ("redis-benchmark-quiet.txt", "21276.60", "-nan"),
        ("memtier.txt", "25000.00", "0.00"),
        ("memtier.json", '"Count": 10000', '"Count": true'),
        ("pgbench.txt", "400/400", "0/400"),
        ("wrk.txt", "12824 requests", "0 requests"),
        ("hey.txt", "0.2104", "0.0000"),
        ("hey.txt", " responses", " errors"),
        ("ab.txt", "Complete requests:      500", "Complete requests:      0"),
        ("sysbench-p99.txt", "0.2029s", "0.0000s"),
    ],
)
def test_a_summary_of_nothing_is_refused_in_words(name: str, old: str, new: str) -> None:
    form = get_form(name)
    assert old in TEXTS[name]
    with pytest.raises(UnreadableWorkError) as refusal:
        read_work(TEXTS[name].replace(old, new), form)
    assert str(refusal.value) == REQUIREMENTS[form]


def test_a_time_too_short_to_be_printed_is_no_latency() -> None:
    assert "p50" not in read_work(TEXTS["ab.txt"], "ab").latencies


@pytest.mark.parametrize("form", LOAD_GENERATOR_READERS)
@pytest.mark.parametrize("name", TEXTS)
def test_the_summary_of_another_tool_is_refused(name: str, form: str) -> None:
    if form != get_form(name):
        with pytest.raises(UnreadableWorkError):
            read_work(TEXTS[name], form)


NUMBERS = st.sampled_from(["", "0", "-1", "nan", "inf", "1e999", "9" * 400, "9" * 5000, ".", "1.2.3", "٣", "x", "0.1"])
PLACES = st.tuples(st.floats(0, 1, exclude_max=True), NUMBERS)


def damage(text: str, numbers: list[tuple[float, str]], lines: list[tuple[float, int]]) -> str:
    """Return a text some of whose numbers are others, and some of whose lines are dropped or repeated."""
    for place, number in numbers:
        matches = list(re.finditer(r"[0-9][0-9.]*", text))
        if matches:
            match = matches[int(place * len(matches))]
            text = text[: match.start()] + number + text[match.end() :]
    parts = text.splitlines(keepends=True)
    for place, times in lines:
        if parts:
            index = int(place * len(parts))
            parts[index : index + 1] = [parts[index]] * times
    return "".join(parts)


@pytest.mark.parametrize("name", TEXTS)
@given(
    numbers=st.lists(PLACES, max_size=4),
    lines=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.sampled_from([0, 2])), max_size=4),
    end=st.integers(0, 400),
)
def test_a_damaged_summary_is_refused_or_gives_numbers(
    name: str, numbers: list[tuple[float, str]], lines: list[tuple[float, int]], end: int
) -> None:
    text = damage(TEXTS[name], numbers, lines)
    try:
        work = read_work(text[: len(text) - end], get_form(name))
    except UnreadableWorkError:
        return
    for value in (work.operations, work.seconds, work.operations / work.seconds, *work.latencies.values()):
        assert 0 < value < math.inf
    assert set(work.latencies) <= {"p50", "p99", "p99.9"}
