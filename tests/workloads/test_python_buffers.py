"""A pyperf script as a workload: run as it is, counted with its workers, its values read from its suite."""

import shutil
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.report import Environment, Host, Report, Revision
from runner.measuring.measurement import measure_case
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench
from runner.workload import list_cases, load_workload

pytestmark = pytest.mark.perf
FOLDER = Path(__file__).parents[2] / "workloads" / "python_buffers"
COPIES, VALUES, PAGES = 125, 5, 1024


def report_of(buffer: str, tree: Path) -> Report:
    workload = load_workload(FOLDER)
    # This Python has pyperf: nothing has to be installed for the test.
    run = workload.run.model_copy(update={"command": (sys.executable, *workload.run.command[1:])})
    return measure_case(
        workload.model_copy(update={"run": run}),
        list_cases(workload, [f"buffer={buffer}"])[0],
        tree,
        bench=Bench(Host(name="host"), lambda state: Environment(settings=state.read_settings())),
        subject="subject",
        revision=Revision(commit="a" * 40, committed_at=datetime(2024, 1, 1, tzinfo=UTC)),
        sampling=Sampling(min_samples=2, max_samples=3),
    )


@pytest.mark.thorough
def test_the_pages_of_its_buffers_are_counted_and_its_values_imported(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "bench_buffers.py", tmp_path)
    fresh, reused = (report_of(buffer, tmp_path) for buffer in ("fresh", "reused"))
    for report in (fresh, reused):
        assert report.failure is None
        assert all(value > 0 for value in report.list_values("throughput"))
        # What pyperf measured are 100 copies: the warm-up is none of its values.
        assert report.list_values("faults-per-operation") == tuple(
            value / 100 for value in report.list_values("page-faults")
        )
    counted = [Counter(report.list_values("minor-faults")).most_common(1)[0][0] for report in (fresh, reused)]
    # Python's own pages are the same on both sides, but for what others do to the page cache.
    assert abs(counted[0] - counted[1] - (COPIES - VALUES) * PAGES) <= 16
