"""A benchmark that does hardly anything gets more rounds."""

import pytest

from runner.adoption.benchmark_rounds import increase_rounds, reduce_rounds, skip_slow_benchmarks


@pytest.mark.parametrize(
    ("command", "longer"),
    [
        (
            "bin/b -test.run=NONE -test.bench=. -test.benchtime=10x",
            "bin/b -test.run=NONE -test.bench=. -test.benchtime=1000x",
        ),
        ("sh -c 'cd p && exec ../b -test.benchtime=1000x'", "sh -c 'cd p && exec ../b -test.benchtime=100000x'"),
        ("b --benchmark_min_time=10x --benchmark_format=json", "b --benchmark_min_time=1000x --benchmark_format=json"),
        ("bin/b -test.benchtime=100000x", ""),
        ("bin/b -test.benchtime=10s", ""),
        ("bin/b", ""),
    ],
)
def test_the_rounds_of_a_benchmark_are_increased_up_to_a_limit(command: str, longer: str) -> None:
    assert increase_rounds(command) == longer


@pytest.mark.parametrize(
    ("command", "shorter"),
    [
        ("bin/b -test.bench=. -test.benchtime=10x", "bin/b -test.bench=. -test.benchtime=1x"),
        ("b --benchmark_min_time=1x", ""),
        ("bin/b -test.benchtime=10s", ""),
    ],
)
def test_the_rounds_of_a_benchmark_are_reduced_to_one(command: str, shorter: str) -> None:
    assert reduce_rounds(command) == shorter


def test_the_few_benchmarks_that_take_nearly_all_the_time_are_left_out() -> None:
    quick = "".join(f"BenchmarkQuick{number}-2 \t 1\t 325.0 ns/op\t 8 B/op\n" for number in range(7))
    slow = "    compiler.go:434: > 0\nBenchmarkFib/large-2 \t 1\t 5152061489 ns/op\n"
    command = "bin/b -test.bench=. -test.benchtime=10x"
    shorter = 'bin/b -test.bench=. -test.skip="^(BenchmarkFib)$" -test.benchtime=10x'
    assert skip_slow_benchmarks(command, quick + slow) == shorter
    assert skip_slow_benchmarks(command, quick) == ""
    assert skip_slow_benchmarks(command, slow) == "", "the suite is about it"
    assert skip_slow_benchmarks("./fib", quick + slow) == ""
