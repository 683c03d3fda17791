"""A region is counted by a perf that is attached while children of the program come and go."""

import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.perf.region import ACK_FD, CONTROL_FD, Region

pytestmark = pytest.mark.perf


def test_a_child_that_ends_although_it_was_stopped_is_left_out() -> None:
    gone = (1 << 22) + 1  # the kernel gives no process such a number
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as program:
        both, alone = [program.pid, gone], [program.pid]
        # Perf meets the child three times while it runs, and once when it was stopped.
        found = iter([both, alone, both, alone, both, alone, both, both, alone])
        try:
            with Region(["task-clock"], lambda _: next(found, alone)) as region:
                os.write(CONTROL_FD, b"enable\n")
                region.serve(program.pid)
                assert os.read(ACK_FD, 10) == b"ack\n"
                before = processor_time(program.pid)
                while processor_time(program.pid) == before:  # perf counts nothing of a program that does not run
                    time.sleep(0.01)
                reading = region.stop_counting()["region:task-clock"]
        finally:
            program.kill()
    assert reading.value, reading.reason


def processor_time(process: int) -> int:
    """Return the clock ticks for which a process ran in user mode."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11])


def test_too_few_open_files_are_named_with_a_remedy() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (ACK_FD, hard))
    try:
        with pytest.raises(FaultwatchError, match=f"allows only {ACK_FD} open files.*ulimit -n 1024"):
            Region((), lambda _: [])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
