"""A benchmark that does hardly anything gets more rounds."""

import pytest

from runner.adoption.benchmark_rounds import (
    ask_for_names,
    increase_rounds,
    list_benchmark_commands,
    reduce_rounds,
    skip_benchmarks,
)


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


def test_each_benchmark_of_go_can_be_run_alone_and_left_out() -> None:
    command = "sh -c 'cd p && exec ../b -test.bench=. -test.benchtime=10x'"
    assert ask_for_names(command) == "sh -c 'cd p && exec ../b -test.list=. -test.benchtime=10x'"
    commands = list_benchmark_commands(command, "TestScan\nBenchmarkFib\nBenchmarkAdd\nok\n")
    assert list(commands) == ["BenchmarkFib", "BenchmarkAdd"]
    assert commands["BenchmarkAdd"] == """sh -c 'cd p && exec ../b -test.bench="^BenchmarkAdd$" -test.benchtime=1x'"""
    shorter = skip_benchmarks('bin/b -test.bench="a|b" -test.benchtime=10x', ["BenchmarkFib", "BenchmarkAdd"])
    assert shorter == 'bin/b -test.bench="a|b" -test.skip="^(BenchmarkFib|BenchmarkAdd)$" -test.benchtime=10x'
    assert ask_for_names("./fib --benchmark_min_time=10x") == ""
