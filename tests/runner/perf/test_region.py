"""A region is counted by a perf that is attached while children of the program come and go."""

import os
import subprocess

import pytest

from runner.perf.region import ACK_FD, CONTROL_FD, Region

pytestmark = pytest.mark.perf


def test_a_child_that_ends_although_it_was_stopped_is_left_out() -> None:
    gone = (1 << 22) + 1  # the kernel gives no process such a number
    with subprocess.Popen(["sleep", "60"]) as program:
        both, alone = [program.pid, gone], [program.pid]
        # Perf meets the child three times while it runs, and once when it was stopped.
        found = iter([both, alone, both, alone, both, alone, both, both, alone])
        with Region(["task-clock"], lambda _: next(found, alone)) as region:
            os.write(CONTROL_FD, b"enable\n")
            region.serve(program.pid)
            assert os.read(ACK_FD, 10) == b"ack\n"
            program.kill()
            reading = region.readings()["region:task-clock"]
    assert reading.value is not None, reading.reason
