import json

import pyperf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.work_reports.work_output import READERS, UnreadableWorkError, WorkDone, read_work

GOOGLE = {
    "context": {"caches": []},
    "benchmarks": [
        {"name": "copy/8", "run_type": "iteration", "iterations": 1000, "real_time": 2.0, "time_unit": "us"},
        {"name": "copy/64", "run_type": "iteration", "iterations": 10, "real_time": 100.0, "time_unit": "ms"},
        {"name": "copy_mean", "run_type": "aggregate", "iterations": 3, "real_time": 9.0, "time_unit": "us"},
    ],
}
HYPERFINE = {"results": [{"command": "sleep 0.1", "mean": 0.1, "times": [0.1, 0.11, 0.09]}]}
PYTEST = {"benchmarks": [{"name": "test_copy", "stats": {"rounds": 5, "iterations": 10, "total": 0.5}}]}


def suite() -> str:
    metadata = {"name": "copy", "loops": 4}
    runs = [pyperf.Run([0.5, 0.25], metadata=metadata, collect_metadata=False) for _ in range(2)]
    benchmark = pyperf.Benchmark(runs)
    return json.dumps(json.loads(_dumped(pyperf.BenchmarkSuite([benchmark]))))


def _dumped(suite: pyperf.BenchmarkSuite) -> str:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "suite.json")
        suite.dump(str(file))
        return file.read_text()


@pytest.mark.parametrize(
    ("form", "text", "operations", "seconds"),
    [
        ("json", 'noise\n{"operations": 50, "seconds": 0.5}\n', 50, 0.5),
        ("json", '50 %\r100 %\r{"operations": 50, "seconds": 0.5}\r\n', 50, 0.5),
        ("json", '{"operations": 50, "seconds": 0.5, "name": "a\u2028b"}', 50, 0.5),
        ("google-benchmark", json.dumps(GOOGLE), 1010, 1.002),
        ("hyperfine", json.dumps(HYPERFINE), 3, 0.3),
        ("pytest-benchmark", json.dumps(PYTEST), 50, 5.0),
        ("pyperf", suite(), 16, 6.0),
    ],
)
def test_each_form_gives_operations_and_seconds(form: str, text: str, operations: float, seconds: float) -> None:
    work = read_work(text, form)
    assert work.operations == operations
    assert work.seconds == pytest.approx(seconds)


def test_a_pattern_finds_them_anywhere() -> None:
    text = "start\ncopied 1200 blocks in 0.75 s\nend"
    assert read_work(text, "regex", r"copied (?P<operations>\d+) blocks in (?P<seconds>[\d.]+) s") == WorkDone(
        1200, 0.75
    )
    assert read_work(text, "regex", r"in (?P<seconds>[\d.]+) s") == WorkDone(1, 0.75)


def test_a_program_may_state_more() -> None:
    work = read_work('{"operations": 1, "seconds": 1, "bytes": 4096, "pages": 2, "faults": 0, "checksum": 7}', "json")
    assert work.stated_counts == {"bytes": 4096, "pages": 2, "faults": 0}


VALUES = st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=10)


@pytest.mark.parametrize("form", READERS)
@given(text=st.one_of(st.text(), VALUES.map(json.dumps)))
def test_rubbish_is_refused_in_words(form: str, text: str) -> None:
    with pytest.raises(UnreadableWorkError):
        read_work(text, form)


@settings(max_examples=20)  # each is searched by a process of its own
@given(text=st.one_of(st.text(), VALUES.map(json.dumps)))
def test_rubbish_without_what_the_pattern_finds_is_refused_in_words(text: str) -> None:
    with pytest.raises(UnreadableWorkError):
        read_work(text, "regex", r"(?P<operations>never \d+)")


@pytest.mark.parametrize("value", ["0", "-1", "1e999", "true", '"5"', "null", "NaN"])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(UnreadableWorkError):
        read_work(f'{{"operations": {value}, "seconds": 1}}', "json")
