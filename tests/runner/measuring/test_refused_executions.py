"""What is hidden from perf, or runs with another allocator than it was told, is refused."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.report import Environment, Host, Outcome, Report, Revision, Stage
from runner.dependencies.lookup_tracing import MAX_TRACED_CALLS
from runner.measuring.measurement import measure_case
from runner.measuring.trial import Bench
from runner.perf.faults_by_file import FaultsByFile, FileFaults
from runner.perf.ignored_preloads import describe_unmapped_preload
from runner.perf.lost_programs import describe_hidden_programs
from runner.workload import Workload, list_cases
from runner.workload.allocators import find_missing_library


def faults(*paths: str, lost: int = 0, hidden: tuple[str, ...] = ()) -> FaultsByFile:
    return FaultsByFile(9, 0, lost, tuple(FileFaults(path, (8, 1), 1, 1) for path in paths), hidden)


@pytest.mark.parametrize(
    ("watched", "preloaded", "said"),
    [
        (None, "libx.so", ""),
        (faults("/lib/libc.so.6"), "", ""),
        (faults("/lib/libtcmalloc.so.4.5.9"), "libtcmalloc.so.4", ""),
        (faults("/opt/liba.so", "/opt/libb.so"), "/opt/liba.so:/opt/libb.so", ""),
        (
            faults("/opt/liba.so"),
            "/opt/liba.so libb.so.1",
            "ran without 'libb.so.1' from LD_PRELOAD: no process mapped it",
        ),
        (faults("/lib/libc.so.6", lost=1), "libb.so.1", ""),
        (faults("/lib/libc.so.6", hidden=("ping",)), "", "executes 'ping', which the kernel hides from perf"),
        (faults("/lib/libc.so.6", hidden=("ping",), lost=1), "", "executes 'ping', which the kernel hides from perf"),
    ],
)
def test_what_is_refused(watched: FaultsByFile | None, preloaded: str, said: str) -> None:
    found = describe_hidden_programs(watched) or describe_unmapped_preload(watched, {"LD_PRELOAD": preloaded})
    assert found.startswith(said) if said else not found


MANY_FAULTS = "dd if=/dev/zero of=/dev/null bs=16M count=1"
MUCH_TIME = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"


def report_of(tree: Path, command: list[str], **run: object) -> Report:
    workload = Workload.model_validate({"workload": {"name": "w", "samples": 1}, "run": {"command": command, **run}})
    bench = Bench(Host(name="host"), lambda state: Environment(settings=state.read_settings()))
    revision = Revision(commit="a" * 40, committed_at=datetime(2024, 1, 1, tzinfo=UTC))
    return measure_case(workload, list_cases(workload)[0], tree, bench=bench, subject="s", revision=revision)


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program that changes its user")
@pytest.mark.parametrize(
    ("program", "script"),
    [
        ("true", f"{MANY_FAULTS}; ./hidden"),
        ("dd", f"{MUCH_TIME}; ./hidden if=/dev/zero of=/dev/null bs=9M count=1"),
        ("dash", f"{MANY_FAULTS}; ./hidden -c '{MUCH_TIME}'"),
    ],
    ids=["takes little", "takes faults and little time", "takes time and few faults"],
)
def test_a_hidden_program_is_refused_whatever_it_takes(program: str, script: str, tmp_path: Path) -> None:
    shutil.copy(shutil.which(program) or "", tmp_path / "hidden")
    os.chown(tmp_path / "hidden", 1, 1)
    (tmp_path / "hidden").chmod(0o4755)
    report = report_of(tmp_path, ["dash", "-c", f"exec 2>/dev/null; {script}"])
    assert report.outcome is Outcome.FAILED
    assert report.failure
    assert report.failure.stage is Stage.MEASURE
    assert "executes 'hidden', which the kernel hides from perf" in report.failure.message


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can limit the memory on every host")
@pytest.mark.parametrize(
    "before",
    ["", "import socket\nsocket.socket(socket.AF_UNIX).connect_ex('absent')\n"],
    ids=["alone", "after another objection"],
)
def test_what_asks_about_many_files_in_a_memory_limit_is_measured(tmp_path: Path, before: str) -> None:
    script = f"{before}import os\nfor _ in range({MAX_TRACED_CALLS + 1}): os.path.exists('absent')"
    report = report_of(tmp_path, ["python3", "-c", script], memory_limit="1G")
    assert report.outcome is Outcome.MEASURED, report.failure


@pytest.mark.perf
def test_a_warning_of_the_loader_is_not_lost_in_much_output(tmp_path: Path) -> None:
    shutil.copy("/bin/true", tmp_path / "libnone.so")
    noisy = "head -c 300000 /dev/zero | tr '\\0' x >&2"
    report = report_of(tmp_path, ["sh", "-c", noisy], environment={"LD_PRELOAD": "./libnone.so.1"})
    assert report.failure
    assert "ran without './libnone.so.1' from LD_PRELOAD" in report.failure.message


@pytest.mark.perf
@pytest.mark.skipif(bool(find_missing_library("jemalloc")), reason="without jemalloc")
def test_a_preloaded_allocator_is_found(tmp_path: Path) -> None:
    assert report_of(tmp_path, ["true"], allocator="jemalloc").outcome is Outcome.MEASURED
