"""Inputs written after the tools' documentation, and what is refused."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.contract.report import Report
from runner.errors import FaultwatchError
from runner.importing import ImportDefaults, make_reports, read_file
from tests.runner.importing.recorded import DATA, GIVEN

_GO = """commit: 2c8be77
commit-time: 2025-03-01T10:00:00Z
goos: linux
Unit score better=higher
BenchmarkA/json-8 10 5 ns/op 7 score 3 widgets
BenchmarkA/json-8 10 6 ns/op 8 score 3 widgets
commit: 269860b
commit-time: 2025-03-02T10:00:00Z
BenchmarkA/json-8 10 9 ns/op 4 score 3 widgets
--- FAIL: BenchmarkB
ok  	example.org/a	1.2s
"""
_OLD_LNT = {
    "Machine": {"Name": "lab", "Info": {}},
    "Run": {"Start Time": "2025-03-01 10:00:00", "Info": {"run_order": "154331", "tag": "nts"}},
    "Tests": [
        {"Name": "nts.suite/a.exec", "Data": [1.5, 1.4], "Info": {}},
        {"Name": "nts.suite/a.exec.status", "Data": [1]},
        {"Name": "nts.suite/a.hash", "Data": None},
        {"Name": "nts.suite/a.score", "Data": [7]},
    ],
}
_JMH_SAMPLING = [
    {
        "benchmark": "org.example.B.fill",
        "mode": "sample",
        "threads": 4,
        "params": {"size": "16"},
        "primaryMetric": {"score": 2.5, "scoreUnit": "us/op", "rawDataHistogram": [[[[2.0, 3], [3.0, 1]]]]},
        "secondaryMetrics": {
            "fill:p0.50": {"score": 2.0, "scoreUnit": "us/op", "rawData": [[2.0]]},
            "fill:p1.00": {"score": 9.0, "scoreUnit": "us/op", "rawData": [[9.0]]},
            "·gc.alloc.rate": {"score": "NaN", "scoreUnit": "MB/sec", "rawData": [["NaN"]]},
        },
    }
]
_CUSTOM = [
    {"name": "queue length", "unit": "jobs", "value": 12, "extra": "x"},
    {"name": "p99", "unit": "ms", "value": 3},
]


def imported(tmp_path: Path, document: object, defaults: ImportDefaults = GIVEN) -> list[Report]:
    file = tmp_path / "results"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return make_reports(read_file(file, defaults), defaults)


def test_go_text_holds_a_history_and_directions(tmp_path: Path) -> None:
    first, second = imported(tmp_path, _GO)
    assert first.case.name == "A-json[gomaxprocs=8]"
    assert first.revision.title.startswith("2c8be77")
    assert first.started_at == datetime(2025, 3, 1, 10, tzinfo=UTC)
    assert first.list_values("import:higher:score:score") == (7, 8), "its Unit line says so"
    assert second.list_values("import:higher:score:score") == (4,)
    assert "import:lower:widgets:widgets" not in first.judging.judge


def test_a_direction_can_be_given(tmp_path: Path) -> None:
    first, _ = imported(tmp_path, _GO, replace(GIVEN, better={"widgets": "higher"}))
    assert "import:higher:widgets:widgets" in first.judging.judge


def test_old_reports_of_lnt(tmp_path: Path) -> None:
    (run,) = imported(tmp_path, _OLD_LNT)
    assert run.case.name == "nts.suite-a"
    assert run.list_values("import:lower:s:execution_time") == (1.5, 1.4)
    assert run.judging.judge == ("import:lower:s:execution_time", "import:higher::score")
    assert run.revision.title.startswith("154331")


def test_the_sampling_mode_of_jmh(tmp_path: Path) -> None:
    (run,) = imported(tmp_path, _JMH_SAMPLING)
    assert run.case.name == "B.fill[size=16,threads=4]"
    assert {name: run.list_values(name) for name in run.metrics} == {
        "import:lower:ns/op:sample": (2500,),
        "import:lower:ns/op:sample fill:p0.50": (2000,),
    }, "the slowest of all calls hardly repeats"


@pytest.mark.parametrize(("tool", "better"), [("customSmallerIsBetter", "lower"), ("customBiggerIsBetter", "higher")])
def test_custom_results_have_the_direction_of_their_format(tool: str, better: str, tmp_path: Path) -> None:
    queue, delay = imported(tmp_path, _CUSTOM, replace(GIVEN, format=tool))
    assert queue.list_values(f"import:{better}:jobs:value") == (12,)
    assert queue.judging.judge == (f"import:{better}:jobs:value",)
    assert delay.case.name == "p99"


def test_custom_results_without_a_direction_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError, match=r"which direction is an improvement.*customSmallerIsBetter"):
        imported(tmp_path, _CUSTOM)


def test_results_of_an_uncommitted_state_are_not_those_of_the_commit(tmp_path: Path) -> None:
    document = json.loads((DATA / "pytest-benchmark.json").read_text())
    document["commit_info"]["dirty"] = True
    run, _ = imported(tmp_path, document)
    assert run.revision.title.startswith(f"{document['commit_info']['id']}-dirty (imported")


def test_many_values_are_reduced_and_keep_the_median(tmp_path: Path) -> None:
    document = json.loads((DATA / "hyperfine.json").read_text())
    document["results"][0]["times"] = [float(number) for number in range(100_001)]
    run, _ = imported(tmp_path, document)
    values = run.list_values("elapsed")
    assert len(values) == 201
    assert sorted(values)[100] == 50_000


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("google-benchmark.json", ('"real_time": 2.2719029150478590e+01', '"real_time": "soon"'), "real_time"),
        ("google-benchmark.json", ('"date": "', '"date": "on '), "is not a time"),
        ("hyperfine.json", ('"mean": 0.0037830056', '"mean": NaN'), "results.0.mean"),
        ("pytest-benchmark.json", ('"median"', '"middle"'), "benchmarks.0.stats.median"),
        ("go-bench.txt", ("245.8 ns/op", "soon ns/op"), "line 5: 'soon' is not a number"),
        ("go-bench.txt", ("245.8 ns/op", "245.8"), "line 5: the values and units"),
        ("jmh.json", ('"mode" : "avgt"', '"mood" : "avgt"'), "mode"),
        ("asv/bench-host/8f43101c-virtualenv-py3.11.json", ('"version": 2}', '"version": 1}'), "asv update"),
        (
            "asv/bench-host/8f43101c-virtualenv-py3.11.json",
            ('["10", "1000"]', '["10"]'),
            "does not match the parameters",
        ),
        ("lnt.json", ('"tests": [', '"tests": ["x",'), "tests.0"),
        ("github-action-benchmark.json", ('"value": 100', '"value": "many"'), "entries.Server.0.benches.0.value"),
        ("hyperfine.json", ("}", ""), "not a complete JSON document"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(name: str, damage: tuple[str, str], said: str, tmp_path: Path) -> None:
    text = (DATA / name).read_text()
    assert damage[0] in text
    with pytest.raises(FaultwatchError) as caught:
        imported(tmp_path, text.replace(*damage))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_sample_of_criterion_needs_its_description(tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError, match=r"no benchmark\.json next to"):
        imported(tmp_path, (DATA / "criterion/sum/new/sample.json").read_text())


@pytest.mark.parametrize(("iters", "times"), [([1, 2], [5]), ([0, 2], [5, 9])])
def test_a_sample_of_criterion_has_a_time_for_each_positive_count(
    iters: list[int], times: list[int], tmp_path: Path
) -> None:
    (tmp_path / "benchmark.json").write_text('{"group_id": "sum"}')
    sample = json.dumps({"sampling_mode": "Flat", "iters": iters, "times": times})
    with pytest.raises(FaultwatchError, match="must have the same length, and iters must be positive"):
        imported(tmp_path, sample)


_LOAD_OUTPUTS = Path(__file__).parents[2] / "work_reports" / "recorded"


@pytest.mark.parametrize("file", sorted(path.name for path in _LOAD_OUTPUTS.iterdir()))
def test_what_a_load_generator_prints_is_recognised(tmp_path: Path, file: str) -> None:
    (report,) = imported(tmp_path, (_LOAD_OUTPUTS / file).read_text(), replace(GIVEN, case=""))
    tool = file.partition(".")[0]
    assert tool.startswith(report.case.workload)
    readings = report.samples[0].readings
    assert readings["throughput"].value is not None
    assert set(readings) <= {"throughput", "latency-p50", "latency-p99", "latency-p99.9"}
    assert set(report.judging.judge) == set(readings)


def test_the_load_of_a_server_is_a_case_by_its_own_name(tmp_path: Path) -> None:
    text = (_LOAD_OUTPUTS / "wrk-latency.txt").read_text()
    (report,) = imported(tmp_path, text, replace(GIVEN, case="checkout"))
    assert report.case.workload == "checkout"
    assert report.samples[0].readings["latency-p99"].value == pytest.approx(_read_p99(text))


def _read_p99(text: str) -> float:
    match = re.search(r"99% +([0-9.]+)(us|ms)", text)
    assert match
    return float(match[1]) * {"us": 1e-6, "ms": 1e-3}[match[2]]


def test_a_load_generator_that_was_named_and_did_not_write_this_is_refused(tmp_path: Path) -> None:
    text = (_LOAD_OUTPUTS / "wrk.txt").read_text()
    with pytest.raises(FaultwatchError, match=r"is not the output of hey: it must be the summary of hey"):
        imported(tmp_path, text, replace(GIVEN, format="hey"))


def test_a_benchmark_that_occurs_twice_in_a_file_keeps_the_values_of_both(tmp_path: Path) -> None:
    twice = [{"command": "sort x", "mean": seconds, "times": [seconds, seconds], "user": 0.5} for seconds in (1.0, 3.0)]
    (found,) = imported(tmp_path, {"results": twice})
    assert found.list_values("elapsed") == (1, 1, 3, 3)
    assert found.list_values("user-time") == (0.5, 0.5)
