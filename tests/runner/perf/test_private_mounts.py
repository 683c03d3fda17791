"""What is mounted for perf alone: tracefs on a host without it, and a short list of kernel symbols."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.perf.private_mounts import build_recording_prefix

ROOT = Path(__file__).parents[3]
HIDE = "umount -l /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug 2>/dev/null; "
RECORD = """
import subprocess, sys
from pathlib import Path
from runner.perf.attached_recorder import Recorder, RecordPlan
from runner.profile.permissions import detect_recording_permissions

assert detect_recording_permissions().tracepoints
assert not Path("/sys/kernel/tracing/events").exists()
program = subprocess.Popen(["sh", "-c", "read line; exec true"], stdin=subprocess.PIPE)
plan = RecordPlan(("-c", "1", "-e", "syscalls:sys_enter_munmap"), Path(sys.argv[1]))
recorder = Recorder(plan, [program.pid])
recorder.send_command("enable")
program.communicate(b"go\\n")
recorder.finish()
recorder.close()
assert not Path("/sys/kernel/tracing/events").exists(), "the host sees perf's own tracefs"
"""
RECORD_AFTER_ANOTHER_MOUNT = """
import subprocess
from runner.perf.private_mounts import build_recording_prefix, has_private_tracepoint

assert has_private_tracepoint("syscalls:sys_enter_munmap")
subprocess.run(["mount", "-t", "tracefs", "none", "/sys/kernel/tracing"], check=True)
subprocess.run([*build_recording_prefix(), "test", "-d", "/sys/kernel/tracing/events/syscalls"], check=True)
"""


def hide_tracefs() -> list[str]:
    """Return the words before a command that sees no tracefs; skip the test if tracefs cannot be hidden or mounted."""
    hidden = ["unshare", "--mount", "--propagation", "private", "sh", "-c", HIDE + 'exec "$@"', "sh"]
    if subprocess.run([*hidden, "test", "-e", "/sys/kernel/tracing/events"], check=False).returncode == 0:
        pytest.skip("tracefs cannot be hidden here")
    if subprocess.run([*hidden, "mount", "-t", "tracefs", "none", "/sys/kernel/tracing"], check=False).returncode:
        pytest.skip("tracefs cannot be mounted here")
    return hidden


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_tracefs_that_was_mounted_meanwhile_stops_no_recording() -> None:
    words = [*hide_tracefs(), sys.executable, "-c", RECORD_AFTER_ANOTHER_MOUNT]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_tracepoints_are_recorded_without_a_tracefs_that_others_see(tmp_path: Path) -> None:
    hidden = hide_tracefs()
    data = tmp_path / "calls.data"
    words = [*hidden, sys.executable, "-c", RECORD, str(data)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    script = subprocess.run(["perf", "script", "-i", data], capture_output=True, text=True, check=True)
    assert "sys_enter_munmap" in script.stdout


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_recording_places_the_kernel_where_one_that_read_all_symbols_does(tmp_path: Path) -> None:
    prefix = build_recording_prefix()
    if "/proc/kallsyms" not in " ".join(prefix):
        pytest.skip("the list of kernel symbols cannot be replaced here")
    words = ["perf", "record", "-q", "-N", "-B", "-c", "1", "-e", "context-switches", "-g"]
    scripts = []
    for name, before in (("all", ()), ("landmarks", prefix)):
        data = tmp_path / name
        subprocess.run([*before, *words, "-o", data, "sleep", "0.01"], check=True, capture_output=True)
        read = ["perf", "script", "-i", data, "--show-mmap-events"]
        scripts.append(subprocess.run(read, capture_output=True, text=True, check=True).stdout)
    kernel_places = [[line for line in text.splitlines() if "-1/0:" in line] for text in scripts]
    assert kernel_places[0]
    assert kernel_places[0] == kernel_places[1]
    assert all("schedule" in text for text in scripts)
