"""Files that the real tools wrote: every value with its unit, its direction, its revision and its time."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.metrics import get_metric
from runner.importing import make_reports, read_file
from tests.runner.importing.recorded import DATA, GIVEN, reports

FIRST, SECOND = "8f43101cce8c15f4f014ed7528e21a36a0d1cb79", "61c92865b4aea426b1d0715f5d04fe230193a427"


def test_google_benchmark() -> None:
    runs = reports("google-benchmark.json")
    assert set(runs) == {"BM_Fill[arguments=64,threads=2]", "BM_Fill[arguments=4096,threads=2]", "BM_Slow"}, (
        "a benchmark with an error has no result"
    )
    fill, slow = runs["BM_Fill[arguments=64,threads=2]"], runs["BM_Slow"]
    assert fill.list_values("import:lower:ns:real_time") == pytest.approx((22.719, 24.958, 52.744), abs=1e-3)
    assert len(fill.list_values("import:higher:bytes/s:bytes_per_second")) == 3
    assert fill.list_values("import:lower::allocations") == (2, 2, 2)
    assert "import:lower::allocations" not in fill.judging.judge, "a counter does not say which direction is better"
    assert slow.list_values("import:lower:ns:cpu_time")[0] == pytest.approx(2179.836, abs=1e-3), "from microseconds"
    assert slow.revision.title.startswith("2c8be77"), "--benchmark_context=commit=… names the revision"
    assert slow.host.name == "bench-host"
    assert slow.started_at == datetime(2026, 11, 22, 11, 15, 28, tzinfo=UTC)
    assert slow.environment.settings["google-benchmark.library_build_type"] == "release"


def test_google_benchmark_with_aggregates_only_has_the_median() -> None:
    (run,) = reports("google-benchmark-aggregates.json").values()
    assert run.list_values("import:lower:ns:real_time") == pytest.approx((3733.85,), abs=0.01)


def test_hyperfine() -> None:
    runs = reports("hyperfine.json")
    assert set(runs) == {"seq[arguments=1000]", "seq[arguments=3000]"}
    run = runs["seq[arguments=1000]"]
    assert run.list_values("elapsed") == pytest.approx((0.00468, 0.00283, 0.00124, 0.00892, 0.00124), abs=1e-5)
    assert run.list_values("user-time") == (0.0011164,)
    assert run.list_values("max-rss") == (3100672,) * 5
    assert "elapsed" in run.judging.judge
    assert set(reports("hyperfine-named.json")) == {"list[arguments=files]"}


def test_pytest_benchmark() -> None:
    runs = reports("pytest-benchmark.json")
    assert set(runs) == {"test_parse[param=10]", "test_parse[param=1000]"}
    run = runs["test_parse[param=10]"]
    assert len(run.list_values("import:lower:ns:time")) == 7
    assert run.list_values("import:lower:ns:time")[0] == pytest.approx(691.62, abs=0.01)
    assert run.revision.commit == SECOND
    assert run.started_at.date().isoformat() == "2026-11-22"
    assert run.environment.settings["pytest-benchmark.release"] == "6.12.0-amd64"
    saved = reports(f"pytest-storage/Linux-CPython-3.11-64bit/0001_{SECOND}_20261122_111225.json")
    assert saved["test_parse[param=10]"].list_values("import:lower:ns:time") == pytest.approx((546.64,), abs=0.01)
    assert saved["test_parse[param=10]"].case == run.case


def test_criterion() -> None:
    (latest,) = reports("criterion/fill/vec/64/new/sample.json").values()
    assert latest.case.name == "fill-vec[value=64]"
    assert len(latest.list_values("import:lower:ns:time")) == 10
    (saved,) = reports("criterion/sum/v1.0/sample.json").values()
    assert saved.revision.title.startswith("v1.0"), "the name of the baseline"
    assert saved.list_values("import:lower:ns:time")[0] == pytest.approx(2.35887, abs=1e-5)
    assert reports("criterion/sum/base/sample.json") == {}, "a copy of the latest measurement"


def test_go() -> None:
    runs = reports("go-bench.txt")
    assert set(runs) == {
        "codec.Encode[gomaxprocs=2,size=64]",
        "codec.Encode[gomaxprocs=2,size=4096]",
        "codec.Parse[gomaxprocs=2]",
    }
    run = runs["codec.Encode[gomaxprocs=2,size=64]"]
    assert run.list_values("import:lower:ns/op:time") == (245.8, 137.6, 80.57)
    assert run.list_values("import:higher:MB/s:throughput") == (260.38, 465.15, 794.34)
    assert run.list_values("import:lower:allocs/op:allocations") == (1, 1, 1)
    assert runs["codec.Parse[gomaxprocs=2]"].list_values("import:lower:tokens/op:tokens/op") == (3, 3, 3)
    assert run.environment.settings["go.cpu"].startswith("Intel")


def test_jmh() -> None:
    (run,) = reports("jmh.json").values()
    assert run.case.name == "B.fill[size=16]"
    assert {"import:lower:ns/op:avgt", "import:higher:ops/s:thrpt"} <= set(run.judging.judge)
    cost, rate = run.list_values("import:lower:ns/op:avgt")[0], run.list_values("import:higher:ops/s:thrpt")[0]
    assert 1 < cost < 10_000, "microseconds per operation became nanoseconds"
    assert 1e5 < rate < 1e9, "operations per microsecond became operations per second"
    assert len(run.list_values("import:lower:ns/op:avgt")) == 3
    assert "import:lower:B/op:avgt gc.alloc.rate.norm" in run.judging.judge
    assert "import:lower:MB/s:avgt gc.alloc.rate" in run.metrics
    assert "import:lower:MB/s:avgt gc.alloc.rate" not in run.judging.judge, "a rate of garbage is no throughput"


def test_asv() -> None:
    runs = reports("asv/bench-host/8f43101c-virtualenv-py3.11.json")
    assert len(runs) == 7, "of eight points, one time and one peak were skipped, and one number is tracked"
    run = runs["bench_parse.Parse.time_parse[kind=long,words=10]"]
    assert run.list_values("import:lower:ns:time") == pytest.approx((2535.9986,), abs=1e-3)
    assert run.revision.commit == FIRST
    assert run.host.name == "bench-host"
    assert run.started_at.date().isoformat() == "2026-11-22"
    assert runs["bench_parse.track_words"].list_values("import:lower:words:track") == (3,)
    assert runs["bench_parse.Parse.peakmem_parse[kind=long,words=10]"].list_values("import:lower:bytes:peakmem") == (
        27410432,
    )


def test_lnt() -> None:
    runs = reports("lnt.json")
    assert runs["fill"].list_values("import:lower:s:execution_time") == (1.5, 1.6)
    assert runs["fill"].list_values("import:lower:s:compile_time") == (0.3,)
    assert runs["sort"].list_values("import:higher::score") == (120,)
    assert runs["sort"].revision.title.startswith("2c8be77")
    assert runs["sort"].host.name == "bench-host"


@pytest.mark.parametrize("prefix", ["", "window.BENCHMARK_DATA = "])
def test_github_action_benchmark_holds_a_history(prefix: str, tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text(prefix + (DATA / "github-action-benchmark.json").read_text())
    runs = make_reports(read_file(file, GIVEN), GIVEN)
    requests = [run for run in runs if run.case.name == "requests"]
    assert [run.revision.commit for run in requests] == [FIRST, SECOND]
    assert [run.list_values("import:higher:req/s:value") for run in requests] == [(100,), (200,)]
    (speed,) = {name for run in runs if "test_parse-1000" in run.case.name for name in run.metrics}
    assert get_metric(speed).better == "higher"
    assert get_metric(speed).unit == "iter/s"


@pytest.mark.parametrize(
    "name", ["google-benchmark.json", "go-bench.txt", "jmh.json", "lnt.json", "hyperfine.json", "pytest-benchmark.json"]
)
def test_an_imported_metric_of_another_tool_is_never_exact(name: str) -> None:
    for run in reports(name).values():
        assert not [one for one in run.metrics if get_metric(one).exact]
        assert run.runner_version == "imported"
