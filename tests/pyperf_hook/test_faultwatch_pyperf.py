"""The hook in a real pyperf benchmark: pages touched are faults counted."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyperf
import pytest
from faultwatch_pyperf import FaultwatchHook

ROOT = Path(__file__).parents[2]
PAGES, LOOPS, VALUES = 100, 8, 3
BENCHMARK = f"""
import mmap, os, pyperf

def touch():
    memory = mmap.mmap(-1, {PAGES} * mmap.PAGESIZE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range({PAGES}):
        memory[page * mmap.PAGESIZE] = 1
    memory.close()

def here(loops):
    start = pyperf.perf_counter()
    for _ in range(loops):
        touch()
    return pyperf.perf_counter() - start

def in_a_child(loops):
    start = pyperf.perf_counter()
    for _ in range(loops):
        if os.fork() == 0:
            touch()
            os._exit(0)
        os.wait()
    return pyperf.perf_counter() - start

runner = pyperf.Runner()
runner.bench_time_func("here", here)
runner.bench_time_func("in a child", in_a_child)
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> pyperf.BenchmarkSuite:
    folder = tmp_path_factory.mktemp("pyperf")
    (folder / "bench.py").write_text(BENCHMARK)
    options = f"--hook faultwatch -p 2 -n {VALUES} -w 1 -l {LOOPS} --quiet -o suite.json".split()
    subprocess.run(
        [sys.executable, "bench.py", *options, "--inherit-environ", "PYTHONPATH"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    return pyperf.BenchmarkSuite.load(str(folder / "suite.json"))


def metadata(suite: pyperf.BenchmarkSuite, name: str) -> list[dict[str, Any]]:
    return [run.get_metadata() for run in suite.get_benchmark(name).get_runs()]


def test_faults_of_the_benchmarked_code_and_of_nothing_else_are_counted(suite: pyperf.BenchmarkSuite) -> None:
    for run in metadata(suite, "here"):
        # A few more at most: the interpreter itself asks for a page now and then.
        assert LOOPS * PAGES <= run["faultwatch_minor_faults_least"] <= LOOPS * PAGES + 2
        assert run["faultwatch_minor_faults"] >= VALUES * LOOPS * PAGES
        assert run["faultwatch_values"] == VALUES
        assert run["faultwatch_major_faults"] == 0


def test_child_processes_count_too(suite: pyperf.BenchmarkSuite) -> None:
    for run in metadata(suite, "in a child"):
        assert run["faultwatch_minor_faults_least"] > LOOPS * PAGES


def test_times_are_those_of_the_code(suite: pyperf.BenchmarkSuite) -> None:
    for run in metadata(suite, "here"):
        assert 0 < run["faultwatch_user_time"] + run["faultwatch_sys_time"] < 1


def test_pyperf_reads_its_file_as_ever(suite: pyperf.BenchmarkSuite) -> None:
    assert suite.get_benchmark("here").get_nvalue() == 2 * VALUES


def test_a_worker_that_measured_nothing_says_so() -> None:
    found: dict[str, object] = {}
    FaultwatchHook().teardown(found)
    assert found["faultwatch_values"] == 0
    assert "faultwatch_minor_faults_least" not in found


def test_the_hook_is_light() -> None:
    code = "import sys; before = set(sys.modules); import faultwatch_pyperf; print(*(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert set(done.stdout.split()) <= {"faultwatch_pyperf", "resource", "types", "enum"}
