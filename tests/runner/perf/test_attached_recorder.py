"""perf record, attached to a running program."""

import os
import subprocess
from pathlib import Path

import pytest

from runner.doctor.counting import require_measurable_host
from runner.perf.attached_recorder import Recorder, RecordPlan, compute_buffer_pages
from runner.perf.perf_binary import has_record_option


@pytest.mark.perf
def test_no_thread_of_perf_delays_the_end_of_a_recording(tmp_path: Path) -> None:
    require_measurable_host()
    if not has_record_option("--no-bpf-event"):
        pytest.skip("this perf cannot do without the thread that watches BPF programs")
    program = subprocess.Popen(["sleep", "60"])
    plan = RecordPlan(("-c", "1", "-e", "page-faults:u"), tmp_path / "faults.data")
    recorder = Recorder(plan, [program.pid])
    try:
        recorder.send_command("enable")
        threads = [path.name for path in Path(f"/proc/{recorder.pid}/task").iterdir()]
        recorder.finish()
    finally:
        recorder.close()
        program.kill()
        program.wait()
    assert threads == [str(recorder.pid)]
    assert plan.output.stat().st_size > 0


@pytest.mark.parametrize(
    ("expected_bytes", "memory_bytes", "n_cpus", "buffer_bytes"),
    [
        (0, 1 << 30, 1, 32 << 20),
        (100 << 20, 16 << 30, 2, 128 << 20),
        (100 << 20, 16 << 30, 128, 32 << 20),  # all CPUs together would lock too much memory
        (10 << 30, 16 << 30, 2, 256 << 20),
    ],
)
def test_buffers_hold_a_whole_recording_unless_they_would_take_too_much_memory(
    expected_bytes: int, memory_bytes: int, n_cpus: int, buffer_bytes: int
) -> None:
    pages = compute_buffer_pages(expected_bytes, memory_bytes, n_cpus)
    assert pages * os.sysconf("SC_PAGE_SIZE") == buffer_bytes
