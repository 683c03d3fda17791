"""perf record, attached to a running program."""

import subprocess
from pathlib import Path

import pytest

from runner.doctor.counting import require_measurable
from runner.perf.attached_recorder import Recorder, RecordPlan
from runner.perf.perf_binary import has_record_option


@pytest.mark.perf
def test_no_thread_of_perf_delays_the_end_of_a_recording(tmp_path: Path) -> None:
    require_measurable()
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
