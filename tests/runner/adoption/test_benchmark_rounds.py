"""A benchmark that does hardly anything gets more rounds."""

import pytest

from runner.adoption.benchmark_rounds import increase_rounds


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
